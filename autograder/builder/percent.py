"""The percent format of notebook sources: `# %%`, `# %% [markdown]`, keys behind them."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_FIRST_LINE = re.compile(r"^# %%(.*)$", re.MULTILINE)
_KEYS = re.compile(r'((?: \[markdown\])?)((?: \w+=(?:"[^"]*"|[0-9.]+))*)')
_KEY = re.compile(r'(\w+)=("[^"]*"|[0-9.]+)')
_COMMENT = re.compile(r"^# ?", re.MULTILINE)


class PercentCell(NamedTuple):
    """A cell: its keys and its text, which is without comment signs if it is markdown."""

    is_markdown: bool
    keys: dict[str, Any]
    text: str


def cells_of(source: str) -> Iterator[PercentCell]:
    """The cells of a source. What stands before the first is its header.

    Raises: ValueError quoting a first line that cannot be read.
    """
    _, *parts = _FIRST_LINE.split(source)
    for line, text in zip(parts[::2], parts[1::2], strict=True):
        found = _KEYS.fullmatch(line.rstrip())
        if found is None:
            raise ValueError(f'a cell begins with # %%, [markdown] and keys="…", not # %%{line}')
        keys = {name: json.loads(value) for name, value in _KEY.findall(found[2])}
        text = text.strip("\n")
        yield PercentCell(bool(found[1]), keys, _COMMENT.sub("", text) if found[1] else text)
