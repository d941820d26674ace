"""The tables of the homework, written from records and facts: text files, as figures are pictures.

labkit tables RECORDS OUT     a file for each table that the records have rows for
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from labkit.labs.each import of_each_lab
from labkit.measuring.records import read_records
from labkit.measuring.tables import Sentence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `main`."""
    parser.add_argument("records", type=Path, help="a record, or a folder of them: data/results")
    parser.add_argument("out", type=Path, help="the folder that gets the tables")


def main(args: argparse.Namespace) -> None:
    """Write each table, and print the names of the files.

    Raises: ValueError if the records have no table.
    """
    records = read_records(args.records)
    found: dict[str, Callable[[], object]] = {}
    for tables_of in of_each_lab("numbered", "tables_of"):
        found |= tables_of(records)
    if not found:
        raise ValueError(f"no record of {args.records} has an experiment that has a table")
    args.out.mkdir(parents=True, exist_ok=True)
    for name, make in found.items():
        made = make()
        if not isinstance(made, Sentence):
            path = args.out / f"{name}.txt"
            path.write_text(f"{made}\n", encoding="utf-8")
            print(path)
