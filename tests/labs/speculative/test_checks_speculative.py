"""The checks of `verify`: faults are named, and samples judge what cannot be followed."""

from __future__ import annotations

import math

import pytest

from labkit.bridge.local import local_student
from labkit.checks.core import checks_of, open_cases_of, play_check
from labkit.labs.speculative.checks.law import Claim, found_law

FRAME = """
import secrets
import torch
from labkit.models.arguments import check_rows
from labkit.models.sampling import sample
from labkit.speculative import residual

{helpers}

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    uniforms = torch.rand(len(drafted))
    for i, token in enumerate(drafted):
        p, q = target_probs[i], draft_probs[i]
        if not {test}:
            return i, draw({after})
    return len(drafted), draw(target_probs[-1])
"""
UNSEEN = """
def uniform():
    return secrets.randbelow(1 << 53) / (1 << 53)

def draw(probs):
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
        (f"uniforms[i] < {RATIO}", "(p - q).abs()", "what the target has less counts as 0"),
        (f"uniforms[0] < {RATIO}", "residual(p, q)", "draw one for each token"),
        ("uniforms[i] < p[token]", "residual(p, q)", "the target's probability alone"),
    ],
)
def test_the_fault_is_named(test, after, sentence):
    messages = failed(SEEN, test, after)
    assert len([text for text in messages.values() if sentence in text]) == 1
    assert len(messages) <= 2


@pytest.mark.parametrize(
    ("helpers", "test"),
    [
        (UNSEEN, f"uniform() < {RATIO}"),
        (SEEN, f"0.5 * (1 + torch.erf(torch.randn(1) / 2**0.5)) < {RATIO}"),
    ],
)
def test_what_cannot_be_followed_is_judged_by_samples(helpers, test):
    """A false alarm has a chance of less than one in a million."""
    assert failed(helpers, test) == {}
    messages = failed(helpers, test, after="p")
    assert set(messages) == {
        "a_rejected_token_is_replaced_by_the_residual",
        "what_the_target_excludes_never_comes",
    } or set(messages) == {"a_rejected_token_is_replaced_by_the_residual"}
    text = messages["a_rejected_token_is_replaced_by_the_residual"]
    assert "samples" in text and "That is the target alone" in text


def test_the_sentence_says_which_number_cannot_be_followed():
    messages = failed(SEEN, "torch.randn(1).abs() < p[token] / q[token]")
    assert "cannot be followed: randn" in " ".join(messages.values())


def test_too_many_ways_are_sampled():
    def play(source):
        if source is None:
            return (1,)
        return (sum(source.choose([1.0, 1.0]) for _ in range(12)),)

    found = found_law(play, n_samples=7)
    assert found.weights == {(1,): 7} and "more than 2,000 ways" in found.cannot


def test_shares_are_of_all_that_was_found():
    found = found_law(lambda source: (source.choose([1.0, 3.0]), source.choose([1.0, 1.0])))
    assert found.share(lambda outcome: outcome[0] == 1) == pytest.approx(0.75)
    law = found.law(lambda outcome: outcome[1:], lambda outcome: outcome[0] == 0)
    assert math.fsum(law.values()) == pytest.approx(0.25)
    Claim("the probability of {}", {(0,): 0.5, (1,): 0.5}).expect(law)
