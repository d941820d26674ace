"""What a check counts, it counts here: a bridge that reports less, more or later earns nothing.

The student's process has the bridge's other end, and may change it. Objects of a check answer each
call themselves, so a call that is left out brings no tile, no logits and no request.
"""

from functools import partial

import pytest

from autograder.builder.source import find_lab, solved_text
from autograder.proof.matrix import findings_for
from labkit.bridge import executor

COUNTED = {  # by exercise: the lab, and the calls that are left out, doubled or late
    "standard_attention": ("flash_attention", ("load", "store")),
    "flash_attention_1": ("flash_attention", ("load", "store")),
    "flash_attention_2": ("flash_attention", ("load", "store")),
    "PrefillLoop": ("batching", ("run_prefill", "save_kv")),
    "DecodeLoop": ("batching", ("load_kv", "finish")),
    "speculative": ("speculative", ("feed",)),
}
PLAYED = [(exercise, call) for exercise, (_, calls) in COUNTED.items() for call in calls]


class Bridge:
    """A hostile end of the bridge, which passes on the calls of one name in its own way."""

    def __init__(self, how):
        self._how, self._n, self._late = how, 0, None

    def pass_on(self, call, *args, **kwargs):
        self._n += 1
        asked = partial(call, *args, **kwargs)
        if self._how == "more":
            asked()
        if self._how == "less" and self._n % 2 == 0:
            return None
        if self._how == "later":
            asked, self._late = self._late, asked
        return asked() if asked else None


@pytest.fixture
def tamper(monkeypatch):
    def tamper(how, name):
        plain, bridge = executor._stand_in, Bridge(how)

        def stand_in(kind, call, attributes, *rest):
            if name in attributes:
                attributes = attributes | {name: partial(bridge.pass_on, attributes[name])}
            return plain(kind, call, attributes, *rest)

        monkeypatch.setattr(executor, "_stand_in", stand_in)

    return tamper


@pytest.mark.parametrize("how", ["less", "more", "later"])
@pytest.mark.parametrize(("exercise", "call"), PLAYED)
def test_a_bridge_that_reports_something_else_earns_nothing(how, exercise, call, tamper):
    lab = find_lab(COUNTED[exercise][0])
    tamper(how, call)
    assert not all(finding.passed for finding in findings_for(lab, exercise))


TILE_AGAIN = """
right_attention = standard_attention
def standard_attention(memory, is_causal):
    for name in "QKV":
        memory.load(name, 0, 1)
    return right_attention(memory, is_causal)
"""


@pytest.mark.parametrize("left_out", ["load", "store"])
def test_a_wasteful_attention_gains_nothing_if_reports_are_left_out(left_out, tamper):
    """What came is counted; the tile of a load that was left out has not come."""
    lab = find_lab("flash_attention")
    (cell,) = [each for each in lab.cells if each.name == "standard_attention"]
    wasteful = {"standard_attention": solved_text(cell) + TILE_AGAIN}

    def lost(findings):
        return {each.check.name for each in findings if not each.passed}

    honest = lost(findings_for(lab, "standard_attention", wasteful))
    tamper("less", left_out)
    assert honest
    assert lost(findings_for(lab, "standard_attention", wasteful))
