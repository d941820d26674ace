"""The rules of the lab: what must hold in every run, read off its log alone.

Two loops that share nothing but the store keep all of these in any order of their calls. A rule
reads one thing and so sees its own fault only; what it finds says which request, where and what.
Each is written in `checks`, and is the check of a loop there.
"""

from collections.abc import Iterable
from types import ModuleType

from labkit.labs.batching.checks import decode, prefill
from labkit.labs.batching.log import Run
from labkit.labs.batching.replay import Fault, Rule, faults_of


def _rules_in(module: ModuleType) -> dict[str, Rule]:
    """The rules written in a module by name; those that it imports are another's."""
    found = [
        each for each in vars(module).values() if isinstance(getattr(each, "rule", None), Rule)
    ]
    return {each.rule.name: each.rule for each in found if each.__module__ == module.__name__}


PREFILL_RULES, DECODE_RULES = _rules_in(prefill), _rules_in(decode)
RULES = PREFILL_RULES | DECODE_RULES


def faults(run: Run, names: Iterable[str] = RULES) -> dict[str, Fault]:
    """The first fault of each rule that is broken, in the order of the names."""
    names = list(names)
    found = faults_of(run, [RULES[name] for name in names])
    return {name: found[name] for name in names if name in found}
