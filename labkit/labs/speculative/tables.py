"""The tables of lab 6, from records alone: steps, gains, sources, regimes, machines."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from statistics import median

from labkit.labs.speculative.records import (
    ALONE,
    Gain,
    Speedup,
    best,
    copy_bandwidth,
    decoding_s,
    floor_s,
    gains,
    settings_of,
    step_s,
    words_of,
)
from labkit.measuring.profiles import PAIRS
from labkit.measuring.records import Record
from labkit.measuring.tables import Table, Tables, or_sentence
from labkit.models.facts import gpus
from labkit.models.tiny import facts_of


def steps_table(record: Record) -> Tables:
    """Milliseconds of a step over one token by each setting, the floor, and a step over eight."""
    settings = settings_of(record)
    one_token, eight_tokens = [], []
    for model in dict.fromkeys(row.model for row in record.of("decode_steps") if row.is_ok):
        times = [step_s(record, model, each) for each in settings]
        eights = [step_s(record, model, each, 8) for each in settings]
        ratios = [eight / one for eight, one in zip(eights, times, strict=True)]
        name = [model.rpartition("/")[2], facts_of(model)["num_hidden_layers"]]
        in_ms = [_number(1e3 * each_s, ".3g") for each_s in (*times, floor_s(record, model))]
        one_token.append([*name, *in_ms])
        eight_tokens.append([*name, *(_number(ratio, ".2f") for ratio in ratios)])
    headings = ["model", "layers", *settings]
    one_token += _left_out(record, "decode_steps", len(headings) + 1)
    where = f"{record.provenance}, copying at {_number(copy_bandwidth(record) / 1e9, ',.0f')} GB/s"
    return Tables(
        [
            Table([*headings, "floor"], one_token, f"A step of one token, in ms: {where}"),
            Table(headings, eight_tokens, "A step of eight tokens, in steps of one"),
        ]
    )


@or_sentence
def gains_table(
    record: Record, speedup: Speedup | None = None, experiment: str = "speculation"
) -> Tables:
    """Three tables of every pair and gamma of an experiment: acceptance, times, predictions.

    Brackets: 95 % of a measured alpha; of the speedup the least and the greatest round. tokens: of
    a block. by ...: predicted from such steps. outside: the part of the time in neither model.
    Raises: ValueError if the record has no such rows.
    """
    every = gains(record, speedup, experiment)
    names = list(dict.fromkeys(name for gain in every for name in gain.predicted))
    where = f"{record.provenance}; {', '.join(dict.fromkeys(gain.row.note for gain in every))}"
    questions = {
        f"What was accepted: {where}": (["acc./drafted", "alpha", "tokens"], _accepted_cells),
        "How fast it was": (["ms", "alone ms", "speedup", "outside"], _time_cells),
        "What was predicted": (
            [*(f"by {name}" for name in names), "measured"],
            lambda gain: _predicted_cells(gain, names),
        ),
    }
    return Tables(
        Table(
            ["pair", "setting", "batch", *headings],
            [
                *(
                    [gain.row.model, gain.row.setting, gain.row.batch_size, *cells(gain)]
                    for gain in every
                ),
                *_left_out(record, experiment, 3 + len(headings)),
            ],
            title,
        )
        for title, (headings, cells) in questions.items()
    )


def planning_tables(speedup: Speedup, best_gamma: Callable[..., int]) -> Tables:
    """Tokens per block by alpha and gamma; the best gamma and its speedup by the draft's cost."""
    gammas, costs = (1, 2, 3, 5, 7, 10), (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.78)
    tokens, plans = [], []
    for alpha in (0.5, 0.6, 0.7, 0.8, 0.9):
        blocks = (speedup(alpha, gamma, 0.0, 1.0, 1.0) for gamma in gammas)  # drafts are free
        tokens.append([alpha, *(f"{n_tokens:.2f}" for n_tokens in blocks)])
        cells = []
        for cost in costs:
            gamma = best_gamma(alpha, cost, 1.0, lambda _: 1.0)
            gained = speedup(alpha, gamma, cost, 1.0, 1.0)
            cells.append(f"{gamma} / {gained:.2f}" if gamma else "none")
        plans.append([alpha, *cells])
    title = "best γ / speedup, by draft step / target step; a verification is as fast as a step"
    return Tables(
        [
            Table(["α", *(f"γ = {gamma}" for gamma in gammas)], tokens, "tokens per block"),
            Table(["α", *map(str, costs)], plans, title),
        ]
    )


@or_sentence
def rounds_table(record: Record, speedup: Speedup | None = None) -> Table:
    """Rounds of the experiment eager_speculation: how many lose, and the median of their ratios."""
    alone = [row for row in record.of("eager_speculation") if row.setting == ALONE]
    rows = []
    for gain in gains(record, speedup, "eager_speculation"):
        n_rounds = len(gain.row.samples_s)
        ratios = [decoding_s(alone[0], i) / decoding_s(gain.row, i) for i in range(n_rounds)]
        slower = f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)}"
        rows.append([gain.row.model, gain.gamma, slower, f"{median(ratios):.2f}"])
    headings = ["pair", "γ", "slower rounds", "median speedup"]
    return Table(headings, rows, f"eager steps: {record.provenance}")


@or_sentence
def sources_table(
    record: Record, speedup: Speedup | None = None, gammas: Sequence[int] = (3, 7)
) -> Table:
    """alpha and speedup of the pair tiny by source of the prompts; brackets: 95 % of alpha."""
    rows = [
        [gain.row.setting, _bracket(gain.alpha), f"{gain.speedup[0]:.2f}"]
        for gain in gains(record, speedup, "by_source")
        if gain.row.model == "tiny" and gain.gamma in gammas
    ]
    return Table(["setting", "α", "speedup"], rows, str(record.provenance))


@or_sentence
def drafts_table(record: Record, speedup: Speedup | None = None) -> Table:
    """Each draft of the experiment `drafts`: alpha, also by source, its cost, measured speedup.

    Brackets: as in `gains_table`. call / step: of the draft, and of the target alone.
    """
    by_draft: dict[str, dict[str, Gain]] = {}
    for gain in gains(record, speedup, "drafts"):
        by_draft.setdefault(words_of(gain.row)[-1], {})[words_of(gain.row)[1]] = gain
    rows, sources = [], []
    for draft, by_source in by_draft.items():
        whole = by_source.pop("all")
        sources = list(by_source)
        ratio = whole.row.counts.get("draft_step_s", 0.0) / whole.alone_s
        alphas = [_number(gain.alpha[0], ".2f") for gain in by_source.values()]
        alpha, speed = (_bracket(each) for each in (whole.alpha, whole.speedup))
        rows.append([draft, alpha, *alphas, f"{ratio:.2f}", speed])
    headings = ["draft", "alpha", *sources, "call / step", "speedup"]
    return Table(headings, rows, f"Three drafts of one target: {record.provenance}")


def same_settings_table(machines: Sequence[Record], speedup: Speedup | None = None) -> Table:
    """The best and the worst setting of the last machine, on each of these that ran the same pairs.

    Brackets: the least and the greatest round. Steps are captured ones over one token.
    """
    by_setting = [{(g.row.model, g.gamma): g for g in gains(each, speedup)} for each in machines]
    lines = []
    for chosen in best_and_worst(by_setting[-1].values()):
        pair, gamma = chosen.row.model, chosen.gamma
        for record, found in zip(machines, by_setting, strict=True):
            gain = found[pair, gamma]
            steps = [step_s(record, model, "captured") for model in PAIRS[pair]]
            times = [f"{1e3 * each_s:.2f}" for each_s in (*steps, gain.alone_s, gain.token_s)]
            middle, low, high = gain.speedup
            cells = [pair, gamma, device_of(record), *times]
            lines.append([*cells, f"{middle:.2f} [{low:.2f}, {high:.2f}]"])
    headings = ["pair", "γ", "device", "target ms", "draft ms", "alone ms", "ms", "speedup"]
    return Table(headings, lines, "the same settings, captured steps")


def best_and_worst(every: Collection[Gain]) -> tuple[Gain, Gain]:
    return best(every), min(every, key=lambda each: each.speedup[0])


def device_of(record: Record) -> str:
    """The name on the card's data sheet, or else the one that the machine reports."""
    facts = (gpus().get(row.note) for row in record.of("roofline"))
    return next((each["name"] for each in facts if each), record.provenance.device)


def _accepted_cells(gain: Gain) -> list[str]:
    rate, low, high = gain.alpha
    is_scripted = "scripted" in gain.row.note
    alpha = f"{rate:.3f} {'scripted' if is_scripted else f'[{low:.2f}, {high:.2f}]'}"
    return [f"{gain.accepted_of_drafted:.3f}", alpha, f"{gain.tokens_per_block:.2f}"]


def _time_cells(gain: Gain) -> list[str]:
    return [
        f"{1e3 * gain.token_s:.3g}",
        f"{1e3 * gain.alone_s:.3g}",
        _bracket(gain.speedup),
        _number(gain.outside, ".0%"),
    ]


def _predicted_cells(gain: Gain, names: Iterable[str]) -> list[str]:
    by_name = [_number(gain.predicted.get(name, math.nan), ".2f") for name in names]
    return [*by_name, f"{gain.speedup[0]:.2f}"]


def _left_out(record: Record, experiment: str, n_cells: int) -> list[list[str]]:
    """A line for what could not be measured: the model or pair, and why."""
    lost = {(row.short_model, row.outcome) for row in record.of(experiment) if not row.is_ok}
    return [[*each, *[""] * (n_cells - 2)] for each in sorted(lost)]


def _bracket(range_of: tuple[float, float, float]) -> str:
    middle, low, high = range_of
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)
