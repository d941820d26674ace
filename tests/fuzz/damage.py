"""Bytes as a bad disk, a broken upload or an attacker leaves them."""

from hypothesis import strategies as st

KINDS = ("keep", "keep", "flip", "cut", "insert", "repeat")


@st.composite
def damaged(draw, whole):
    """Bytes of `whole`, often as they are, else changed in a place or three."""
    data = draw(whole)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 16)))
        match draw(st.sampled_from(KINDS)):
            case "flip":
                data = data[:start] + bytes(byte ^ 0x80 for byte in data[start:end]) + data[end:]
            case "cut":
                data = data[:start] + data[end:]
            case "insert":
                data = data[:start] + draw(st.binary(max_size=8)) + data[start:]
            case "repeat":
                data = data[:end] + data[start:end] * draw(st.integers(1, 50)) + data[end:]
    return data
