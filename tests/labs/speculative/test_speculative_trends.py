"""Sentences of lab 6 on how a measured number grows or falls: they fit the records."""

import pytest
from trends import RECORDS, stands_in

from labkit.labs.speculative.records import gains
from labkit.labs.speculative.tables import same_settings_table


def _regimes(drafts):
    """Speedup by gamma of the curves whose drafts come from a model, or by copying ("n-gram")."""
    curves = {}
    for gain in gains(RECORDS["regimes-cpu"], experiment="regimes"):
        *_, prompts, n_new, source = gain.row.setting.split(", ")
        if source == drafts:
            curves.setdefault((prompts, n_new), {})[gain.gamma] = gain.speedup[0]
    return curves


def _best_gammas():
    curves = _regimes("model").values()
    falls = all(each[10] < 0.9 * max(each.values()) for each in curves)
    early = [[each[gamma] for gamma in range(1, 6)] for each in curves]
    is_flat = all(max(each) < 1.15 * min(each) for each in early)
    return falls and is_flat and [max(each, key=each.get) for each in curves] == [1, 4, 4]


def _a_verification_of_four():
    alone, drafted = (
        next(row for row in RECORDS["regimes-cpu"].of("regimes") if row.setting == setting).counts
        for setting in ("alone, simple, 64 new", "gamma 3, simple, 64 new, n-gram")
    )
    return round(drafted["target_step_s"] / alone["target_step_s"], 1) == 1.6


def _copying_gains():
    curves = _regimes("n-gram").items()
    return {kind: [n for n in each if each[n] > 1] for kind, each in curves} == {
        ("simple", "64 new"): [1],
        ("normal", "64 new"): [],
        ("normal", "128 new"): [],
    }


def _every_eager_pair_loses():
    speedups = [
        gain.speedup[0] for gain in gains(RECORDS["speculative-h200"], None, "eager_speculation")
    ]
    return len(speedups) == 12 and (round(min(speedups), 2), round(max(speedups), 2)) == (0.7, 0.93)


def _same_order_of_sources():
    found = gains(RECORDS["speculative-cpu"], experiment="by_source")
    at_best = [gain for gain in found if (gain.row.model, gain.gamma) == ("tiny", 7)]
    by_alpha = sorted(at_best, key=lambda gain: gain.alpha[0])
    return len(at_best) == 4 and by_alpha == sorted(at_best, key=lambda gain: gain.speedup[0])


def _the_slower_card_gains_more():
    cards = [RECORDS[f"speculative-{card}"] for card in ("h100", "h200")]
    table = same_settings_table(cards).lines
    by_card = [
        {(gain.row.model, gain.gamma): gain.speedup for gain in gains(card)} for card in cards
    ]
    apart = all(slow[1] > by_card[1][at][2] for at, slow in by_card[0].items())
    return apart and [line[-1][:4] for line in table] == ["1.89", "1.82", "1.46", "1.42"]


TRENDS = [
    (
        "the slower of the two: 1.89 against 1.82, and 1.46 against 1.42.",
        _the_slower_card_gains_more,
    ),
    ("The speedups have the same order:", _same_order_of_sources),
    ("the speedup is 0.70 to 0.93.", _every_eager_pair_loses),
    ("is best at γ = 1 for simple prompts, and at γ = 4 for normal prompts.", _best_gammas),
    ("a verification of four tokens takes 1.6 times as long", _a_verification_of_four),
    ("So copying gains only for simple prompts at γ = 1,", _copying_gains),
]


@pytest.mark.parametrize(("sentence", "holds"), TRENDS, ids=[each[0] for each in TRENDS])
def test_a_trend_in_the_prose_is_one_of_the_records(sentence, holds):
    assert stands_in("06_speculative", sentence)
    assert holds()
