"""A case played again in a notebook: its calls, with what went in and what came."""

import pytest

from labkit import kv_cache, memory
from labkit.checks.replay import N_FIRST, N_LAST, replay
from labkit.checks.tables import call
from labkit.labs.kv_cache.checks.arena import ArenaCase
from labkit.labs.memory.checks.products import weight_bytes

CHECK = "every_parameter_takes_its_bytes"
[CASE] = weight_bytes.hidden({CHECK: [call(1000, 2)]}, memory.weight_bytes)


def test_a_case_is_played_and_each_call_is_shown(capsys):
    calls = replay("memory", CHECK, CASE, {"weight_bytes": lambda n, width: 8 * n * width})
    out = capsys.readouterr().out
    assert calls[0].args + tuple(calls[0].kwargs.values()) == (1000, 2)
    assert calls[0].result == 16000
    assert "weight_bytes(1000, 2) -> 16000" in out
    assert "failed:" in out
    assert "expected 2,000, got 16,000" in out


def test_what_the_code_raises_is_shown_with_the_call(capsys):
    def weight_bytes(n, width):
        raise KeyError(n)

    replay("memory", CHECK, CASE, {"weight_bytes": weight_bytes})
    assert "weight_bytes(1000, 2) -> raised KeyError: 1000" in capsys.readouterr().out


def test_a_right_answer_passes(capsys):
    replay("memory", CHECK, CASE, {"weight_bytes": memory.weight_bytes})
    assert "passed:" in capsys.readouterr().out


def test_methods_are_called_by_name_and_of_many_calls_some_are_left_out(capsys):
    from labkit.checks.core import checks_of

    case = ArenaCase(
        (4, 2, -4, 1, 3, -2, 1, 1, 1, 1, 1, 1), 12, 2, 1, 3, 3, kv_cache.torch.float32, 1
    )
    name = checks_of("kv_cache")["ArenaCache"][4].name
    calls = replay("kv_cache", name, case, vars(kv_cache))
    out = capsys.readouterr().out
    assert {call.name for call in calls} >= {"ArenaCache", "append", "rewind"}
    assert len(calls) > N_FIRST + N_LAST
    assert f"… {len(calls) - N_FIRST - N_LAST} more calls" in out


def test_a_check_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no check 'x'"):
        replay("memory", "x", CASE, {})
