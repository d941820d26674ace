"""Sentences of lab 7 on how a measured number grows or falls: they fit the records."""

import pytest
from trends import RECORDS, stands_in

from labkit.flash_attention import flash_2_traffic, standard_traffic
from labkit.labs.flash_attention.records import floors_ms, points


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


@pytest.mark.parametrize(
    ("sentence", "setting", "bound"),
    [
        ("That takes {:.2f} ms at the full bandwidth", "D 64", "scores moved"),
        ("need {:.2f} ms of moving and the products 1.40 ms", "D 64", "tiles moved"),
        ("(moving 2.07, products {:.2f})", "D 64", "products"),
        ("the products alone need {:.2f} ms", "D 128", "products"),
        ('"tiles moved" would be {:.2f} ms', "D 128", "tiles moved"),
    ],
)
def test_a_bound_in_the_model_answer_is_the_one_of_the_table(sentence, setting, bound):
    record = RECORDS["flash-h200"]
    point = next(each for each in points(record) if str(each) == setting)
    floors = floors_ms(record, point, 16384, standard_traffic, flash_2_traffic)
    assert stands_in("07_flash_attention", sentence.format(floors[bound]))
