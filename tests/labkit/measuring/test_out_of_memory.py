"""Records of cards without room for every point: each figure is drawn of what was measured."""

from dataclasses import replace
from functools import partial

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest

from labkit.labs.each import of_each_lab
from labkit.labs.flash_attention import figures as flash_figures
from labkit.labs.flash_attention import tables as flash_tables
from labkit.labs.speculative import speed_figures as speculative_figures
from labkit.labs.speculative import tables as speculative_tables
from labkit.labs.throughput import experiments as throughput
from labkit.labs.throughput import figures as throughput_figures
from labkit.labs.throughput import tables as throughput_tables
from labkit.labs.throughput.widget import roofline_explorer
from labkit.measuring.physics import refusals
from labkit.measuring.records import OUT_OF_MEMORY, Record, recorded_results
from labkit.measuring.tables import Sentence

RECORDS = recorded_results("*-h200.jsonl") | recorded_results("throughput-h100.jsonl")
OF_THE_MACHINE = ("roofline", "copy_bandwidth")  # their sizes follow the free memory


def without(record, lost):
    """The record of a card that had no room for these of its rows."""
    rows = [
        replace(row, samples_s=(), events_s=(), outcome=OUT_OF_MEMORY) if row in lost else row
        for row in record.rows
    ]
    return Record(record.provenance, tuple(rows))


def points(record):
    return [row for row in record.rows if row.experiment not in OF_THE_MACHINE]


def second_halves(record):
    """Of each curve the later half: its larger sizes."""
    curves = {}
    for row in points(record):
        curve = (row.experiment, row.model, row.setting, row.use_cache)
        curves.setdefault(curve, []).append(row)
    return [row for rows in curves.values() for row in rows[(len(rows) + 1) // 2 :]]


def of_one_model(record):
    """All of the model that has most rows."""
    names = [row.model for row in points(record)]
    most = max(dict.fromkeys(names), key=names.count)
    return [row for row in points(record) if row.model == most]


def first_halves(record):
    """Of each curve the earlier half: another program ended meanwhile."""
    later = second_halves(record)
    return [row for row in points(record) if row not in later]


def all_but_one(record):
    """Of each curve all but one point."""
    shown = {}
    for row in points(record):
        shown.setdefault((row.experiment, row.setting, row.use_cache), row)
    return [row for row in points(record) if row not in shown.values()]


def of_the_machine(record):
    """All rows: not even the machine could be measured."""
    return list(record.rows)


LOST = [second_halves, first_halves, all_but_one, of_one_model, of_the_machine]


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        pytest.param(name, lost, id=f"{name}-{lost_of.__name__}")
        for name, record in RECORDS.items()
        for lost_of in LOST
        if (lost := lost_of(record))  # a curve of one point has no halves
    ],
)
def test_points_without_room_stop_no_figure(name, lost):
    records = {name: without(RECORDS[name], lost)}
    for figures_of in of_each_lab("figures", "figures_of"):
        for draw in figures_of(records).values():
            draw()
    plt.close("all")


READERS = {  # what notebooks show of a record of their own, beside the figures
    "throughput-h200": [
        *(partial(throughput_tables.table, experiment=each) for each in throughput.EXPERIMENTS),
        *(draw for each, draw in throughput_figures.FIGURES.items() if each != "three_models"),
        roofline_explorer,
        refusals,
    ],
    "throughput-h100": [throughput_figures.three_models, roofline_explorer],
    "speculative-h200": [
        *(speculative_tables.steps_table, speculative_tables.gains_table),
        *(speculative_figures.steps_by_model, speculative_figures.gains_by_gamma),
        speculative_figures.residuals,
    ],
    "flash-h200": [flash_tables.back_ends_table, flash_figures.back_ends],
}


@pytest.mark.parametrize("lost_of", LOST)
@pytest.mark.parametrize("name", READERS)
def test_what_a_notebook_shows_of_such_a_record_is_a_table_a_figure_or_a_sentence(name, lost_of):
    record = without(RECORDS[name], lost_of(RECORDS[name]))
    for read in READERS[name]:
        shown = str(read(record))
        if lost_of is of_the_machine and isinstance(read(record), Sentence):
            assert "have no time (out of memory). Make room" in shown
    plt.close("all")
