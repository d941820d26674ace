"""Requests from a published trace that you have downloaded."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from labkit.labs.batching.workload import Job

_AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_MOONCAKE = ("timestamp", "input_length", "output_length")


def read_trace(path: str | Path) -> list[Job]:
    """The requests of a trace; the first arrives at 0.

    path: a .csv file with the columns of Azure's LLM traces (TIMESTAMP, a date and time;
    ContextTokens, GeneratedTokens), or a .jsonl file with the keys of Mooncake's (timestamp, in
    whole milliseconds; input_length, output_length).
    Raises: ValueError for another format, with the line; for requests that are not in the order of
    their times.
    Source: github.com/Azure/AzurePublicDataset; github.com/kvcache-ai/Mooncake.
    """
    path = Path(path)
    if path.suffix not in (".csv", ".jsonl"):
        raise ValueError(f"wanted a .csv file or a .jsonl file, got {path.name}")
    names, seconds = (_AZURE, _of_date) if path.suffix == ".csv" else (_MOONCAKE, _of_milliseconds)
    jobs: list[Job] = []
    first_s = last_s = None
    for line, row in _rows(path):
        try:
            at_s, n_input, n_output = _request(row, names, seconds)
            if last_s is not None and at_s < last_s:
                raise ValueError("it is earlier than the line before; sort the file by time")
            first_s = at_s if first_s is None else first_s
            jobs.append(Job(len(jobs), n_input, stops_after=n_output, arrival_s=at_s - first_s))
        except ValueError as error:
            raise ValueError(f"{path.name}, line {line}: {error}") from None
        last_s = at_s
    if not jobs:
        raise ValueError(f"{path.name} has no requests")
    return jobs


def _rows(path: Path) -> Iterator[tuple[int, Mapping]]:
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            yield from enumerate(csv.DictReader(file), start=2)
            return
        for line, text in enumerate(file, start=1):
            try:
                row = json.loads(text)
            except json.JSONDecodeError:
                row = None
            yield line, row if isinstance(row, dict) else {}


def _request(
    row: Mapping, names: tuple[str, ...], seconds: Callable[[object], float]
) -> tuple[float, int, int]:
    """When a request arrives, and its tokens: of the prompt, of the answer."""
    if missing := [name for name in names if row.get(name) is None]:
        raise ValueError(f"no {missing[0]}; wanted {', '.join(names)}")
    at, *lengths = (row[name] for name in names)
    for name, length in zip(names[1:], lengths, strict=True):
        if not str(length).isdecimal() or int(length) < 1:
            raise ValueError(f"{name} is {length!r}; wanted a count of tokens, 1 or more")
    n_input, n_output = map(int, lengths)
    return seconds(at), n_input, n_output


def _of_date(at: object) -> float:
    try:
        found = datetime.fromisoformat(str(at))
    except ValueError:
        raise ValueError(f"TIMESTAMP is {at!r}; wanted a date and time") from None
    return found.replace(tzinfo=found.tzinfo or UTC).timestamp()  # no hour is skipped or repeated


def _of_milliseconds(at: object) -> float:
    if type(at) is not int:
        raise ValueError(f"timestamp is {at!r}; wanted whole milliseconds")
    return at / 1000
