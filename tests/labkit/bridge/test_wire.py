"""Values on the wire: what goes in comes out, and nothing hostile gets past the decoder."""

import contextlib
import json
import math
import socket
import struct

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.bridge.frames import receive, send
from labkit.bridge.wire import Encoder, WireDecoder, WireError

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
)
keys = st.integers() | st.text() | st.tuples(st.integers(), st.text())
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(keys, inner) | st.sets(keys)
    ),
    max_leaves=20,
)


def round_trip(value):
    encoder = Encoder()
    item = json.loads(json.dumps(encoder.encode(value)))
    return WireDecoder(b"".join(bytes(blob) for blob in encoder.blobs)).decode(item)


@given(values)
def test_plain_values_come_back_with_their_types(value):
    back = round_trip(value)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("dtype", "float64 float32 float16 bfloat16 int64 uint8 bool".split())
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_tensors_come_back_with_dtype_shape_and_bytes(dtype, shape):
    tensor = (torch.randn(shape) * 3).to(getattr(torch, dtype))
    back = round_trip(tensor)
    assert back.dtype == tensor.dtype
    assert torch.equal(back, tensor)


def test_transposed_and_expanded_tensors_arrive_as_what_they_show():
    tensor = torch.arange(6.0).reshape(2, 3).T
    assert torch.equal(round_trip(tensor), tensor)
    assert torch.equal(round_trip(torch.ones(1).expand(5)), torch.ones(5))


def test_numpy_scalars_become_plain_numbers():
    assert type(round_trip(numpy.float64(1.5))) is float
    assert type(round_trip(numpy.int32(7))) is int
    assert round_trip(numpy.arange(3)).tolist() == [0, 1, 2]


def test_nan_and_infinities_survive():
    assert math.isnan(round_trip(math.nan))
    assert round_trip([math.inf, -math.inf]) == [math.inf, -math.inf]


def test_a_subclass_arrives_as_the_plain_type():
    class Agreeable(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    assert type(round_trip(Agreeable(3))) is int


def test_what_is_no_value_is_refused():
    with pytest.raises(TypeError, match="by value"):
        Encoder().encode(object())
    deep = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(WireError, match="deep"):
        Encoder().encode(deep)


HOSTILE = [
    {"$tensor": ["float32", [4], [0, 8]]},
    {"$tensor": ["float32", [-1], [0, 4]]},
    {"$tensor": ["float32", [1 << 50], [0, 4]]},
    {"$tensor": ["float32", [20_000_000, 0], [0, 0]]},
    {"$tensor": ["object", [1], [0, 8]]},
    {"$tensor": ["__class__", [1], [0, 8]]},
    {"$array": ["|O", [1], [0, 8]]},
    {"$array": ["<f8", [1], [8, 8]]},
    {"$bytes": [-8, 8]},
    {"$bytes": [0, 1 << 40]},
    {"$bytes": [0.0, 8]},
    {"$int": "f" * 100_000},
    {"$int": 7},
    {"$float": "1e999"},
    {"$dict": [[{"$dict": []}, 1]]},
    {"$set": [[1]]},
    {"$dtype": "load"},
    {"$handle": 3},
    {"$callback": 0},
    {"$tuple": 5},
    {"$complex": [1, 2, 3]},
    {},
    {"a": 1, "b": 2},
]


@pytest.mark.parametrize("item", HOSTILE, ids=str)
def test_malformed_items_are_wire_errors_and_nothing_else(item):
    with pytest.raises(WireError):
        WireDecoder(bytes(8)).decode(item)


def test_bytes_of_the_blob_are_claimed_once():
    """Else a message of a few bytes could grow to any size in the judge's memory."""
    with pytest.raises(WireError, match="more bytes"):
        WireDecoder(bytes(8)).decode([{"$bytes": [0, 8]}] * 2)


@given(st.recursive(st.none() | st.integers() | st.text() | st.floats(), lambda inner: (
    st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from("$tensor $array $bytes $dict $set $tuple $int $float $complex".split()),
        inner, max_size=2)), max_leaves=15))  # fmt: skip
def test_any_json_decodes_or_is_a_wire_error(item):
    with contextlib.suppress(WireError):
        WireDecoder(bytes(16)).decode(item)


@pytest.fixture
def pair():
    left, right = socket.socketpair()
    with left, right:
        yield left, right


def test_frames_carry_header_and_blobs(pair):
    left, right = pair
    send(left, {"op": "call"}, [b"abc", b"de"])
    assert receive(right) == ({"op": "call"}, bytearray(b"abcde"))


@pytest.mark.parametrize("header", [b"not json", b"[1]", b"\xff\xfe", b'{"a": NaN}', b"[" * 9999])
def test_broken_frames_are_wire_errors(pair, header):
    left, right = pair
    left.sendall(struct.pack("<IQ", len(header), 0) + header)
    with pytest.raises(WireError):
        receive(right)


def test_an_oversized_frame_is_refused_before_it_is_read(pair):
    left, right = pair
    left.sendall(struct.pack("<IQ", 10, 1 << 60))
    with pytest.raises(WireError, match="announces"):
        receive(right)


def test_a_closed_channel_is_the_end(pair):
    left, right = pair
    left.close()
    with pytest.raises(EOFError):
        receive(right)
