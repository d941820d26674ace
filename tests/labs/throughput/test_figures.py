"""Figures and tables of lab 2: data equal to the record's, every loss marked, drawn from files."""

import json
from dataclasses import replace

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest
from shown import controls_of

from labkit.cli import main
from labkit.labs.throughput import figures, tables
from labkit.labs.throughput import widget as roofline_widget
from labkit.measuring.records import Record, RecordError, Row, read_records, recorded_results
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor
from labkit.models.facts import data_path, gpus


@pytest.fixture
def record():
    return recorded_results("throughput-cpu.jsonl")["throughput-cpu"]


def drawn(axes):
    """The points of the first line, which is the measured one."""
    line = axes.get_lines()[0]
    return list(line.get_xdata()), list(line.get_ydata())


@pytest.mark.parametrize(
    ("name", "field"),
    [("input_sweep", "n_input"), ("output_sweep", "n_new"), ("forward_by_batch", "batch_size")],
)
def test_a_figure_shows_the_records_numbers(record, name, field):
    figure = figures.FIGURES[name](record)
    rows = [row for row in record.of(name) if row.is_ok]
    wanted = ([getattr(row, field) for row in rows], [row.time_s for row in rows])
    time, rate = figure.axes
    assert drawn(time) == wanted
    assert (time.get_xscale(), time.get_yscale()) == ("log", "log")
    assert all(axes.get_xlabel() for axes in figure.axes)
    if name != "forward_by_batch":
        assert drawn(rate)[1] == [row.tokens_per_s for row in rows]
    assert not plt.get_fignums()


def test_a_point_without_memory_is_marked(record):
    lost = Row("input_sweep", "tiny-target", 4, 4096, 16, True, outcome="out of memory")
    more = Record(record.provenance, (*record.rows, lost))
    time = figures.input_sweep(more).axes[0]
    assert any("out of memory" in text.get_text() for text in time.texts)
    assert cells(tables.table(more, "input_sweep"), -1)["time s"] == "out of memory"


def cells(shown, i=0):
    """The i-th row of all tables together, by headings."""
    return {
        name: cell
        for table in shown
        for name, cell in zip(table.headings, table.lines[i], strict=True)
    }


def test_a_table_has_a_line_per_row_with_its_numbers(record):
    rows = [replace(row, counts={}) for row in record.of("three_models")]
    record = replace(record, rows=(*record.of("roofline"), *rows))
    shown = tables.table(record, "three_models")
    assert [len(table.rows) for table in shown] == [len(rows), len(rows)]
    assert "float32" in shown[0].title
    assert cells(shown)["tokens/s"] == f"{rows[0].tokens_per_s:.1f}"
    assert cells(shown)["n"] == str(len(rows[0].samples_s))
    assert not {"events s", "first", "ms/seq"} & set(cells(shown))


def test_a_table_shows_events_and_cold_runs_where_there_are_any(record):
    old, row, *_ = record.of("output_sweep")
    old = replace(old, counts={})
    row = replace(row, samples_s=(2.0, 2.0), events_s=(1.25, 1.75), counts={"first_s": 3.8})
    shown = tables.table(replace(record, rows=(*record.of("roofline"), old, row)), "output_sweep")
    assert (cells(shown, 0)["events s"], cells(shown, 0)["first"]) == ("-", "-")
    assert (cells(shown, 1)["events s"], cells(shown, 1)["first"]) == ("1.5000", "1.9x")


def test_the_table_of_cards_has_the_floors_of_their_data_sheets():
    lines = tables.cards_table("Qwen/Qwen3-8B").lines
    assert [line[0] for line in lines] == list(gpus())
    (line,) = (line for line in lines if line[0] == "L40S")
    step, prefill = (pass_floor("L40S", "Qwen/Qwen3-8B", *n) for n in ((1, 64), (8192, 0)))
    assert line[-2:] == [f"{1e3 * step.seconds:.1f}", f"{1e3 * prefill.seconds:.0f}"]


def test_mfu_is_the_flops_of_all_passes_over_the_machines_peak(record):
    machine = Roofline.of("H200-SXM")
    here = replace(record.provenance, dtype="bfloat16")
    counts = {"bandwidth": 4e12, "peak": 7e14}
    card = Row("roofline", "cuda", 1, 0, 0, False, outcome="counted", note=machine.name)
    forward = Row("pass", "Qwen/Qwen3-4B", 16, 256, 0, True, (0.08,))
    tokens = replace(forward, experiment="run", n_new=3, use_cache=False)
    made = Record(here, (replace(card, counts=counts), forward, tokens))
    work = ModelWork.of(forward.model)
    flops = 16 * work.flops(256, 0, 1)
    mfu = flops / 0.08 / machine.peak("bfloat16")
    assert cells(tables.table(made, "pass"))["MFU"] == f"{mfu:.1%}"
    flops += 16 * (work.flops(257, 0, 1) + work.flops(258, 0, 1))
    mfu = flops / 0.08 / machine.peak("bfloat16")
    assert cells(tables.table(made, "run"))["MFU"] == f"{mfu:.1%}"
    assert cells(tables.table(made, "pass"))["ms/seq"] == "5.00"


def test_a_table_needs_neither_a_roofline_nor_facts(record):
    row = replace(record.of("output_sweep")[0], model="my/own")
    shown = tables.table(Record(record.provenance, (row,)), "output_sweep")
    assert cells(shown)["model"] == "own"
    assert not {"MFU", "ms/layer"} & set(cells(shown))
    assert [table.rows for table in tables.table(record, "nothing")] == [[], []]


def test_no_line_of_a_table_is_broken_on_a_wide_page():
    long = Row(
        "input_sweep", "meta-llama/Llama-3.2-3B-Instruct", 16, 32_768, 256, True,
        (14.7131, 114.8), (14.7131, 114.8), note="random weights", counts={"first_s": 300.0},
    )  # fmt: skip
    machine = Row("roofline", "cuda", 1, 0, 0, False, outcome="counted", note="H200-SXM")
    here = recorded_results("throughput-cpu.jsonl")["throughput-cpu"].provenance
    shown = tables.table(Record(here, (machine, long)), "input_sweep")
    assert max(len(line) for table in shown for line in str(table).splitlines()[1:]) <= 80


@pytest.fixture
def own(record, tmp_path):
    """A record of another name that holds one experiment, and no roofline."""
    path = tmp_path / "my.jsonl"
    head = (data_path("results") / "throughput-cpu.jsonl").read_text().splitlines()
    kept = [line for line in head if json.loads(line).get("experiment") in (None, "output_sweep")]
    path.write_text("\n".join(kept) + "\n")
    return path


def test_all_figures_are_redrawn_from_a_folder(tmp_path, capsys):
    (tmp_path / "records").mkdir()
    for name in ("throughput-cpu.jsonl", "flash-h200.jsonl"):
        (tmp_path / "records" / name).symlink_to(data_path("results") / name)
    assert main(["figures", str(tmp_path / "records"), str(tmp_path / "out")]) == 0
    files = sorted(path.stem for path in (tmp_path / "out").glob("*.png"))
    drawn = {f"throughput-cpu-{name}" for name in figures.FIGURES}
    assert set(files) == {*drawn, "flash-h200-back-ends"}
    assert sorted(line.split("/")[-1][:-4] for line in capsys.readouterr().out.split()) == files
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (tmp_path / "out").iterdir())


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_record_of_any_name_is_drawn_by_what_it_holds(own, is_folder, tmp_path):
    records = read_records(own.parent if is_folder else own)
    assert list(records) == ["my"]
    assert list(figures.figures_of(records)) == ["my-output_sweep"]
    assert main(["figures", str(own), str(tmp_path / "out")]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["my-output_sweep.png"]


def test_a_folder_without_records_says_so(tmp_path, own, capsys):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty has no record \(\*\.jsonl\): measure one first"):
        read_records(tmp_path / "empty")
    said = str(figures.input_sweep(Record(read_records(own)["my"].provenance, ())))
    assert said.endswith("the record has no rows of the experiment input_sweep: measure it first")
    own.write_text(own.read_text().splitlines()[0] + "\n")
    assert main(["figures", str(own), str(tmp_path / "out")]) == 2
    assert "no record of" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    own.write_text("{}\n")
    with pytest.raises(RecordError, match=r"my\.jsonl, line 1"):
        read_records(tmp_path)


def test_no_measured_pass_of_the_record_is_above_its_roof(record):
    for line in roofline_widget.roofline_table(record).lines:
        assert float(line[-1].rstrip("%")) <= 100


def test_a_larger_batch_moves_a_decode_step_to_the_right():
    one, many = (roofline_widget.decode_point("Qwen/Qwen3-8B", n, "bfloat16") for n in (1, 64))
    assert many.flops_per_byte > 30 * one.flops_per_byte
    assert one.flops_per_s is None


def test_moving_the_slider_redraws(record):
    pytest.importorskip("ipywidgets")
    controls, picture = controls_of(roofline_widget.roofline_explorer(record))
    before = picture.value
    controls["batch"].value = 256
    assert picture.value.startswith("<figure")
    assert picture.value != before
    assert "tiny-target" in controls["model"].options


def test_without_ipywidgets_there_is_a_table(record, no_ipywidgets):
    assert "of the roof" in roofline_widget.roofline_explorer(record).headings
