"""Figures and tables of lab 2: data equal to the record's, every loss marked, drawn from files."""

import builtins

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest

from labkit import figures, roofline_widget
from labkit.facts import data_path
from labkit.records import Record, Row, recorded_results


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
def test_a_figure_shows_the_records_numbers_on_both_kinds_of_axes(record, name, field):
    figure = figures.FIGURES[name]({"one": record, "two": record})
    rows = [row for row in record.of(name) if row.is_ok]
    wanted = ([getattr(row, field) for row in rows], [row.time_s for row in rows])
    linear, log, rate, *second = figure.axes
    assert drawn(linear) == drawn(log) == wanted
    assert (linear.get_xscale(), log.get_xscale(), log.get_yscale()) == ("linear", "log", "log")
    assert len(second) == 3
    assert all(axes.get_xlabel() for axes in figure.axes)
    assert linear.get_ylabel() == "seconds"
    if name != "forward_by_batch":
        assert drawn(rate)[1] == [row.tokens_per_s for row in rows]
    assert not plt.get_fignums()


def test_a_point_without_memory_is_marked(record):
    lost = Row("input_sweep", "tiny-target", 4, 4096, 16, True, outcome="out of memory")
    more = Record(record.provenance, (*record.rows, lost))
    linear = figures.input_sweep({"one": more}).axes[0]
    assert any("out of memory" in text.get_text() for text in linear.texts)
    assert "out of memory" in figures.table(more, "input_sweep")


def test_a_table_has_a_line_per_row_with_its_numbers(record):
    lines = figures.table(record, "three_models").splitlines()
    rows = record.of("three_models")
    assert len(lines) == 2 + len(rows)
    assert f"{rows[0].tokens_per_s:.1f}" in lines[2]
    assert "float32" in lines[0]


def test_all_figures_are_redrawn_from_a_folder(tmp_path):
    files = figures.draw_all(data_path("results"), tmp_path / "out")
    assert [path.stem for path in files] == [f"throughput_{name}" for name in figures.FIGURES]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files)


def test_a_folder_without_records_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="no throughput"):
        figures.draw_all(tmp_path, tmp_path)
    with pytest.raises(ValueError, match="measure it first"):
        figures.input_sweep({})


def test_no_measured_pass_of_the_record_is_above_its_roof(record):
    for line in roofline_widget.roofline_table(record).splitlines()[1:]:
        assert float(line.rstrip("%").split()[-1]) <= 100


def test_a_larger_batch_moves_a_decode_step_to_the_right():
    one, many = (roofline_widget.decode_point("Qwen/Qwen3-8B", n, "bfloat16") for n in (1, 64))
    assert many.flops_per_byte > 30 * one.flops_per_byte
    assert one.flops_per_s is None


def test_moving_the_slider_redraws(record):
    pytest.importorskip("ipywidgets")
    box = roofline_widget.roofline_explorer(record)
    controls, picture = box.children
    before = bytes(picture.value)
    model, batch = controls.children
    batch.value = 256
    assert bytes(picture.value).startswith(b"\x89PNG")
    assert bytes(picture.value) != before
    assert "tiny-target" in model.options


def test_without_ipywidgets_a_table_is_printed(record, monkeypatch, capsys):
    real_import = builtins.__import__

    def import_without(name, *args, **kwargs):
        if name.startswith("ipywidgets"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", import_without)
    assert roofline_widget.roofline_explorer(record) is None
    assert "of the roof" in capsys.readouterr().out
