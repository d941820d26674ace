"""Frames and what is in them: values, answers and callbacks, requests; sound and forged."""

import json
import struct

from damage import damaged
from hypothesis import strategies as st

from labkit.bridge.wire import TENSOR_DTYPES

ID = 7
FRAME = struct.Struct("<IQ")


def frame(message, blob=b""):
    header = json.dumps(message).encode()
    return FRAME.pack(len(header), len(blob)) + header + blob


counts = st.integers(-1, 40) | st.sampled_from([1 << 20, 1 << 40, 1 << 63])
shapes = st.lists(counts, max_size=4) | st.lists(st.sampled_from([0, 1]), max_size=80)
references = st.tuples(counts, counts).map(list)
dtypes = st.sampled_from(
    [*sorted(TENSOR_DTYPES), "<f8", ">i4", "|b1", "f8", "a8", "O", "3f4", "{", "?"]
)
hexes = st.integers().map(hex) | st.sampled_from(["0x" + "f" * 5000, "1_0", " 5 ", ""])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(["nan", "inf", "-inf", "float32", "area", "\ud800"]),
)


def tagged(tag, payload):
    return payload.map(lambda value: {tag: value})


arrays = st.tuples(dtypes, shapes, references).map(list)
handles = st.tuples(counts, st.text(max_size=4), st.booleans()).map(list)
known_names = st.sampled_from("area call odd raise_odd cyclic items table nothing".split())
owners = st.one_of(known_names.map(lambda name: {"$name": name}), tagged("$handle", counts))
attributes = st.sampled_from(["real", "shape", "__len__", 5])
offers = st.sampled_from(
    [
        [0, {"a": 1}, [[1, 2]], "x", {}],
        [None, {}, [], "x", {"c": {"$callback": 0}}],
        [1, {"b": {"$name": "area"}}, [0], 5, {"d": 1}],
        [0, {}],
        [],
    ]
)
TAGS = """
$tuple $dict $set $tensor $array $bytes $int $float $complex $dtype $handle $name $callback $offer
$item $method
"""


leaves = st.one_of(
    scalars,
    tagged("$int", hexes),
    tagged("$bytes", references),
    tagged("$tensor", arrays),
    tagged("$array", arrays),
    tagged("$handle", handles | counts),
    tagged("$name", known_names),
    tagged("$callback", counts),
    tagged("$offer", offers),
    tagged("$item", st.tuples(owners, counts).map(list)),
    tagged("$method", st.tuples(owners, attributes).map(list)),
    st.sampled_from([{"$float": "nan"}, {"$dtype": "int8"}, {"$complex": [1, {"$float": "inf"}]}]),
)
items = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        tagged("$tuple", st.lists(inner, max_size=3)),
        tagged("$set", st.lists(inner, max_size=3)),
        tagged("$dict", st.lists(st.tuples(inner, inner).map(list), max_size=3)),
        st.dictionaries(st.sampled_from(TAGS.split()), inner, max_size=2),
    ),
    max_leaves=12,
)
blobs = st.binary(max_size=64)
values = st.builds(lambda item, blob: frame({"value": item}, blob), items, blobs)
errors = st.fixed_dictionaries(
    {"ok": st.just(False)},
    optional={
        "kind": scalars,
        "message": scalars,
        "function": scalars,
        "lines": st.lists(scalars),
        "kinds": items,
    },
)
replies = st.builds(lambda item: {"ok": True, "value": item}, items) | errors
callbacks = st.fixed_dictionaries(
    {"callback": st.integers(-1, 2) | scalars, "args": st.lists(items, max_size=3) | items},
    optional={"kwargs": st.dictionaries(st.sampled_from(["x", "key", ""]), items, max_size=2)},
)
said = st.builds(
    lambda message, number, blob: frame({"id": number, **message}, blob),
    replies | callbacks | st.dictionaries(st.text(max_size=4), scalars, max_size=2),
    st.sampled_from([ID] * 9 + [8, True, None, 7.0]),
    blobs,
)
requests = st.builds(
    frame,
    st.fixed_dictionaries(
        {"op": st.sampled_from("call call attribute length item value scripted in_turn ?".split())},
        optional={
            "target": items,
            "args": st.lists(items, max_size=3) | items,
            "kwargs": st.dictionaries(st.text(max_size=3), items, max_size=2) | items,
            "name": attributes,
            "hold": st.booleans(),
        },
    ),
    blobs,
)


def streams(frames):
    return damaged(st.lists(frames, max_size=4).map(b"".join))


any_frames, any_conversation, any_requests = streams(values), streams(said), streams(requests)
