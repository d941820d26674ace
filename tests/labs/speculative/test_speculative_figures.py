"""Lab 6's figures, tables and predictions: what they say, from records alone."""

import math
from dataclasses import replace
from itertools import combinations

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest

from benchmarks import engine as bench
from labkit.labs.speculative import figures as speculative_figures
from labkit.labs.speculative import speed_figures
from labkit.labs.speculative import tables as speculative_tables
from labkit.labs.speculative.records import (
    OWN,
    best,
    copy_bandwidth,
    counts_of,
    floor_s,
    gains,
    settings_of,
    step_s,
)
from labkit.labs.speculative.runs import FED
from labkit.measuring.profiles import CPU
from labkit.measuring.provenance import Provenance
from labkit.measuring.records import OUT_OF_MEMORY, Record, Row, recorded_results
from labkit.models.sampling import Block
from labkit.speculative import speedup

HERE = Provenance.here(CPU, "a test")
STEPS = {"tiny-target": 4e-3, "tiny-draft": 1e-3}


def steps(fast: str) -> list[Row]:
    """Steps that cost a tenth more for every further token, eager ones three times as much."""
    rows = [
        Row("decode_steps", name, 1, n, 0, True, (factor * seconds * (1 + 0.1 * (n - 1)),),
            setting=setting, counts={"step_bytes": 1e6})
        for name, seconds in STEPS.items()
        for setting, factor in ((fast, 1.0), ("eager", 3.0))
        for n in FED
    ]  # fmt: skip
    copy = Row("copy_bandwidth", "cpu", 1, 0, 0, False, (1e-3,), counts={"moved_bytes": 1e6})
    return [copy, *rows]


def runs(experiment: str, words: str = "", batch_size: int = 1, own: bool = False) -> list[Row]:
    """100 tokens alone at 5 ms, and at three gammas at 4, 2.5 and 10 ms; one second of prefill."""
    counts = {"runs": 2, "prefill_s": 1.0}
    counts |= {"target_step_s": 5e-3, "steps_s": 0.2} if own else {}
    point = (experiment, "tiny", batch_size, 50, 100, True)
    rows = [Row(*point, (1.5, 1.5), setting=f"alone{words}", counts=counts)]
    for gamma, seconds in ((2, 0.4), (4, 0.25), (7, 1.0)):
        n_blocks = 100
        seen = {"blocks": n_blocks, "drafted": gamma * n_blocks, "examined": 125, "accepted": 100}
        seen |= {"alpha_low": 0.7, "alpha_high": 0.9}
        if own:
            seen |= {"draft_step_s": 1e-3, "target_step_s": 6e-3}
        samples_s = (1 + 0.9 * seconds, 1 + 1.1 * seconds)
        rows.append(Row(*point, samples_s, setting=f"gamma {gamma}{words}", counts=counts | seen))
    return rows


@pytest.fixture
def record():
    rows = steps("lean") + runs("speculation", own=True)
    for source in ("graph", "choice"):
        rows += runs("by_source", f", {source}")
    for kind in ("simple", "normal"):
        alone, *drafted = runs("regimes", f", {kind}, 64 new")
        rows += [alone]
        for draft in ("model", "n-gram"):
            rows += [replace(row, setting=f"{row.setting}, {draft}") for row in drafted]
    for size in (1, 2):
        rows += runs("batch_sweep", batch_size=size)
    return Record(HERE, tuple(rows))


def test_seconds_per_token_are_without_the_prompts(record):
    found = gains(record)
    assert [gain.gamma for gain in found] == [2, 4, 7]
    assert [gain.token_s for gain in found] == pytest.approx([4e-3, 2.5e-3, 1e-2])
    assert found[1].speedup == pytest.approx((2.0, 2.0 / 1.1, 2.0 / 0.9))
    assert found[1].alpha == (0.8, 0.7, 0.9)
    assert found[1].accepted_of_drafted == 0.25
    assert found[1].tokens_per_block == 2
    assert [gain.outside for gain in found] == pytest.approx([0.5, 0.2, 0.8])
    assert best(found).gamma == 4


def test_predictions_come_from_the_runs_own_steps_or_else_from_the_engines(record):
    own = gains(record)[1].predicted
    assert list(own) == [OWN, "eager"]
    assert own[OWN] == pytest.approx(speedup(0.8, 4, 1e-3, 5e-3, 6e-3))
    assert own["eager"] == pytest.approx(speedup(0.8, 4, 3e-3, 12e-3, 12e-3 * 1.4))
    engine = gains(record, experiment="by_source")[1].predicted
    assert engine["lean"] == pytest.approx(speedup(0.8, 4, 1e-3, 4e-3, 4e-3 * 1.4))
    copied = gains(record, experiment="regimes")[4].predicted
    assert copied["lean"] == pytest.approx(speedup(0.8, 4, 0.0, 4e-3, 4e-3 * 1.4))
    batches = gains(record, experiment="batch_sweep")
    assert (list(batches[0].predicted), batches[-1].predicted) == (["lean", "eager"], {})


def test_the_function_that_is_given_predicts(record):
    found = gains(record, lambda alpha, gamma, draft_s, target_s, verify_s: gamma + draft_s)
    assert [gain.predicted["eager"] for gain in found] == [2.003, 4.003, 7.003]


def test_steps_lie_on_lines_between_those_that_were_measured(record):
    assert settings_of(record) == ["lean", "eager"]
    assert step_s(record, "tiny-target", "lean", 5) == pytest.approx(4e-3 * 1.4)
    assert copy_bandwidth(record) == pytest.approx(1e9)
    assert floor_s(record, "tiny-draft") == pytest.approx(1e-3)
    assert math.isnan(step_s(record, "tiny-target", "lean", 12))
    assert math.isnan(step_s(record, "tiny-target", "captured"))


def test_a_model_without_room_for_its_steps_gives_no_prediction(record):
    no_room = {"samples_s": (), "outcome": OUT_OF_MEMORY}
    rows = [
        replace(row, **no_room) if row.setting == "eager" and row.model == "tiny-target" else row
        for row in record.rows
    ]
    full = Record(HERE, tuple(rows))
    assert math.isnan(step_s(full, "tiny-target", "eager"))
    assert {name for gain in gains(full) for name in gain.predicted} == {OWN}
    assert speculative_tables.steps_table(full)[0].lines[0] == ["tiny-target", "12", "4", "-", "1"]
    assert speculative_tables.gains_table(full)[2].headings[3:] == ["by own", "measured"]


def test_what_was_not_examined_has_no_alpha():
    assert counts_of([]) == {}
    assert counts_of([Block(0, 0)]) == {"blocks": 1, "drafted": 0, "examined": 0, "accepted": 0}


def test_a_draft_that_never_proposed_has_a_speedup_and_no_alpha(record):
    alone, first, *_ = record.of("speculation")
    nothing = {"runs": 1, "blocks": 100, "drafted": 0, "examined": 0, "accepted": 0}
    rows = (alone, replace(first, counts=nothing))
    (gain,) = gains(Record(HERE, rows))
    assert math.isnan(gain.alpha[0])
    assert gain.predicted == {}
    assert gain.speedup[0] > 0


def test_every_figure_is_drawn_from_what_the_record_has(record):
    drawn = speculative_figures.figures_of({"here": record})
    names = ("steps", "verify", "residuals", "gains", "sources", "regimes")
    assert all(draw().axes for draw in drawn.values())
    assert set(drawn) == {f"here-{name}" for name in names}
    assert not plt.get_fignums()
    only = Record(HERE, tuple(steps("captured")))
    assert set(speculative_figures.figures_of({"my": only})) == {"my-steps", "my-verify"}
    assert speculative_figures.figures_of({}) == {}
    with pytest.raises(ValueError, match="no rows of the experiment speculation"):
        gains(only)


def test_points_are_those_of_the_record(record):
    (axes,) = speed_figures.gains_by_gamma(record).axes
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    found = gains(record)
    assert lines["measured"] == [gain.speedup[0] for gain in found]
    assert lines["by eager steps"] == [gain.predicted["eager"] for gain in found]
    assert axes.get_title(loc="left") == "tiny\nα from 0.80 to 0.80"


def test_the_best_gamma_of_each_regime_is_ringed(record):
    for axes in speed_figures.regimes(record).axes:
        drawn = [line for line in axes.lines if len(line.get_xdata())]
        rings = [line for line in drawn if line.get_markersize() == 11]
        assert [tuple(ring.get_xdata()) for ring in rings] == [(4,), (4,)]


def test_tables_have_a_line_for_each_point(record):
    one, eight = speculative_tables.steps_table(record)
    assert one.lines[0] == ["tiny-target", "12", "4", "12", "1"]
    assert eight.lines[0] == ["tiny-target", "12", "1.70", "1.70"]
    accepted, timed, predicted = speculative_tables.gains_table(record)
    assert [len(table.rows) for table in (accepted, timed, predicted)] == [3, 3, 3]
    assert accepted.lines[1][4] == "0.800 [0.70, 0.90]"
    assert timed.lines[1][5] == "2.00 [1.82, 2.22]"
    assert (predicted.headings[3:], predicted.lines[1][-1]) == (
        ["by own", "by eager", "measured"], "2.00",
    )  # fmt: skip
    assert speculative_tables.sources_table(record, gammas=(4,)).lines == [
        [f"gamma 4, {source}", "0.80 [0.70, 0.90]", "2.00"] for source in ("graph", "choice")
    ]


def test_the_same_settings_stand_side_by_side_for_two_machines():
    cards = [recorded_results()[f"speculative-{card}"] for card in ("h100", "h200")]
    lines = speculative_tables.same_settings_table(cards).lines
    assert [line[:2] for line in lines] == [["llama-8b-1b", "7"]] * 2 + [["qwen3-8b-1.7b", "2"]] * 2
    assert [line[2].split()[1] for line in lines] == ["H100", "H200"] * 2


def test_the_bench_compares_four_ways_of_writing():
    found = bench.on_cpu(n_rounds=1, n_new=6, n_prompts=1)
    assert set(found["ratios"]) == set(bench.RATIOS)
    assert all(ratio > 0 for ratio in found["ratios"].values())
    assert found["greedy_is_equal"]
    assert sum(found["speculative_parts"].values()) == pytest.approx(1, abs=0.05)


def test_what_a_card_cannot_do_is_left_out_of_figures_and_told_in_tables(record):
    eager = [row for row in steps("eager") if row.setting == "eager"]
    others = [
        replace(row, model="gpt2", counts={}) if row.experiment == "decode_steps" else row
        for row in eager[:8]
    ]
    pair = [replace(row, model="gpt2") for row in runs("speculation")]
    full = Row("decode_steps", "distilgpt2", 1, 1, 0, True, outcome="out of memory")
    refused = replace(full, experiment="speculation", model="llama-8b-1b")
    mixed = Record(HERE, (*record.rows, *others, *pair, full, refused))
    assert set(speculative_figures.figures_of({"my": mixed})) == {
        *speculative_figures.figures_of({"my": record})
    }
    assert ["distilgpt2", "out of memory"] in [
        line[:2] for line in speculative_tables.steps_table(mixed)[0].lines
    ]
    gained = speculative_tables.gains_table(mixed)
    assert "gpt2" in str(gained)
    assert all(table.lines[-1][:2] == ["llama-8b-1b", "out of memory"] for table in gained)


def test_times_that_are_nearly_equal_are_written_beside_each_other():
    near = [replace(row, samples_s=(1.02 * STEPS[row.model],)) if row.setting == "eager" else row
            for row in steps("lean")]  # fmt: skip
    figure = speed_figures.steps_by_model(Record(HERE, tuple(near)))
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 6
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_scripted_acceptance_has_its_name_and_no_interval():
    record = recorded_results()["speculative-h200"]
    every = speculative_tables.gains_table(record)[0].lines
    assert every
    assert all(line[4].endswith(" scripted") and "[" not in line[4] for line in every)
