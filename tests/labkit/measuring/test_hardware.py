"""The machine against the table: cards as torch reports them, and the machine that tests run on."""

from dataclasses import replace

import pytest
import torch

from labkit.measuring import machine
from labkit.measuring.machine import detected, hardware
from labkit.measuring.machine.detected import Card
from labkit.measuring.machine.device_memory import available_memory_bytes
from labkit.measuring.machine.hardware import check_facts
from labkit.measuring.roofline import pass_floor

H200 = Card(
    name="NVIDIA H200",
    capability=(9, 0),
    memory_bytes=int(139.8 * 2**30),
    n_sms=132,
    l2_bytes=62_914_560,
    shared_per_sm_bytes=233_472,
    shared_per_block_bytes=232_448,
    memory_clock_hz=3_201_000_000,
    memory_bus_bits=6144,
)
T4 = Card("Tesla T4", (7, 5), int(14.74 * 2**30), 40, 4 * 2**20, 65_536, 65_536)


def test_a_card_that_is_what_the_table_says_agrees_in_every_row():
    check = check_facts(H200)
    assert check.agrees
    assert [row.agrees for row in check.rows] == [True] * 8
    assert str(check).count("agrees") == 8
    assert "H200-SXM" in str(check)


def test_a_t4_has_no_bfloat16_and_what_torch_does_not_report_is_no_contradiction():
    check = check_facts(T4)
    assert check.agrees
    rows = {row.fact: row for row in check.rows}
    assert rows["bfloat16 in hardware"].here == "False"
    assert rows["bandwidth"].agrees is None
    assert "not reported" in str(check)


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"n_sms": 114}, "multiprocessors"),
        ({"capability": (10, 0)}, "compute capability"),
        ({"l2_bytes": 50 * 2**20}, "L2 cache"),
        ({"shared_per_sm_bytes": 164 * 1024}, "shared memory per SM"),
        ({"shared_per_block_bytes": 163 * 1024}, "shared memory per block"),
        ({"memory_clock_hz": 2_619_000_000}, "bandwidth"),
        ({"memory_bytes": 147 * 10**9}, "memory that torch sees"),
    ],
)
def test_a_fact_that_differs_is_named(change, fact):
    check = check_facts(replace(H200, **change))
    assert not check.agrees
    assert [row.fact for row in check.rows if row.agrees is False] == [fact]
    assert "DIFFERS" in str(check)


def test_a_card_outside_the_table_has_nothing_to_compare():
    check = check_facts(replace(T4, name="NVIDIA GeForce RTX 3090"))
    assert check.rows == ()
    assert "not in the table" in str(check)


def test_this_machine_is_described_with_what_torch_says_of_it():
    here = detected.detect()
    assert here.n_cores >= 1
    assert here.n_threads == torch.get_num_threads()
    assert here.memory_bytes is None or here.memory_bytes > 2**28
    assert len(here.cards) == torch.cuda.device_count()
    assert f"{here.n_cores} cores" in hardware.describe()
    check = check_facts()
    assert check.agrees
    if not here.cards:
        assert str(check) == "no CUDA GPU here, nothing to compare"


def test_free_memory_is_known_and_below_the_total():
    free_bytes, total_bytes = available_memory_bytes("cpu"), detected.detect().memory_bytes
    assert free_bytes is None or 0 < free_bytes <= total_bytes
    assert available_memory_bytes("meta") is None


def test_a_cpu_computes_bfloat16():
    assert detected.has_bfloat16("cpu")


def test_the_roofline_of_this_machine_is_measured_and_gives_floors():
    measured = hardware.measure_roofline("cpu", n_repeats=1)
    assert "measured" in measured.name
    assert set(measured.peaks) == {"float32"}
    assert measured.bandwidth > 0
    assert pass_floor(measured, "tiny-target", 1, 99, dtype="float32").seconds > 0


@pytest.mark.parametrize(
    ("has_driver", "cuda", "expected"),
    [
        (False, None, "device CPU"),
        (True, None, "this PyTorch is built without CUDA"),
        (True, "12.6", "PyTorch cannot use it"),
    ],
)
def test_the_setup_says_where_the_lab_computes_and_why_not_on_a_gpu(
    monkeypatch, has_driver, cuda, expected
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(machine.shutil, "which", lambda name: has_driver or None)
    said = machine.ready()
    assert said.startswith("ready: labkit ")
    assert f"torch {torch.__version__}" in said
    assert expected in said
    assert ("NVIDIA" in said) == has_driver


@pytest.mark.parametrize(
    ("free", "own", "expected"),
    [(14, 0, "Other programs hold 126 of 140 GB"), (14, 120, ""), (100, 0, ""), (None, 0, "full")],
)
def test_a_gpu_that_others_have_filled_is_told_with_what_to_do(monkeypatch, free, own, expected):
    def asked():
        if free is None:
            raise RuntimeError("CUDA error: out of memory")
        return free * 10**9, 140 * 10**9

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")
    monkeypatch.setattr(torch.cuda, "mem_get_info", asked)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: own * 10**9)
    said = machine.ready()
    assert "device NVIDIA H200" in said
    assert expected in said
    assert ("Shut down the other notebooks" in said) == bool(expected)
