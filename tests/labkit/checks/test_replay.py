"""A case played again in a notebook: its calls, with what went in and what came."""

import pytest

from labkit import kv_cache, memory
from labkit.checks.replay import N_FIRST, N_LAST, replay
from labkit.checks.tables import call
from labkit.labs.kv_cache.checks.arena import ArenaCase
from labkit.labs.memory.checks.inverse import largest_model

CHECK = "weights_fill_what_the_overhead_leaves"
[CASE] = largest_model.hidden({CHECK: [call(4000, 0)]}, memory.largest_model)


def test_a_case_is_played_and_each_call_is_shown(capsys):
    calls = replay("memory", CHECK, CASE, {"largest_model": lambda vram, overhead: 4 * vram})
    out = capsys.readouterr().out
    assert calls[0].args + tuple(calls[0].kwargs.values()) == (4000, 0)
    assert calls[0].result == 16000
    assert "largest_model(4000, 0) -> 16000" in out
    assert "failed:" in out
    assert "expected 2,000, got 16,000" in out


def test_what_the_code_raises_is_shown_with_the_call(capsys):
    def largest_model(n, overhead):
        raise KeyError(n)

    replay("memory", CHECK, CASE, {"largest_model": largest_model})
    assert "largest_model(4000, 0) -> raised KeyError: 4000" in capsys.readouterr().out


def test_a_right_answer_passes(capsys):
    replay("memory", CHECK, CASE, {"largest_model": memory.largest_model})
    assert "passed:" in capsys.readouterr().out


def test_methods_are_called_by_name_and_of_many_calls_some_are_left_out(capsys):
    case = ArenaCase(
        (4, 2, -4, 1, 3, -2, 1, 1, 1, 1, 1, 1), 12, 2, 1, 3, 3, kv_cache.torch.float32, 1
    )
    name = "a_life_of_appends_and_rewinds_equals_concatenation"
    calls = replay("kv_cache", name, case, vars(kv_cache))
    out = capsys.readouterr().out
    assert {call.name for call in calls} >= {"ArenaCache", "append", "rewind"}
    assert len(calls) > N_FIRST + N_LAST
    assert f"… {len(calls) - N_FIRST - N_LAST} more calls" in out


def test_a_check_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no check 'x'"):
        replay("memory", "x", CASE, {})
