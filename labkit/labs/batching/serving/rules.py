"""What must hold in every run, read off its log alone, each rule by its name.

Two loops that share nothing but the store keep all of these in any order of their calls. A rule
reads one thing and so sees its own fault only; what it finds says which request, where and what.
"""

from collections.abc import Callable, Iterable, Iterator

from labkit.labs.batching.serving.log import Run
from labkit.labs.batching.serving.replay import Fault
from labkit.labs.batching.serving.rules_decode import DECODE_RULES
from labkit.labs.batching.serving.rules_prefill import PREFILL_RULES

RULES: dict[str, Callable[[Run], Iterator[Fault]]] = PREFILL_RULES | DECODE_RULES


def faults(run: Run, names: Iterable[str] = RULES) -> dict[str, Fault]:
    """The first fault of each rule that is broken."""
    found = {name: next(RULES[name](run), None) for name in names}
    return {name: fault for name, fault in found.items() if fault is not None}


def in_words(run: Run, fault: Fault, n_lines: int = 10) -> str:
    """A fault with its time and the log before it: the last lines, or at the end those it is in."""
    if fault.place < len(run.log):
        text = f"at {run.log[fault.place].begin_s:.4f} s, {fault.sentence}"
        return f"{text}. The log up to there:\n{run.before(fault.place, n_lines)}"
    text = f"at the end, {fault.sentence}"
    if run.stopped not in ("", fault.sentence):
        text += f" (the run ended early: {run.stopped})"
    own = [str(event) for event in run.log if fault.id in event.ids][-n_lines:]
    if own:
        return f"{text}. What the log says of request {fault.id}:\n" + "\n".join(own)
    return f"{text}. The log up to there:\n{run.before(fault.place, n_lines)}"


__all__ = ["DECODE_RULES", "PREFILL_RULES", "RULES", "Fault", "faults", "in_words"]
