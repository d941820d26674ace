"""Sentences of lab 2 on how a measured number grows or falls: they fit the records."""

from itertools import pairwise

import pytest
from trends import rows_by, stands_in


def _grows_from_128():
    rows = rows_by("throughput-cpu", "input_sweep", "n_input")
    times_s = [row.time_s for n, row in sorted(rows.items()) if n >= 128]
    return len(times_s) >= 3 and all(a < b for a, b in pairwise(times_s))


def _throughput_hardly_rises():
    rate = {
        n: r.tokens_per_s for n, r in rows_by("throughput-cpu", "output_sweep", "n_new").items()
    }
    return rate[64] > 3 * rate[1] and 1 < rate[256] / rate[64] < 1.25


def _in_proportion_to_the_batch():
    rows = rows_by("throughput-cpu", "forward_by_batch", "batch_size")
    return all(0.75 < rows[n].time_s / rows[1].time_s / n < 1.25 for n in rows)


TRENDS = [
    ("From 128 tokens on the time grows.", _grows_from_128),
    ("Then it hardly rises:", _throughput_hardly_rises),
    ("It grows in proportion from the start", _in_proportion_to_the_batch),
]


@pytest.mark.parametrize(("sentence", "holds"), TRENDS, ids=[each[0] for each in TRENDS])
def test_a_trend_in_the_prose_is_one_of_the_records(sentence, holds):
    assert stands_in("02_throughput", sentence)
    assert holds()
