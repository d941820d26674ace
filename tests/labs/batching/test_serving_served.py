"""Costs from a record, and the loops and the scheduler on the serving engine, on a CPU."""

from dataclasses import replace
from itertools import pairwise, permutations, product
from statistics import fmean, median

import pytest

from labkit.batching import DecodeLoop, PrefillLoop, Scheduler
from labkit.labs.batching import figures
from labkit.labs.batching.checks.answers import N_SLOTS, PROMPT_S, STEP_S
from labkit.labs.batching.compared import compare, on_two_gpus, simulated
from labkit.labs.batching.measured import served, sizes
from labkit.labs.batching.measured.served import SEPARATE, TOGETHER, WAYS_TO_SERVE
from labkit.labs.batching.real.cards import pages_of, serve_on_gpu_card, serve_on_gpus
from labkit.labs.batching.real.engine import Engine
from labkit.labs.batching.recorded import RECORD, WAYS, Line, MeasuredCosts
from labkit.labs.batching.rules import faults
from labkit.labs.batching.workload import RooflineCosts
from labkit.measuring.profiles import CPU
from labkit.measuring.records import Row, recorded_results
from labkit.measuring.roofline import ModelWork, Roofline

SMALL = replace(CPU, roles={**CPU.roles, sizes.ROLE: "tiny-draft"})
ROWS = recorded_results(f"{RECORD}.jsonl")[RECORD].rows
COSTS = MeasuredCosts(ROWS)
COSTED = [row for row in ROWS if row.experiment != "served"]
FEW_TOKENS = 64  # of a cache: the link's times are noise below


def modelled(row):
    """What the costs say for a recorded row; None if they say nothing of it."""
    n_cached = row.counts.get("n_cached", 0)
    match row.experiment:
        case "prefill_pass":
            return COSTS.prefill_s([row.n_input] * row.batch_size)
        case "decode_pass":
            return COSTS.decode_s(row.batch_size, row.batch_size * n_cached)
        case "mixed_pass":
            n = int(row.counts["n_running"])
            return COSTS.mixed_s(n, n * n_cached, [(row.n_input, 0, True)])
    is_sent = row.setting == WAYS["peer"] and row.n_input > FEW_TOKENS
    return COSTS.transfer_s(row.n_input) if is_sent else None


def test_costs_give_back_the_recorded_rows():
    known = [(row, modelled(row)) for row in ROWS if row.is_ok]
    known = [(row, seconds) for row, seconds in known if seconds is not None]
    assert len(known) >= 40
    for row, seconds in known:
        assert seconds == pytest.approx(median(row.samples_s), rel=0.04), row


def test_more_work_never_takes_less():
    lengths = [1, 100, 500, 1000, 5000, 16_384, 40_000]
    for each in (
        [COSTS.prefill_s([n]) for n in lengths],
        [COSTS.decode_s(8, 8 * n) for n in lengths],
        [COSTS.decode_s(n, 2048 * n) for n in (1, 3, 8, 50, 128, 200)],
        [COSTS.transfer_s(n) for n in lengths],
    ):
        assert all(0 < a <= b for a, b in pairwise(each))


def test_prompts_of_a_pass_pay_for_their_own_attention_only():
    assert COSTS.prefill_s([4096] * 2) < COSTS.prefill_s([8192])
    assert COSTS.mixed_s(0, 0, [(512, 8192, False)]) > COSTS.mixed_s(0, 0, [(512, 0, False)])
    assert COSTS.mixed_s(16, 32_768, []) == COSTS.decode_s(16, 32_768)


def test_costs_of_one_card_send_nothing_and_unknown_ways_are_refused():
    assert MeasuredCosts(ROWS, None).transfer_s(4096) == 0
    with pytest.raises(ValueError, match="of the way 'post'"):
        MeasuredCosts(ROWS, "post")
    assert Line([(1, 2), (3, 1)])(9) == 2


@pytest.fixture(scope="module")
def models():
    return sizes.Models(SMALL)


def test_all_ways_give_the_same_tokens_and_keep_the_rules(models):
    jobs, made = served.jobs_of("Poisson", 0, 8, 40_000, 100), []
    with models.decoder("cpu", 1024) as a, models.decoder("cpu", 1024) as b:
        engines = [Engine(a), Engine(b)]
        for way in WAYS_TO_SERVE:
            setup = served.setup_of(way, is_gpu=False)
            if way.startswith("chunked"):
                run, tokens = serve_on_gpu_card(jobs, setup, Scheduler(), engines[0])
            else:
                cards = engines if way == SEPARATE else engines[:1]
                run, tokens = serve_on_gpus(jobs, setup, PrefillLoop(), DecodeLoop(), cards)
                assert faults(run) == {}
            assert not run.stopped
            assert {i: len(each) for i, each in tokens.items()} == {
                job.id: job.n_output(setup.max_length) for job in jobs
            }
            made.append(tokens)
    assert made[1:] == made[:1] * 3


class Raises:
    def step(self, server):
        raise KeyError("mine")


def test_an_error_of_a_loop_ends_both_threads(models):
    jobs = served.jobs_of("Poisson", 0, 4, 40_000, 100)
    setup = served.setup_of(SEPARATE, is_gpu=False)
    with models.decoder("cpu", 1024) as a, pytest.raises(KeyError, match="mine"):
        serve_on_gpus(jobs, setup, PrefillLoop(), Raises(), [Engine(a), Engine(a)])


def test_the_rows_of_whole_runs_go_on_where_they_stopped(models):
    rows = list(served.served(models, lambda key: False, ["cpu", "cpu"]))
    assert [row.key for row in rows] == [row.key for row in served.served_rows(models)]
    assert all(not row.note and row.counts["n_served"] for row in rows)
    assert not list(served.served(models, {row.key for row in rows}.__contains__, ["cpu", "cpu"]))


def test_a_run_is_simulated_again_from_its_row():
    counts = {"seed": 0, "rho": 0.5, "rate": 20_000.0, "n_jobs": 20}
    for way in (SEPARATE, TOGETHER):
        row = Row("served", "m", 20, 1, 0, True, outcome="-", setting=f"Poisson, a, b, {way}")
        row = replace(row, counts=counts)
        way_costs = MeasuredCosts(ROWS, "peer" if way == SEPARATE else None)
        found = simulated(row, way_costs)
        real = replace(row, counts={**counts, **found})
        lines = compare([*ROWS, real])
        assert {line["error"] for line in lines if line["run"] == row.setting} == {0.0}
        assert found["n_served"] == (20 if way == SEPARATE else 10)
        assert ("decode_ttft_p50_s" in found) == (way == SEPARATE)


def test_blocks_are_pages_and_page_0_is_nobodys():
    assert pages_of([0, 2], 32) == [1, 2, 5, 6]


def test_the_question_on_cards_gives_durations_of_the_record():
    assert COSTS.prefill_s([4000]) == pytest.approx(PROMPT_S, abs=5e-4)
    assert COSTS.decode_s(N_SLOTS, N_SLOTS * 4100) == pytest.approx(STEP_S, abs=5e-4)


ALL_WAYS = [(workload, rho) for workload in ("Poisson", "bursty") for rho in (0.5, 0.7, 0.9)]


@pytest.fixture(scope="module")
def compared():
    """By workload, ρ, seed and way: by number, what was simulated and what was measured."""
    found = {}
    for line in compare(ROWS, earlier=2):
        workload, rho, seed, way = line["run"].split(", ")
        key = workload, float(rho.split()[1]), int(seed.split()[1]), way
        found.setdefault(key, {})[line["name"]] = line["simulated"], line["measured"]
    return found


def test_the_simulator_is_as_right_as_the_lab_says(compared):
    errors = {
        name: [abs(run[name][0] / run[name][1] - 1) for run in compared.values()]
        for name in ("tokens_per_s", "ttft_p50_s", "ttft_p99_s", "itl_p50_s", "itl_p99_s")
    }
    assert len(compared) >= 60 and max(errors["tokens_per_s"]) < 0.045
    medians = {name: round(100 * median(each)) for name, each in errors.items()}
    stated = {"ttft_p50_s": 5, "ttft_p99_s": 7, "itl_p50_s": 2, "itl_p99_s": 3}
    assert {name: medians[name] for name in stated} == stated


@pytest.mark.parametrize(("workload", "rho"), ALL_WAYS)
def test_ways_have_the_order_that_was_measured(compared, workload, rho):
    """By the longest pauses and by TTFT, wherever two ways differ by a third when measured."""
    seeds = {seed for w, r, seed, _ in compared if (w, r) == (workload, rho)}
    for seed, name in product(seeds, ("itl_p99_s", "ttft_p99_s")):
        runs = [compared.get((workload, rho, seed, way), {}).get(name) for way in WAYS_TO_SERVE]
        for a, b in permutations([run for run in runs if run], 2):
            assert a[1] < 1.33 * b[1] or a[0] > b[0], (seed, name, a, b)


@pytest.mark.parametrize(
    ("way", "percents"), [(SEPARATE, (99, 63, 52)), (served.SMALL, (89, 70, 42))]
)
def test_as_many_requests_were_in_time_as_the_lab_says(way, percents):
    for rho, percent in zip((0.5, 0.7, 0.9), percents, strict=True):
        words = f"Poisson, rho {rho}, "
        rows = [row for row in ROWS if row.setting.startswith(words)]
        good = [row.counts["good"] for row in rows if row.setting.endswith(f", {way}")]
        assert len(good) == 3
        assert round(100 * fmean(good)) == percent


def test_what_floors_say_is_not_what_was_measured():
    """The lab draws no conclusion from floors: with them all of "chunked 512" are in time."""
    rows = [row for row in ROWS if "seed 1, chunked 512" in row.setting]
    floors = RooflineCosts(Roofline.of("H200-SXM"), ModelWork.of("meta-llama/Llama-3.1-8B"))
    good = [line for line in compare([*COSTED, *rows], floors) if line["name"] == "good"]
    assert all(line["floors"] == 1 and line["measured"] < 0.8 for line in good) and len(good) == 6


def test_a_cache_that_arrives_makes_a_step_longer():
    steps = {row.setting: row for row in ROWS if row.experiment == "overlap"}
    wanted = {"decode, alone": 9.2, "decode, a cache arriving by peer copy": 10.4}
    for setting, milliseconds in wanted.items():
        assert 1e3 * median(steps[setting].samples_s) == pytest.approx(milliseconds, abs=0.05)


def test_a_run_that_was_not_recorded_is_refused():
    with pytest.raises(ValueError, match=r"ρ = 0\.4 and seed 0 is"):
        on_two_gpus(PrefillLoop, DecodeLoop, Scheduler, rho=0.4)


def test_more_tokens_before_a_piece_take_more_time():
    slower = MeasuredCosts(ROWS, earlier=2)
    pieces = [(512, 4096, False)]
    assert slower.mixed_s(8, 8192, pieces) > COSTS.mixed_s(8, 8192, pieces)
    assert slower.mixed_s(8, 8192, [(512, 0, True)]) == COSTS.mixed_s(8, 8192, [(512, 0, True)])


def test_the_ledger_is_of_one_model_and_one_card():
    records = recorded_results()
    cards = {records[name].provenance.device for name in figures.LEDGER}
    assert cards == {"NVIDIA H100 80GB HBM3"}
    numbers = list(figures.ledger(records).values())
    assert numbers == sorted(numbers) and numbers[0] < 1 < 4000 < numbers[-1]
    assert figures.figures_of({}) == {}
