"""What is said of two values that differ: never the same words for both."""

import pytest
import torch

from labkit.checks import compare, tensors
from labkit.checks.core import Wrong

NAN = float("nan")


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (torch.tensor([[1, 2, 3]]), torch.tensor([[1, 2, 4]])),
        (torch.arange(1000), torch.arange(1000) + (torch.arange(1000) == 777)),
        ([0, -1, -1], torch.tensor([0, 0, 0])),
        (list(range(500)), [*range(499), 7]),
        (3, 3.0000001),
        (1, True),
        (NAN, NAN),
    ],
)
def test_what_differs_is_told_in_different_words(expected, got):
    with pytest.raises(Wrong) as caught:
        compare.expect_equal(got, expected, "the answer")
    assert caught.value.expected != caught.value.got
    assert "tensor" not in caught.value.sentences()


def test_the_first_item_that_differs_in_a_long_list_is_shown():
    got = torch.arange(1000) + (torch.arange(1000) == 777)
    with pytest.raises(Wrong) as caught:
        compare.expect_equal(got, torch.arange(1000), "the answer")
    assert caught.value.sentences() == (
        "the answer; expected 777, got 778; first difference at index [777]."
    )


@pytest.mark.parametrize(("expected", "got"), [(1.0, 1.0 + 1e-8), (NAN, NAN), (2.0, NAN)])
def test_numbers_that_look_alike_are_shown_with_more_digits(expected, got):
    with pytest.raises(Wrong) as caught:
        compare.expect_number(got, expected, "the answer")
    assert caught.value.expected != caught.value.got
    pair = torch.tensor(expected), torch.tensor(got, dtype=torch.float64)
    with pytest.raises(Wrong) as caught:
        tensors.expect_tensor(pair[1], pair[0], "the answer", tolerance=1e-9)
    assert caught.value.expected != caught.value.got
