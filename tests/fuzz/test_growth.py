"""Four times the input takes about four times the time: no few bytes keep a reader busy."""

import gc
import json
import time
import tracemalloc
from contextlib import suppress

import pytest
from delivery_targets import LAB, zipped
from frame_inputs import FRAME
from frame_targets import Tape
from instances import some_of
from log_targets import ONE
from notebook_inputs import masters
from table_targets import play_policy, play_roster

from autograder.intake.collect import NoSubmissions, collect
from autograder.intake.read import Unreadable, read_notebook
from autograder.intake.rebuild import rebuild
from autograder.judging.outputs import clean_outputs
from autograder.record.log import read_results
from labkit.bridge.frames import receive
from labkit.bridge.student import Student
from labkit.bridge.wire import WireDecoder, WireError
from labkit.checks.names import bound_names

LARGEST_RATIO = 9  # 4 is linear, 16 quadratic
AT_ONCE_S = 0.05
N_TRIALS = 2
MAX_BYTES_PER_BYTE = 300
SPARE_BYTES = 4 << 20


def code(text, name=None):
    cell = {"cell_type": "code", "source": text, "metadata": {"nbgrader": {"grade_id": name}}}
    return json.dumps(cell).encode()


def cells(cell, n):
    return b'{"cells": [' + b",".join([cell] * n) + b"]}"


def named(kind):
    return next(cell for cell in masters()[0].cells if cell.kind == kind)


STUB, EXPERIMENT = named("exercise"), named("experiment")
BOUNDLESS = '{"$int": "0x%x"}' % ((1 << 61) - 1)

NOTEBOOKS = {  # a notebook for n, and the largest n that is worth a try
    "empty cells": (lambda n: cells(b"{}", n), 800),
    "copies of a stub": (lambda n: cells(code(STUB.source, STUB.name), n), 800),
    "copies of an experiment": (lambda n: cells(code(EXPERIMENT.source, EXPERIMENT.name), n), 800),
    "definitions of one name": (lambda n: cells(code(f"def {STUB.name}(): pass"), n), 800),
    "blank lines": (lambda n: cells(code("\n" * n), 1), 100_000),
    "blanks and tabs": (lambda n: cells(code(" \t" * n), 1), 100_000),
    "statements in a line": (lambda n: cells(code("a;" * n), 1), 10_000),
    "assignments": (lambda n: cells(code(f"{STUB.name} = 1\n" * n), 1), 5_000),
    "open brackets": (lambda n: cells(code("([{" * n), 1), 50_000),
    "open strings": (lambda n: cells(code("'''\n\"\"\"\n" * n), 1), 20_000),
    "names": (lambda n: cells(code("a" * n), 1), 200_000),
    "minus signs": (lambda n: cells(code("-" * n + "1"), 1), 200_000),
    "nested JSON": (lambda n: b'{"cells": ' + b"[" * n, 200_000),
    "a long number": (lambda n: b'{"cells": [1' + b"0" * n + b".0]}", 1_000_000),
    "parts of a source": (lambda n: b'{"cells": [{"source": [' + b'"a",' * n + b'"b"]}]}', 100_000),
    "outputs": (lambda n: b'{"cells": [{"cell_type": "code", "outputs": [' + b"{}," * n + b"{}]}]}",
                50_000),
    "keys": (lambda n: b'{"cells": [{' + b",".join(b'"%d": 1' % i for i in range(n)) + b"}]}",
             50_000),
}  # fmt: skip
SCRIPTS = {
    "cells": (lambda n: b"# %%\nx\n" * n, 300),
    "header lines": (lambda n: b"# ---\n" + b"# - a\n" * n + b"# ---\n", 5_000),
    "header without end": (lambda n: b"# ---\n" + b"# a\n" * n, 5_000),
    "comments": (lambda n: b"# a\n" * n, 5_000),
    "quotes": (lambda n: b'"""\n' * n, 5_000),
    "markers in one line": (lambda n: b"# %%" * n, 20_000),
    "metadata": (lambda n: b"# %% " + b'a={"b": ' * n, 2_000),
    "blank lines": (lambda n: b"\n" * n, 20_000),
}
FRAMES = {
    "lists": (lambda n: b"[" + b"[]," * n + b"1]", 50_000),
    "keys": (lambda n: b'{"$set": [' + b",".join(b"%d" % (i << 40) for i in range(n)) + b"]}",
             30_000),
    "keys of one hash": (lambda n: b'{"$set": [' + (BOUNDLESS.encode() + b",") * n + b"1]}",
                         20_000),
    "pairs": (lambda n: b'{"$dict": [' + b"[[],1]," * n + b"[1,1]]}", 50_000),
    "digits": (lambda n: b'{"$int": "' + b"f" * n + b'"}', 1_000_000),
    "dimensions": (lambda n: b'{"$tensor": ["int8", [' + b"1," * n + b"1], [0, 1]]}", 100_000),
    "depth": (lambda n: b"[" * n + b"]" * n, 200_000),
    "empty bytes": (lambda n: b"[" + b'{"$bytes": [0, 0]},' * n + b"1]", 20_000),
}  # fmt: skip
OUTPUTS = {
    "a base64 that is none": (lambda n: [display("image/png", "A" * n + "!")], 500_000),
    "ends of base64": (lambda n: [display("image/png", "=" * n + "\n")], 500_000),
    "angles": (lambda n: [display("text/markdown", "<" * n)], 100_000),
    "outputs": (lambda n: [display("text/plain", "a")] * n, 100_000),
}


def display(mime, text):
    return {"output_type": "display_data", "data": {mime: text}}


def read_and_rebuild(content, name="work.ipynb"):
    try:
        read = read_notebook(content, name)
    except Unreadable:
        return
    bound_names.cache_clear()
    for master in masters():
        rebuild(master, read)


def decode(item):
    header = b'{"value": ' + item + b"}"
    try:
        message, blob = receive(Tape(FRAME.pack(len(header), 0) + header))
        WireDecoder(blob, Student(None)._from_handle).decode(message["value"])
    except WireError:
        return


def seconds(play, content):
    """The least processor time of a few tries, without the garbage of everything else."""
    gc.disable()
    try:
        times = []
        for _ in range(N_TRIALS):
            start = time.process_time()
            play(content)
            times.append(time.process_time() - start)
        return min(times)
    finally:
        gc.enable()


def check_growth(make, n, play):
    """`n` is done at once, where a quadratic cost would be seconds, or costs what n / 4 says."""
    whole = seconds(play, make(n))
    if whole > AT_ONCE_S:
        quarter, half = (seconds(play, make(n // part)) for part in (4, 2))
        times = f"{quarter:.3f} s, {half:.3f} s, {whole:.3f} s for {n // 4:,}, {n // 2:,}, {n:,}"
        assert whole < LARGEST_RATIO * max(quarter, half / 3), times


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks(name):
    check_growth(*NOTEBOOKS[name], read_and_rebuild)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_memory_for_notebooks(name):
    make, n = NOTEBOOKS[name]
    check_memory(make(n // 4), read_and_rebuild)


@pytest.mark.parametrize("name", FRAMES)
def test_the_memory_for_frames(name):
    make, n = FRAMES[name]
    check_memory(make(n // 4), decode)


def check_memory(content, play):
    """The memory that reading takes follows the size of what is read."""
    play(content)  # what is loaded once does not count
    tracemalloc.start()
    try:
        play(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MAX_BYTES_PER_BYTE * len(content) + SPARE_BYTES, f"{peak:,} of {len(content):,}"


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts(name):
    check_growth(*SCRIPTS[name], lambda content: read_and_rebuild(content, "work.py"))


@pytest.mark.parametrize("name", FRAMES)
def test_frames(name):
    check_growth(*FRAMES[name], decode)


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs(name):
    check_growth(*OUTPUTS[name], clean_outputs)


DELIVERIES = {
    "students": lambda i: f"student {i}/{LAB}.ipynb",
    "files of one student": lambda i: f"ann/{LAB}/{i}.txt",
    "notebooks of one student": lambda i: f"ann/{LAB}/{i}.ipynb",
    "attempts": lambda i: f"ann_12_{i}_{LAB}-{i}.ipynb",
    "attempt folders": lambda i: f"ann/attempt_{i}/{LAB}.ipynb",
    "a folder in a folder": lambda i: "a/" * 100 + f"{i}.ipynb",
}


@pytest.mark.parametrize("name", some_of(DELIVERIES, "attempts", "files of one student"))
def test_deliveries(name, tmp_path):
    def make(n):
        path = tmp_path / f"{n}.zip"
        path.write_bytes(zipped([(DELIVERIES[name](i), b"{}") for i in range(n)]))
        return path

    check_growth(make, 400, lambda place: collect_anything(place))


def collect_anything(place):
    with suppress(NoSubmissions):
        collect(place, LAB)


LOGS = {
    "lines": lambda n: (ONE.to_json() + "\n") * n,
    "blank lines": lambda n: "\n" * 10 * n,
    "depth": lambda n: "[" * 100 * n,
}


@pytest.mark.parametrize("name", LOGS)
def test_logs(name, tmp_path):
    def make(n):
        path = tmp_path / f"{n}.jsonl"
        path.write_text(LOGS[name](n))
        return path

    check_growth(make, 1200, read_results)


TABLES = {
    "people": (lambda n: b"Name,Email\n" + b"".join(b"a%d,b%d\n" % (i, i) for i in range(n)), 4000),
    "people of one name": (lambda n: b"Name,Email\n" + b"".join(b"a,b%d\n" % i for i in range(n)),
    1200),
    "columns": (lambda n: b"Name," * n + b"\n" + b"a," * n, 10_000),
    "quotes": (lambda n: b'Name\n"' + b'""' * n, 50_000),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_rosters(name):
    check_growth(*TABLES[name], play_roster)


POLICIES = {
    "students": lambda n: b"[extensions]\n" + b"".join(b"a%d = {}\n" % i for i in range(n)),
    "depth": lambda n: b"timezone = " + b"[" * 20 * n,
}


@pytest.mark.parametrize("name", POLICIES)
def test_policies(name):
    check_growth(POLICIES[name], 2000, play_policy)
