"""A GPU that is full, in all words that torch and its libraries have for it."""

import contextlib
import weakref

import pytest
import torch
from no_room import Memory

from labkit.engine.captured import captured
from labkit.measuring import device
from labkit.measuring.machine import device_memory as machine_memory
from labkit.measuring.machine import hardware
from labkit.measuring.machine.hardware import measure_roofline
from labkit.measuring.physics import refusals
from labkit.measuring.profiles import CPU
from labkit.measuring.provenance import Provenance
from labkit.measuring.records import OUT_OF_MEMORY, Record, Row


class AcceleratorError(RuntimeError):
    """As newer versions of torch name what CUDA reports."""


class OutOfResources(Exception):
    """As Triton names it; it is no RuntimeError."""


IN_ALL_WORDS = [
    MemoryError("no room"),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB. GPU 0 has\nmore"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried"),
    RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported later"),
    AcceleratorError("CUDA error: out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"),
    RuntimeError("Triton Error [CUDA]: out of memory"),
    OutOfResources("out of resource: shared memory, Required: 147456, Hardware limit: 101376"),
]
OTHERS = [
    RuntimeError("device-side assert"),
    RuntimeError("CUDA error: an illegal memory access was encountered"),
    RuntimeError("The size of tensor a (2) must match the size of tensor b (3)"),
    ValueError("out of memory"),  # of a student's own function, say
    KeyError("out of resource"),
]


def raising(error):
    def run():
        raise error

    return run


@pytest.mark.parametrize("error", IN_ALL_WORDS, ids=lambda error: str(error)[:40])
def test_every_way_to_run_out_of_memory_is_a_memory_error_with_its_first_words(error):
    with pytest.raises(MemoryError) as caught:
        device.out_of_memory_as_one(raising(error))
    said = str(caught.value)
    assert str(error).startswith(said) and said
    assert "\n" not in said and "GPU 0 has" not in said


@pytest.mark.parametrize("error", OTHERS, ids=str)
def test_any_other_error_stays_what_it_is(error):
    with pytest.raises(type(error)) as caught:
        device.out_of_memory_as_one(raising(error))
    assert caught.value is error


def test_the_memory_error_holds_nothing_of_the_run():
    alive = []

    def run():
        weights = torch.ones(10)
        alive.append(weakref.ref(weights))
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with pytest.raises(MemoryError) as caught:
        device.out_of_memory_as_one(run)
    assert alive[0]() is None
    assert caught.value.__context__ is None


@pytest.fixture
def unopened(monkeypatch):
    """A GPU that other programs fill: even to ask it anything fails."""
    full = raising(AcceleratorError("CUDA error: out of memory"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for name in ("synchronize", "mem_get_info", "empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: full())
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda *_: 0)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda *_: 0)


def test_a_gpu_too_full_to_be_opened_stops_no_work_on_the_cpu(unopened):
    device.synchronize()
    device.forget_peak()
    device.free_device_memory()
    assert device.peak_bytes() == 0
    assert machine_memory.available_memory_bytes("cuda") == device.own_memory_bytes() == 0
    assert machine_memory.device_for(1) == "cpu"


@pytest.mark.parametrize(("free_bytes", "place"), [(5, "cuda"), (4, "cuda"), (3, "cpu")])
def test_a_labs_models_are_on_the_gpu_where_they_have_room(monkeypatch, free_bytes, place):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda *_: (free_bytes - 1, 9))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda *_: 1)
    assert machine_memory.device_for(4) == place


def test_a_labs_models_are_on_the_cpu_where_there_is_no_gpu():
    assert torch.cuda.is_available() or machine_memory.device_for(0) == "cpu"


def test_another_fault_of_the_gpu_is_not_hidden(unopened, monkeypatch):
    monkeypatch.setattr(torch.cuda, "synchronize", raising(AcceleratorError("device-side assert")))
    with pytest.raises(AcceleratorError, match="device-side"):
        device.synchronize()


def test_the_roofline_takes_only_a_part_of_the_memory_that_is_free(monkeypatch):
    monkeypatch.setattr(hardware, "available_memory_bytes", lambda place: 2**26)
    with Memory() as memory:
        most = []
        real = memory.alive.update

        def update(storages):
            real(storages)
            most.append(sum(each.nbytes() for each in memory.alive))

        monkeypatch.setattr(memory.alive, "update", update)
        assert measure_roofline("cpu", n_repeats=1).bandwidth > 0
    assert max(most) < 2**26


def test_out_of_memory_beside_another_program_is_no_impossible_row():
    counts = {"bandwidth": 1e12, "peak": 1e14, "memory_bytes": 80e9}
    roofline = Row("roofline", "cuda", 1, 0, 0, False, outcome="counted", counts=counts)
    lost = Row("sweep", "Qwen/Qwen3-0.6B", 1, 8, 8, True, outcome=OUT_OF_MEMORY)
    beside = Row(*lost.key[:6], outcome=OUT_OF_MEMORY, counts={"free_bytes": 1e9})
    here = Provenance.here(CPU, "a test")
    assert "cannot have run out" in refusals(Record(here, (roofline, lost)))[0]
    assert refusals(Record(here, (roofline, beside))) == []
    assert refusals(Record(here, (beside,))) == []  # its roofline ran out of memory too


def test_a_capture_that_fails_gives_the_steps_own_error_and_the_stream_from_before(monkeypatch):
    streams = ["the default"]

    class BrokenGraph:
        def __init__(self, made, pool, own):
            self.own = own

        def __enter__(self):
            streams[0] = self.own

        def __exit__(self, *_):
            raise AcceleratorError("CUDA error: operation failed due to a previous error")

    @contextlib.contextmanager
    def stream(wanted):
        try:
            yield
        finally:
            streams[0] = wanted

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: streams[0])
    monkeypatch.setattr(torch.cuda, "CUDAGraph", object)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: "of the capture")
    monkeypatch.setattr(torch.cuda, "graph", BrokenGraph)
    monkeypatch.setattr(torch.cuda, "stream", stream)
    n_calls = []

    def step():
        n_calls.append(1)
        if len(n_calls) == 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB.")

    with pytest.raises(torch.OutOfMemoryError):
        captured(step)
    assert streams == ["the default"]
    with pytest.raises(AcceleratorError):
        captured(lambda: None)
