"""The checks of `verify`: faults are named, and what cannot be followed is refused."""

from __future__ import annotations

import math

import pytest

import labkit.speculative
from labkit.bridge.local import local_student
from labkit.checks.core import checks_of, open_cases_of, play_check, share_of_points
from labkit.labs.speculative.checks.law import Claim, Unfollowed, found_law

FRAME = """
import secrets
import torch
from labkit.models.arguments import check_rows
from labkit.models.sampling import sample
from labkit.speculative import residual

{helpers}

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    uniforms = torch.rand(len(drafted), generator=rng)
    for i, token in enumerate(drafted):
        p, q = target_probs[i], draft_probs[i]
        if not {test}:
            return i, draw({after}, rng)
    return len(drafted), draw(target_probs[-1], rng)
"""
UNSEEN = """
def uniform():
    return secrets.randbelow(1 << 53) / (1 << 53)

def draw(probs, rng):
    left = uniform() * float(probs.sum())
    shares = probs.tolist()
    for token, share in enumerate(shares):
        if left < share:
            return token
        left -= share
    return shares.index(max(shares))
"""
SEEN = "draw = sample"
RATIO = "p[token] / q[token]"


def failed(helpers, test, after="residual(p, q)"):
    namespace = {}
    exec(FRAME.format(helpers=helpers, test=test, after=after), namespace)
    student, cases = local_student(namespace), open_cases_of("speculative")["verify"]
    findings = [play_check(one, student, cases) for one in checks_of("speculative")["verify"]]
    return {finding.check.name: finding.message for finding in findings if not finding.passed}


@pytest.mark.parametrize(
    ("test", "after", "sentence"),
    [
        (f"uniforms[i] < {RATIO}", "p", "That is the target alone"),
        (f"uniforms[i] < {RATIO}", "(p - q).abs()", "Negative differences count as 0"),
        (f"uniforms[0] < {RATIO}", "residual(p, q)", "draw one for each token"),
        ("uniforms[i] < p[token]", "residual(p, q)", "the target's probability alone"),
    ],
)
def test_the_fault_is_named(test, after, sentence):
    messages = failed(SEEN, test, after)
    assert len([text for text in messages.values() if sentence in text]) == 1
    assert len(messages) <= 2


@pytest.mark.parametrize(
    ("helpers", "test", "sentence"),
    [
        (UNSEEN, f"uniform() < {RATIO}", "no random number of torch, numpy or `random` is drawn"),
        (SEEN, f"0.5 * (1 + torch.erf(torch.randn(1) / 2**0.5)) < {RATIO}", "randn"),
        (SEEN, f"(torch.manual_seed(1), uniforms[i] < {RATIO})[1]", "`torch.manual_seed` is"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_a_sentence(helpers, test, sentence):
    message = failed(helpers, test)["a_token_is_kept_by_the_ratio"]
    assert sentence in message and ("Draw with" in message or "Draw from `rng`" in message)


def test_a_stolen_part_is_no_fault_of_verify():
    """With hidden cases the right residual stands in where the student's own is wrong."""
    namespace = {}
    exec(
        FRAME.format(helpers=SEEN, test=f"uniforms[i] < {RATIO}", after="residual(p, q)"), namespace
    )
    namespace["residual"] = lambda p, q: p
    one = checks_of("speculative")["verify"][2]
    case = next(each for each in open_cases_of("speculative")["verify"] if one.applies_to(each))
    assert "That is the target alone" in play_check(one, local_student(namespace), [case]).message
    judged = play_check(one, local_student(namespace), [case], right=labkit.speculative)
    assert judged.passed and namespace["residual"](1, 2) == 1


def test_the_sentence_says_which_number_cannot_be_followed():
    messages = failed(SEEN, "torch.randn(1).abs() < p[token] / q[token]")
    assert "cannot be followed: randn" in " ".join(messages.values())


def test_too_many_ways_are_refused():
    with pytest.raises(Unfollowed, match="can fall in too many ways"):
        found_law(lambda source: (sum(source.choose([1.0, 1.0]) for _ in range(12)),))


BY_REJECTION = """
def draw(probs, rng):
    while True:
        x = int(torch.randint(len(probs), (), generator=rng))
        if torch.rand((), generator=rng) * probs.max() < probs[x]:
            return x
"""


def test_a_right_sampler_without_a_bound_costs_nothing_and_goes_to_a_person():
    namespace = {}
    exec(FRAME.format(helpers=BY_REJECTION, test=f"uniforms[i] < {RATIO}",
                      after="residual(p, q)"), namespace)  # fmt: skip
    student, cases = local_student(namespace), open_cases_of("speculative")["verify"]
    found = [play_check(one, student, cases) for one in checks_of("speculative")["verify"]]
    assert {each.status for each in found} == {"passed", "undecided"}
    assert sum(share_of_points(found, 2.0)) == pytest.approx(2)
    reasons = {each.message for each in found if each.is_undecided}
    assert len(reasons) == 1 and "too many ways to follow. Draw with" in reasons.pop()


def test_shares_are_of_all_that_was_found():
    found = found_law(lambda source: (source.choose([1.0, 3.0]), source.choose([1.0, 1.0])))
    assert found.share(lambda outcome: outcome[0] == 1) == pytest.approx(0.75)
    law = found.of(lambda outcome: outcome[1:], lambda outcome: outcome[0] == 0)
    assert math.fsum(law.values()) == pytest.approx(0.25)
    Claim("the probability of {}", {(0,): 0.5, (1,): 0.5}).expect(law)
