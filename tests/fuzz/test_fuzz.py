"""The readers of hostile bytes hold what they promise: briefly here, for long in `make fuzz`."""

import pytest
from driver import fuzz
from hypothesis import HealthCheck, given, settings
from targets import TARGETS, Target
from trying import FINDINGS, save_finding, try_input

UNHURRIED = settings(suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", TARGETS)
def test_any_input_holds_what_its_target_says(name):
    UNHURRIED(given(content=TARGETS[name].inputs)(lambda content: try_input(name, content)))()


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*")), ids=lambda path: path.name)
def test_what_was_found_stays_mended(path):
    try_input(path.name.rpartition("-")[0], path.read_bytes())


def test_of_inputs_that_fail_in_one_place_the_shortest_is_kept(tmp_path, monkeypatch):
    def play(content):
        raise ValueError if len(content) > 9 else KeyError

    monkeypatch.setitem(TARGETS, "planted", Target(play, TARGETS["log"].inputs))
    for content in (b"x" * 20, b"x" * 10, b"x" * 15, b"short"):
        with pytest.raises((ValueError, KeyError)) as failure:
            try_input("planted", content)
        save_finding("planted", content, failure.value, tmp_path)
    kept = sorted(path.read_bytes() for path in tmp_path.iterdir())
    assert kept == [b"short", b"x" * 10]


def test_an_input_that_takes_too_long_fails(monkeypatch):
    clock = iter([0.0, 6.5])
    monkeypatch.setattr("trying.time.process_time", lambda: next(clock))
    with pytest.raises(AssertionError, match=r"took 6\.5 s"):
        try_input("log", b"")


def test_the_driver_says_how_many_inputs_it_tried(tmp_path):
    outcome = fuzz("policy", 0.5, "hypothesis", tmp_path)
    assert outcome["n_inputs"] > 0
    assert len(outcome["findings"]) == len(list(tmp_path.iterdir()))


@pytest.mark.parametrize("end", ["os.abort()", "1 / 0", "time.sleep(9)"])
def test_an_input_that_ends_or_hangs_the_process_is_kept(tmp_path, monkeypatch, end):
    script = tmp_path / "script.py"
    script.write_text(f"import os, sys, time\nopen(sys.argv[-1], 'wb').write(b'last')\n{end}\n")
    monkeypatch.setattr("driver.ONE_TARGET", script)
    monkeypatch.setattr("driver.PATIENCE_S", 1)
    (name,) = fuzz("zip", 0, "hypothesis", tmp_path / "found")["findings"]
    assert (tmp_path / "found" / name).read_bytes() == b"last"
