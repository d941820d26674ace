"""Records of cards without room for every point: each figure is drawn of what was measured."""

from dataclasses import replace

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest

from labkit.labs import of_each_lab
from labkit.measuring.records import OUT_OF_MEMORY, Record, recorded_results

RECORDS = recorded_results("*-h200.jsonl")
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


@pytest.mark.parametrize("lost_of", [second_halves, of_one_model])
@pytest.mark.parametrize("name", RECORDS)
def test_points_without_room_stop_no_figure(name, lost_of):
    lost = lost_of(RECORDS[name])
    records = {name: without(RECORDS[name], lost)}
    assert lost
    for figures_of in of_each_lab("figures", "figures_of"):
        for draw in figures_of(records).values():
            draw()
    plt.close("all")
