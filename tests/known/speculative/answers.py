"""Wrong and right values for the answer cells of the lab."""

from copy import deepcopy
from typing import Any

from autograder.labs.speculative.cases.gains import RIGHT_NOTATION, right_rules
from labkit.labs.speculative.checks.answers import CHEN, LEVIATHAN

_LEVIATHAN = "the_letters_of_leviathan_et_al"
_CHEN = "the_letters_of_chen_et_al"
_RESIDUAL = "the_residual_in_the_letters_of_each"
_LOSSLESS = "each_rule_is_lossless_or_not"
_HOT = "what_is_kept_at_temperature_1"
_COLD = "what_is_kept_at_a_low_temperature"


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


def compared(**changed: Any) -> str:
    """The cell on sources of prompts and two GPUs."""
    right = {"highest": "choice", "lowest": "pattern", "overlap": ["instruction", "pattern"]}
    right |= {"lowest_at_7": 0.85, "bandwidth_factor": 16, "flops_factor": 8.2}
    right |= {"verification_waits_for": "bandwidth", "gained_more": "H100", "may_be_chance": False}
    return f"compared = {right | changed!r}"


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

_ENDS = "the_sources_of_the_highest_and_the_lowest_alpha"
_OVERLAP = "the_two_sources_that_cannot_be_told_apart"
_AT_7 = "what_a_long_block_gains_for_the_worst_source"
_FACTORS = "the_factors_of_two_data_sheets"
_WAITS = "what_decides_about_a_verification"
_MORE = "which_card_gained_more"
COMPARED = [
    ("exchanged", (_ENDS,), compared(highest="pattern", lowest="choice")),
    ("the second best", (_ENDS,), compared(highest="graph")),
    ("the second worst", (_ENDS,), compared(lowest="instruction")),
    ("one source twice", (_ENDS,), compared(lowest="choice")),
    ("no source", (_ENDS,), compared(highest="text")),
    ("the two best", (_OVERLAP,), compared(overlap=["choice", "graph"])),
    ("one name twice", (_OVERLAP,), compared(overlap=["pattern", "pattern"])),
    ("three names", (_OVERLAP,), compared(overlap=["graph", "instruction", "pattern"])),
    ("a word", (_OVERLAP,), compared(overlap="pattern")),
    ("at gamma 3", (_AT_7,), compared(lowest_at_7=1.07)),
    ("alpha", (_AT_7,), compared(lowest_at_7=0.64)),
    ("the best source", (_AT_7,), compared(lowest_at_7=1.55)),
    ("inverse", (_FACTORS,), compared(bandwidth_factor=0.0625, flops_factor=0.122)),
    ("factors exchanged", (_FACTORS,), compared(bandwidth_factor=8.2, flops_factor=16)),
    ("one factor", (_FACTORS,), compared(flops_factor=16)),
    ("of the H100", (_FACTORS,), compared(bandwidth_factor=11.2)),
    ("arithmetic", (_WAITS,), compared(verification_waits_for="flops")),
    ("memory size", (_WAITS,), compared(verification_waits_for="memory")),
    ("the faster card", (_MORE,), compared(gained_more="H200")),
    ("chance", (_MORE,), compared(may_be_chance=True)),
    ("words for chance", (_MORE,), compared(may_be_chance="no")),
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
    "compared": COMPARED,
    "batches": BATCHES,
    "notation": NOTATION,
    "acceptance_rules": RULES,
}


_ENUMERATED = """\
acceptance_rules = {}
for rule in lab.RULES:
    entry = {"lossless": True, "kept": {}}
    for temperature in (1.0, 0.2):
        draft_probs, target_probs = lab.toy_probs(temperature)
        outcomes = lab.rule_law(rule, temperature)
        expected = {(token,): p for token, p in enumerate(target_probs.tolist())}
        entry["kept"][temperature] = outcomes.share(lambda outcome: outcome[0])
        found = outcomes.of(lambda outcome: outcome[1:])
        same = [abs(found.get(token, 0) - expected[token]) < 1e-9 for token in expected]
        entry["lossless"] = torch.tensor(same).all() & entry["lossless"]
    acceptance_rules[rule] = entry
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
    "compared": {
        "as it is": compared(),
        "other order, capitals": compared(highest="Choice", overlap=("pattern", "instruction")),
        "more digits": compared(lowest_at_7=0.853, flops_factor=989 / 121),
        "whole factors": compared(bandwidth_factor=16.0, flops_factor=8),
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
}
