"""Lab 7's figures and tables say what was counted and measured, and nothing else."""

import re

import matplotlib

matplotlib.use("agg")

import pytest
import torch

from labkit import flash_attention as flash
from labkit.labs.flash_attention import figures as flash_figures
from labkit.labs.flash_attention import tables as flash_tables
from labkit.labs.flash_attention.flops import flash_flops
from labkit.labs.flash_attention.records import BACK_ENDS, Point
from labkit.measuring.plots import png_bytes
from labkit.measuring.profiles import CPU
from labkit.measuring.provenance import Provenance
from labkit.measuring.records import OUT_OF_MEMORY, Record, Row
from labkit.models.counted_memory import attention_memory
from labkit.models.facts import gpus

HERE = Provenance.here(CPU, "a test")
COUNTS = flash.standard_traffic, flash.flash_1_traffic, flash.flash_2_traffic
LENGTHS = (512, 1024, 2048)


def memory(n_rows=40, head_dim=4):
    return attention_memory(
        *torch.randn(3, n_rows, head_dim, generator=torch.Generator().manual_seed(0))
    )


def record(n_seconds=1e-3, has_machine=True):
    """Every back end at three lengths, forward and back; "math" has no room for the longest."""
    rows = []
    if has_machine:
        machine = {"bandwidth": 1e9, "peak": 1e12, "memory_bytes": 1e9}
        rows = [Row("roofline", "cpu", 1, 0, 0, False, outcome="counted", counts=machine)]
    for has_back in (False, True):
        point = Point(4, 64, False, has_back)
        for name in BACK_ENDS:
            for n in LENGTHS:
                key = ("sdpa", name, 1, n, 0, False)
                same = {"setting": str(point), "counts": point.counts}
                if (name, n) == ("math", 2048):
                    rows.append(Row(*key, outcome=OUT_OF_MEMORY, **same))
                else:
                    rows.append(Row(*key, (n * n_seconds,), peak_bytes=1000 * n, **same))
    return Record(HERE, tuple(rows))


def words(axes):
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize(
    "way", [flash.standard_attention, lambda m: flash.flash_attention_1(m, 16, 12),
            lambda m: flash.flash_attention_2(m, 7, 9, True)],
)  # fmt: skip
def test_the_picture_of_the_moves_is_the_log(way):
    moved = memory()
    way(moved)
    axes = flash_figures.moves(moved, "title").axes[0]
    boxes = [path.get_extents() for kind in axes.collections for path in kind.get_paths()]
    assert sum(box.width for box in boxes) == moved.n_read + moved.n_written
    assert max(box.x1 for box in boxes) == moved.n_read + moved.n_written
    assert sum(box.height for box in boxes) == sum(a.stop - a.start for a in moved.accesses)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert set(names) == {access.name for access in moved.accesses}
    loaded = moved.numbers("load")
    said = [text for lane in words(axes) for text in lane.splitlines() if text.startswith("load")]
    assert said == [f"load {loaded[name]:,}" for name in names if loaded[name]]
    boxes.sort(key=lambda box: box.x0)
    assert [box.x1 for box in boxes[:-1]] == [box.x0 for box in boxes[1:]]


def test_a_memory_that_moved_nothing_says_so():
    assert "nothing was moved" in words(flash_figures.moves(memory()).axes[0])


def test_the_crossover_is_where_the_first_order_moves_less():
    figure = flash_figures.traffic_by_tile(*COUNTS, n_rows=2048)
    for axes, head_dim in zip(figure.axes, (64, 128), strict=True):
        least = int(words(axes)[0].split()[1])
        standard = sum(flash.standard_traffic(2048, head_dim))
        assert sum(flash.flash_1_traffic(2048, head_dim, least)) < standard
        assert sum(flash.flash_1_traffic(2048, head_dim, least - 1)) >= standard
        line = next(line for line in axes.lines if line.get_label() == "FlashAttention-2")
        x, y = line.get_data()
        assert [round(1e6 * n) for n in y] == [
            sum(flash.flash_2_traffic(2048, head_dim, tile)) for tile in x
        ]


def test_no_crossover_no_words():
    never = flash_figures.traffic_by_tile(*COUNTS, 2, (64,))
    assert set(words(never.axes[0])) == {"standard", "FlashAttention", "FlashAttention-2"}


def test_traffic_by_length_takes_the_tiles_it_is_given():
    figure = flash_figures.traffic_by_length(*COUNTS, flash.tile_sizes)
    first, second, _ = figure.axes
    assert "tiles: 64 rows of Q, 64 of K" in first.get_xlabel()
    assert words(second)[0] == "FlashAttention: 3.01 ×"


def test_back_ends_are_drawn_with_their_floors():
    time, back, peak = flash_figures.back_ends(record(), COUNTS[0], COUNTS[2]).axes
    labels = [line.get_label() for line in time.lines]
    assert set(BACK_ENDS) < set(labels)
    assert {"products", "scores moved", "tiles moved"} < set(labels)
    assert OUT_OF_MEMORY in words(time)
    named = {name for label in words(time) for name in re.split(r",\s", label)}
    assert named == {*BACK_ENDS, "products", "scores moved", "tiles moved", OUT_OF_MEMORY}
    plain = next(line for line in back.lines if line.get_label() == "plain")
    assert list(plain.get_ydata()) == [float(n) for n in LENGTHS]
    plain = next(line for line in peak.lines if line.get_label() == "plain")
    assert list(plain.get_ydata()) == [n / 1000 for n in LENGTHS]


def test_what_a_record_has_is_enough():
    bare = record(has_machine=False)
    assert png_bytes(flash_figures.back_ends(bare)).startswith(b"\x89PNG")
    drawn = flash_figures.figures_of({"a": record()})
    assert list(drawn) == ["a-back-ends"] and drawn["a-back-ends"]().axes
    assert flash_figures.figures_of({"none": Record(HERE, ())}) == {}
    for show in (flash_figures.back_ends, flash_tables.back_ends_table):
        assert "no rows of the experiment sdpa: measure it" in str(show(Record(HERE, ())))


def test_the_tables_have_every_point():
    every = flash_tables.back_ends_table(record(), COUNTS[0], COUNTS[2])
    assert [len(table.rows) for table in every] == [len(LENGTHS)] * 6
    assert [table.is_folded for table in every] == [False] * 3 + [True] * 3
    times, peaks, bounds, *others = every
    assert [line[-1] for line in peaks.lines] == ["0.5", "1.0", "2.0"]
    assert OUT_OF_MEMORY in times.lines[-1]
    assert OUT_OF_MEMORY in others[0].lines[-1]
    assert list(others[2].headings) == ["", "N", "products"]
    moved_ms = 1e3 * 4 * 4 * sum(flash.standard_traffic(512, 64)) / 1e9
    assert bounds.lines[0][bounds.headings.index("scores moved")] == f"{moved_ms:.3g}"
    bare = flash_tables.back_ends_table(record(has_machine=False), COUNTS[0], COUNTS[2])
    assert len(bare) == 4


def test_every_card_of_the_facts_has_its_gain():
    standard, flash_1 = (COUNTS[0], flash.standard_flops), (COUNTS[1], flash_flops)
    table = flash_tables.cards_table(flash.tile_sizes, standard, flash_1, flash.run_times)
    assert {line[0] for line in table.lines} == set(gpus())
    assert table.lines[0] == ["T4", "64", "float32", "64", "1.16", "1.31"]
    in_float32 = next(line for line in table.lines if line[0] == "A100-SXM-80GB")
    assert in_float32[-1] == "1.00"  # computing takes longer than all that is moved


def test_the_papers_measurement_stands_beside_our_count():
    table = flash_tables.gpt2_table(*COUNTS[:2])
    assert table.is_folded
    assert [line[-1] for line in table.lines] == ["40.3", "25.23", "4.4", "5.69", "4.61", "3.52"]


def test_one_query_by_the_tokens_of_its_cache_and_the_parts():
    machine = {"bandwidth": 1e12, "peak": 1e12, "memory_bytes": 1e9}
    rows = [Row("roofline", "cpu", 1, 0, 0, False, outcome="counted", counts=machine)]
    for n_tokens in (4096, 1024):
        for name, parts in (("pytorch", ""), ("labkit", "1 part"), ("labkit", "8 parts")):
            key = ("decode_split", name, 1, n_tokens, 1, True)
            counts = {"cache_bytes": 4096 * n_tokens}
            time_s = () if (n_tokens, parts) == (4096, "1 part") else (n_tokens * 1e-8,)
            outcome = "ok" if time_s else OUT_OF_MEMORY
            counts = counts if time_s else {}
            rows.append(Row(*key, time_s, outcome=outcome, setting=parts, counts=counts))
    table = flash_tables.decode_table(Record(HERE, tuple(rows)))
    assert list(table.headings) == ["tokens", "cache moved", "pytorch", "1 part", "8 parts"]
    assert table.lines == [
        ["1,024", "4.2", "10.2", "10.2", "10.2"],
        ["4,096", "16.8", "41.0", OUT_OF_MEMORY, "41.0"],
    ]
    without = flash_tables.decode_table(Record(HERE, tuple(rows[1:])))
    assert without.lines[0][1] == "-"
    assert "no rows of the experiment decode_split" in str(flash_tables.decode_table(record()))
