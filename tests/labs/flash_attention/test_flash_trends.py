"""Sentences of lab 7 on how a measured number grows or falls: they fit the records."""

import pytest
from trends import RECORDS, stands_in


def _quadratic_in_the_length():
    for name in ("math", "flash"):
        times = {
            row.n_input: row.time_s
            for row in RECORDS["flash-h200"].of("sdpa", name)
            if row.is_ok and row.setting == "D 64"
        }
        if not 3 < times[16384] / times[8192] < 5:
            return False
    return True


TRENDS = [
    ("Both times grow with N²", _quadratic_in_the_length),
]


@pytest.mark.parametrize(("sentence", "holds"), TRENDS, ids=[each[0] for each in TRENDS])
def test_a_trend_in_the_prose_is_one_of_the_records(sentence, holds):
    assert stands_in("07_flash_attention", sentence)
    assert holds()
