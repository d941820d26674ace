"""Wrong and right values for the answer cells of the lab."""

from copy import deepcopy
from typing import Any

from autograder.labs.speculative.cases.gains import RIGHT_NOTATION, right_rules
from labkit.labs.speculative.checks.answers import CHEN, LEVIATHAN

_LEVIATHAN = "the_letters_of_leviathan_et_al"
_CHEN = "the_letters_of_chen_et_al"
_RESIDUAL = "the_residual_in_the_letters_of_each"
_SHORT = "rates_of_short_blocks_become_alpha"
_LONG = "rates_of_long_blocks_become_alpha"
_LOSSLESS = "each_rule_is_lossless_or_not"
_HOT = "what_is_kept_at_temperature_1"
_COLD = "what_is_kept_at_a_low_temperature"
_EAGER = "eager_steps_are_predicted"
_CAPTURED = "captured_steps_are_predicted"


def notation(leviathan: Any = None, chen: Any = None) -> str:
    """The cell on the letters, with some of the two papers' entries changed."""
    answer = deepcopy(RIGHT_NOTATION)
    answer[LEVIATHAN].update(leviathan or {})
    answer[CHEN].update(chen or {})
    return f"notation = {answer!r}"


def rules(
    lossless: dict[str, Any] | None = None,
    hot: dict[str, Any] | None = None,
    cold: dict[str, Any] | None = None,
) -> str:
    """The cell on rules of acceptance, with some rules' entries changed."""
    answer = right_rules()
    for rule, entry in answer.items():
        kept = {1.0: round(entry["kept"][1.0], 3), 0.2: round(entry["kept"][0.2], 3)}
        kept[1.0], kept[0.2] = (hot or {}).get(rule, kept[1.0]), (cold or {}).get(rule, kept[0.2])
        answer[rule] = {"lossless": (lossless or {}).get(rule, entry["lossless"]), "kept": kept}
    return f"acceptance_rules = {answer!r}"


def _column(temperature: float) -> dict[str, float]:
    return {rule: entry["kept"][temperature] for rule, entry in right_rules().items()}


def alphas(two: Any, three: Any, five: Any, seven: Any) -> str:
    """The cell on the published rates."""
    return f"published_alpha = { ({2: two, 3: three, 5: five, 7: seven})!r}"


def plan(eager: tuple[Any, Any] = (0, 1.0), captured: tuple[Any, Any] = (4, 1.786)) -> str:
    """The cell on what wins, each setting as (gamma, speedup)."""
    settings = {"eager": eager, "captured": captured}
    answer = {
        name: dict(zip(("best_gamma", "speedup"), pair, strict=True))
        for name, pair in settings.items()
    }
    return f"will_it_win = {answer!r}"


def sources(**changed: Any) -> str:
    """The cell on four sources."""
    right = {"highest": "choice", "lowest": "pattern", "overlap": ["instruction", "pattern"]}
    return f"sources = {right | {'lowest_at_7': 0.85} | changed!r}"


def two_gpus(**changed: Any) -> str:
    """The cell on two GPUs."""
    right = {"bandwidth_factor": 16, "flops_factor": 8.2, "verification_waits_for": "bandwidth"}
    return f"two_gpus = {right | {'gained_more': 'H100', 'may_be_chance': False} | changed!r}"


def batches(first: Any = 256, keeps_all: Any = 1.07, keeps_512: Any = 2.22) -> str:
    """The cell on batches."""
    answer = {"first_without_gain": first, "keeps_all": keeps_all, "keeps_512": keeps_512}
    return f"batches = {answer!r}"


_SWAPPED = {"target": "q", "draft": "p"}
_BACK = {"target": "p", "draft": "q"}
NOTATION = [
    ("Chen's letters for both", (_LEVIATHAN, _RESIDUAL),
     notation(leviathan=RIGHT_NOTATION[CHEN])),
    ("Leviathan's letters for both", (_CHEN, _RESIDUAL), notation(chen=RIGHT_NOTATION[LEVIATHAN])),
    ("the papers swapped", (_LEVIATHAN, _CHEN, _RESIDUAL),
     notation(RIGHT_NOTATION[CHEN], RIGHT_NOTATION[LEVIATHAN])),
    ("Leviathan's letters swapped", (_LEVIATHAN,), notation(_SWAPPED)),
    ("Chen's letters swapped", (_CHEN,), notation(chen=_BACK)),
    ("draft minus target", (_RESIDUAL,), notation({"residual": "q - p"}, {"residual": "p - q"})),
    ("p minus q in both", (_RESIDUAL,), notation(chen={"residual": "p - q"})),
    ("q minus p in both", (_RESIDUAL,), notation({"residual": "max(0, q - p)"})),
    ("the target itself", (_RESIDUAL,), notation({"residual": "p"}, {"residual": "q"})),
    ("the absolute difference", (_RESIDUAL,), notation({"residual": "|p - q|"})),
    ("a ratio", (_RESIDUAL,), notation({"residual": "p / q"}, {"residual": "q / p"})),
    ("one letter for both models", (_LEVIATHAN,), notation({"draft": "p"})),
    ("words", (_CHEN,), notation(chen={"draft": "small"})),
    ("a number", (_RESIDUAL,), notation({"residual": 0})),
    ("another paper's name", (_CHEN, _RESIDUAL), notation().replace("Chen", "Chan")),
]  # fmt: skip

_ALL_RULES = (_LOSSLESS, _HOT, _COLD)
_KEPT = (_HOT, _COLD)
RULES = [
    ("a threshold is lossless", (_LOSSLESS,), rules({"threshold": True})),
    ("greedy verification is lossless", (_LOSSLESS,), rules({"greedy": True})),
    ("lossless is what keeps most", (_LOSSLESS,), rules({"one_hot": False, "strict": False})),
    ("all are lossless", (_LOSSLESS,), rules(dict.fromkeys(right_rules(), True))),
    ("none is", (_LOSSLESS,), rules(dict.fromkeys(right_rules(), False))),
    ("words for True", (_LOSSLESS,), rules({"ratio": "yes"})),
    ("1 for True", (_LOSSLESS,), rules({"ratio": 1})),
    ("the sum of products", _KEPT, rules(hot={"ratio": 0.332}, cold={"ratio": 0.370})),
    ("the temperatures exchanged", _KEPT, rules(hot=_column(0.2), cold=_column(1.0))),
    ("one temperature for both", (_COLD,), rules(cold=_column(1.0))),
    ("what is replaced", _KEPT, rules(hot={"strict": 0.668}, cold={"strict": 0.63})),
    ("the overlap for every rule", _KEPT,
     rules(hot=dict.fromkeys(right_rules(), 0.866), cold=dict.fromkeys(right_rules(), 0.62))),
    ("the target's share above the threshold", _KEPT,
     rules(hot={"threshold": 0.772}, cold={"threshold": 0.967})),
    ("how likely the target's best token is", (_COLD,), rules(cold={"greedy": 0.657})),
    ("in percent", (_HOT,), rules(hot={"one_hot": 41.5})),
    ("not a number", (_COLD,), rules(cold={"one_hot": None})),
    ("two rules only", _ALL_RULES, "acceptance_rules = {'ratio': {}, 'strict': {}}"),
    ("no dict for one rule", _ALL_RULES, "acceptance_rules = dict.fromkeys("
     "('ratio', 'one_hot', 'strict', 'threshold', 'greedy'), True)"),
    ("one number for both", _KEPT, "acceptance_rules = {rule: {'lossless': rule in "
     "('ratio', 'one_hot', 'strict'), 'kept': 0.5} for rule in lab.RULES}"),
]  # fmt: skip

_BOTH = (_SHORT, _LONG)
ALPHAS = [
    ("accepted over drafted itself", _BOTH, alphas(0.685, 0.62, 0.525, 0.467)),
    ("all drafted accepted, or none", _BOTH, alphas(0.828, 0.853, 0.879, 0.897)),
    ("the target's token as an accepted one", _BOTH, alphas(0.79, 0.715, 0.604, 0.534)),
    ("as if blocks had no end", _BOTH, alphas(0.578, 0.65, 0.724, 0.766)),
    ("one for all", _BOTH, alphas(0.789, 0.789, 0.789, 0.789)),
    ("in percent", _BOTH, alphas(77.3, 77.9, 79.3, 80.9)),
    ("rejected ones", _BOTH, alphas(0.227, 0.221, 0.207, 0.191)),
    ("with gamma + 1 places", _BOTH, alphas(0.838, 0.827, 0.825, 0.833)),
    ("a slip at gamma 2", (_SHORT,), alphas(0.733, 0.779, 0.793, 0.809)),
    ("guessed from gamma 5 and 7", (_SHORT,), alphas(0.76, 0.77, 0.793, 0.809)),
    ("alpha of gamma 3 goes on", (_LONG,), alphas(0.773, 0.779, 0.779, 0.779)),
    ("a slip at gamma 7", (_LONG,), alphas(0.773, 0.779, 0.793, 0.89)),
    ("above 1", (_LONG,), alphas(0.773, 0.779, 0.793, 1.03)),
    ("text", (_SHORT,), alphas("high", 0.779, 0.793, 0.809)),
    ("no gamma 7", (_LONG,), alphas(0.773, 0.779, 0.793, 0.809).replace(" 7:", " 8:")),
    ("not a number", _BOTH, "published_alpha = dict.fromkeys((2, 3, 5, 7), float('nan'))"),
]  # fmt: skip

PLANS = [
    ("the best of what loses", (_EAGER,), plan(eager=(1, 0.906))),
    ("drafts are free", (_EAGER, _CAPTURED), plan((64, 3.88), (64, 4.06))),
    ("gamma 5, as everybody", (_EAGER, _CAPTURED), plan((5, 0.685), (5, 1.776))),
    ("a verification is a step", (_CAPTURED,), plan(captured=(4, 1.913))),
    ("0 times as fast", (_EAGER,), plan(eager=(0, 0.0))),
    ("captured, one less", (_CAPTURED,), plan(captured=(3, 1.748))),
    ("the inverse", (_CAPTURED,), plan(captured=(4, 0.56))),
    ("tokens per block", (_CAPTURED,), plan(captured=(4, 3.233))),
    ("in percent", (_EAGER, _CAPTURED), plan((0, 100), (4, 178.6))),
    ("without the target's own token", (_CAPTURED,), plan(captured=(4, 1.234))),
    ("the same for both", (_CAPTURED,), plan(captured=(0, 1.0))),
    ("half a token", (_CAPTURED,), plan(captured=(4.4, 1.786))),
    ("words", (_EAGER, _CAPTURED), plan(("none", 1.0), ("four", 1.786))),
]  # fmt: skip

_ENDS = "the_sources_of_the_highest_and_the_lowest_alpha"
_OVERLAP = "the_two_sources_that_cannot_be_told_apart"
_AT_7 = "what_a_long_block_gains_for_the_worst_source"
SOURCES = [
    ("exchanged", (_ENDS,), sources(highest="pattern", lowest="choice")),
    ("the second best", (_ENDS,), sources(highest="graph")),
    ("the second worst", (_ENDS,), sources(lowest="instruction")),
    ("one source twice", (_ENDS,), sources(lowest="choice")),
    ("no source", (_ENDS,), sources(highest="text")),
    ("the two best", (_OVERLAP,), sources(overlap=["choice", "graph"])),
    ("one name twice", (_OVERLAP,), sources(overlap=["pattern", "pattern"])),
    ("three names", (_OVERLAP,), sources(overlap=["graph", "instruction", "pattern"])),
    ("a word", (_OVERLAP,), sources(overlap="pattern")),
    ("at gamma 3", (_AT_7,), sources(lowest_at_7=1.07)),
    ("alpha", (_AT_7,), sources(lowest_at_7=0.64)),
    ("the best source", (_AT_7,), sources(lowest_at_7=1.55)),
]  # fmt: skip

_FACTORS = "the_factors_of_two_data_sheets"
_WAITS = "what_decides_about_a_verification"
_MORE = "which_card_gained_more"
TWO_GPUS = [
    ("inverse", (_FACTORS,), two_gpus(bandwidth_factor=0.0625, flops_factor=0.122)),
    ("exchanged", (_FACTORS,), two_gpus(bandwidth_factor=8.2, flops_factor=16)),
    ("one factor", (_FACTORS,), two_gpus(flops_factor=16)),
    ("of the H100", (_FACTORS,), two_gpus(bandwidth_factor=11.2)),
    ("arithmetic", (_WAITS,), two_gpus(verification_waits_for="flops")),
    ("memory size", (_WAITS,), two_gpus(verification_waits_for="memory")),
    ("the faster card", (_MORE,), two_gpus(gained_more="H200")),
    ("chance", (_MORE,), two_gpus(may_be_chance=True)),
    ("words for chance", (_MORE,), two_gpus(may_be_chance="no")),
]  # fmt: skip

_FIRST = "the_batch_from_which_nothing_is_gained"
_ALL = "what_a_draft_with_all_tokens_gains"
_SHORT_CACHE = "what_a_draft_with_a_short_cache_gains"
BATCHES = [
    ("the last that gains", (_FIRST,), batches(first=128)),
    ("none", (_FIRST,), batches(first=0)),
    ("the two drafts exchanged", (_ALL, _SHORT_CACHE), batches(256, 2.22, 1.07)),
    ("gamma for the speedup", (_ALL, _SHORT_CACHE), batches(256, 1, 3)),
    ("one text", (_ALL, _SHORT_CACHE), batches(256, 1.40, 1.62)),
    ("the inverse", (_ALL, _SHORT_CACHE), batches(256, 0.935, 0.45)),
    ("short texts", (_ALL,), batches(256, 1.42, 2.22)),
    ("at gamma 5", (_SHORT_CACHE,), batches(256, 1.07, 2.0)),
    ("words", (_FIRST,), batches(first="many")),
]  # fmt: skip

MUTANTS = {
    "sources": SOURCES,
    "two_gpus": TWO_GPUS,
    "batches": BATCHES,
    "notation": NOTATION,
    "acceptance_rules": RULES,
    "published_alpha": ALPHAS,
    "will_it_win": PLANS,
}


_COMPUTED = """\
def alpha_of(ratio, gamma):
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if sum(middle**n for n in range(1, gamma + 1)) < ratio * gamma:
            low = middle
        else:
            high = middle
    return low

published_alpha = {2: alpha_of(0.685, 2), 3: alpha_of(0.62, 3)}
published_alpha |= {5: alpha_of(0.525, 5), 7: torch.tensor(alpha_of(0.467, 7))}
"""
_ENUMERATED = """\
acceptance_rules = {}
for rule in lab.RULES:
    entry = {"lossless": True, "kept": {}}
    for temperature in (1.0, 0.2):
        draft_probs, target_probs = lab.toy_probs(temperature)
        def play_rule(source):
            with kit.scripted(source):
                return lab.one_token(rule, draft_probs, target_probs)
        outcomes = kit.exact_law(play_rule)
        expected = {(token,): p for token, p in enumerate(target_probs.tolist())}
        entry["kept"][temperature] = outcomes.share(lambda outcome: outcome[0])
        found = outcomes.of(lambda outcome: outcome[1:])
        same = [abs(found.get(token, 0) - expected[token]) < 1e-9 for token in expected]
        entry["lossless"] = torch.tensor(same).all() & entry["lossless"]
    acceptance_rules[rule] = entry
"""
_PLANNED = """\
will_it_win = {}
for name, times_s in {"eager": (23e-3, 29e-3, 34e-3), "captured": (7e-4, 4.06e-3, 4.55e-3)}.items():
    best = best_gamma(0.78, *times_s[:2], lambda gamma: times_s[2])
    gained = speedup(0.78, best, *times_s) if best else 1
    will_it_win[name] = {"best_gamma": best, "speedup": gained, "alpha": 0.78}
"""

_BATCHED = """\
record = kit.recorded_results("batches-*.jsonl")["batches-h200"]


def planned(*place):
    steps = lab.batch_steps(record, *place)
    words = (0.78, steps.draft_s, steps.target_s)
    gamma = best_gamma(*words, steps.verify_s, steps.max_gamma)
    return gamma, speedup(words[0], gamma, *words[1:], steps.verify_s(gamma)) if gamma else 1


batches = {
    "first_without_gain": next(n for n in (1, 64, 128, 256) if not planned(n, 512)[0]),
    "keeps_all": planned(32, 16_384)[1],
    "keeps_512": planned(32, 16_384, 512)[1],
}
"""

VARIANTS = {
    "sources": {
        "as it is": sources(),
        "other order, capitals": sources(highest="Choice", overlap=("pattern", "instruction")),
        "more digits": sources(lowest_at_7=0.853),
    },
    "two_gpus": {
        "as it is": two_gpus(),
        "whole factors": two_gpus(bandwidth_factor=16.0, flops_factor=8),
        "more digits": two_gpus(flops_factor=989 / 121),
    },
    "batches": {
        "as it is": batches(),
        "more digits": batches(256, 1.069, 2.2201),
        "computed": _BATCHED,
    },
    "notation": {
        "as they are": notation(),
        "positive parts, capitals": notation(
            {"target": "P", "residual": "norm(max(0, p(x) - q(x)))"},
            {"draft": " p ", "residual": "(q(x) \u2212 p(x))+"},
        ),
        "as code": notation({"residual": "clamp(p - q, min=0)"}, {"residual": "torch.relu(q-p)"}),
    },
    "acceptance_rules": {
        "three digits": rules(),
        "two digits": rules(
            hot={rule: round(kept, 2) for rule, kept in _column(1.0).items()},
            cold={rule: round(kept, 2) for rule, kept in _column(0.2).items()},
        ),
        "by every outcome": _ENUMERATED,
        "by numpy": rules() + "\nimport numpy\n"
        "for each in acceptance_rules.values():\n"
        "    each['lossless'] = numpy.bool_(each['lossless'])\n"
        "    each['kept'] = {t: numpy.float64(kept) for t, kept in each['kept'].items()}\n",
    },
    "published_alpha": {
        "three digits": alphas(0.773, 0.779, 0.793, 0.809),
        "two digits": alphas(0.77, 0.78, 0.79, 0.81),
        "bisected, with more digits": _COMPUTED,
    },
    "will_it_win": {
        "four digits": plan(eager=(0, 1), captured=(4, 1.786)),
        "two digits, and nearly 1": plan((0, 0.997), (4, 1.79)),
        "computed": _PLANNED,
    },
}
