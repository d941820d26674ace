"""Cohen's kappa on pairs of marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.desk.agreement import agreement_of

POINTS = st.sampled_from([0.0, 0.25, 0.5, 1.0])


def test_cohens_own_kind_of_example():
    """Two people, 50 answers: 20 both yes, 15 both no, 5 and 10 differ."""
    pairs = [(1.0, 1.0)] * 20 + [(1.0, 0.0)] * 5 + [(0.0, 1.0)] * 10 + [(0.0, 0.0)] * 15
    found = agreement_of(pairs)
    assert (found.n, found.same, found.difference) == (50, 0.7, 0.3)
    assert found.kappa == pytest.approx(0.4)


@given(st.lists(st.tuples(POINTS, POINTS), min_size=1))
def test_kappa_is_symmetric_and_one_only_for_full_agreement(pairs):
    found = agreement_of(pairs)
    swapped = agreement_of([(second, first) for first, second in pairs])
    assert found.kappa == pytest.approx(swapped.kappa)
    if found.kappa is None:
        assert len(set(pairs)) == 1
    else:
        assert found.kappa <= 1
        assert (found.kappa == pytest.approx(1)) == (found.same == 1)
