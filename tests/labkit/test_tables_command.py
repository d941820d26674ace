"""`labkit tables`: the homework's tables come from records, as figures do."""

import pytest

from labkit.cli import main
from labkit.labs.throughput.tables import table
from labkit.measuring.records import recorded_results
from labkit.models.facts import data_path

NUMBERS = ("1.2.3", "1.3.1", "1.3.2", "1.3.3", "4.2", "4.4", "4.5")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("tables")
    assert main(["tables", str(data_path("results")), str(out)]) == 0
    return {path.stem: path.read_text() for path in out.iterdir()}


@pytest.mark.parametrize("number", NUMBERS)
def test_each_table_of_the_homework_is_written(written, number):
    found = [text for name, text in written.items() if name.startswith(f"{number}-")]
    assert found and all(len(text.splitlines()) > 3 for text in found)


def test_a_table_has_the_records_numbers(written):
    record = recorded_results("throughput-h200.jsonl")["throughput-h200"]
    assert written["1.3.1-throughput-h200"] == f"{table(record, 'input_sweep')}\n"
    assert "8.00    16.00    32.00" in written["1.2.3-kv-caches"]


def test_a_record_without_such_rows_has_only_what_needs_none(tmp_path, capsys):
    record = data_path("results") / "flash-h200.jsonl"
    assert main(["tables", str(record), str(tmp_path / "out")]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["1.2.3-kv-caches.txt"]
