"""Checks of `autoregressive`: each token has the target's distribution. And refusals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusal
from labkit.labs.speculative.checks.calling import call
from labkit.labs.speculative.checks.cases import NO_EOS, SamplingCase, cut_text, n_alike
from labkit.labs.speculative.checks.law import Unfollowed
from labkit.labs.speculative.checks.models import Call, OfferedModel, Tape, circle, generic
from labkit.labs.speculative.checks.runs import (
    SamplerRun,
    every_run,
    expect_law,
    expect_rng_decides,
    forgotten_rewind,
    run_of,
    tokens_in,
)
from labkit.labs.speculative.checks.seen import pair_of


@dataclass(frozen=True, slots=True)
class RefusalCase:
    """Arguments that make no sense, in place of those that do.

    cached: tokens that a model's cache holds already, by its name; draft_vocab: of the draft.
    """

    name: str
    changes: tuple[tuple[str, Any], ...] = ()
    cached: tuple[tuple[str, int], ...] = ()
    draft_vocab: int = 5
    prompt: tuple[int, ...] = (1, 2)

    def __str__(self) -> str:
        return self.name


def is_refusal(case: Any) -> bool:
    """Whether a case is to be refused."""
    return isinstance(case, RefusalCase)


def worked_run(student: Student, case: SamplingCase) -> SamplerRun:
    """The one run of a case, where all tokens wanted were made and the target was asked for them.

    Whether they are the right ones is for other checks to say.
    """
    run = run_of(student, case)
    expect_worked(run, case)
    return run


def expect_worked(run: SamplerRun, case: SamplingCase) -> None:
    """As in `worked_run`."""
    if run.new[: len(case.prompt)] == [*case.prompt] and len(run.new) > case.n_new:
        raise Wrong("the result", expected="the new tokens", got="the prompt as well")
    if len(run.new) < case.n_new:
        raise Wrong("the number of new tokens", expected=str(case.n_new), got=str(len(run.new)))
    text = (*case.prompt, *run.new)
    longest = max((n_alike(c.text, text) for c in run.calls if c.model == "target"), default=0)
    if longest < case.end - 1:
        raise Wrong(
            "how far the target's tokens are the text",
            expected=f"up to token {case.end - 1}, the one before the last",
            got=f"up to token {longest}",
            why="Then the cached tokens and the fed ones are not the text.",
        )


def expect_fed_once(calls: Sequence[Call]) -> None:
    """No token is fed again at the same place of the same text."""
    seen: set[tuple] = set()
    for fed in calls:
        for length in range(len(fed.cached) + 1, len(fed.text) + 1):
            beginning = (fed.model, fed.text[:length])
            if beginning in seen:
                raise Wrong(
                    f"the {fed.model} is fed token {length} of the text twice",
                    why="Its cache had this token. Rewind only tokens that have left the text.",
                )
            seen.add(beginning)


def expect_one_call_for_the_prompt(model: str, n_calls: int) -> None:
    """At most one call that says nothing about the new tokens."""
    if n_calls > 1:
        why = "Feed several tokens in one call; it takes hardly longer than one token."
        raise Wrong(f"the {model}'s calls for the prompt", expected="1", got=str(n_calls), why=why)


def expect_in_time(case: SamplingCase, new: Sequence[int]) -> None:
    """n_new tokens, unless the end-of-text token comes, which is the last then."""
    if len(new) > case.n_new:
        raise Wrong("the number of new tokens", expected=f"{case.n_new} at most", got=str(len(new)))
    if case.eos in new[:-1]:
        raise Wrong(
            f"tokens after the end of the text ({case.eos})",
            expected="none",
            got=show(list(new)),
            why="It may come anywhere. Return no tokens after it.",
        )
    if len(new) < case.n_new and (not new or new[-1] != case.eos):
        is_sure = case.kind == "ends" and case.eos is not None
        raise Wrong(
            "the number of new tokens",
            expected=str(case.n_new),
            got=f"{len(new)}, and the last one is not the end-of-text token",
            why=NO_EOS * (is_sure and [*new, case.eos] == cut_text(case)),
        )


def expect_all_in_time(student: Student, case: SamplingCase) -> None:
    """As `expect_in_time`, for every outcome of chance."""
    try:
        runs = [run_of(student, case)] if case.kind == "ends" else every_run(student, case).runs
    except Unfollowed:
        runs = [run_of(student, case)]
    for run in runs:
        expect_in_time(case, run.new)


def expect_refused(student: Student, case: RefusalCase, sampler: str) -> None:
    """A ValueError for the case; and no error without what is wrong in it."""
    fine = RefusalCase("fine")
    new = student.once((sampler, "fine"), lambda: _called(student, fine, sampler))
    expect_equal(len(tokens_in(new, 100)), 3, "the number of new tokens, with nothing wrong")
    what = f"a call that should be refused ({case})"
    expect_refusal(lambda: _called(student, case, sampler), "ValueError", what)


def _called(student: Student, case: RefusalCase, sampler: str) -> Any:
    tape, cached = Tape(n_left=300), dict(case.cached)
    sizes = {"target": 5, "draft": case.draft_vocab}
    minds = {name: generic(size, 3) for name, size in sizes.items()}
    if sampler == "autoregressive":
        models = [OfferedModel("target", minds["target"], tape, [0] * cached.get("target", 0))]
    else:
        held = [cached.get(name, 0) for name in minds]
        models = pair_of(*minds.values(), tape, forgotten_rewind(student), held)
    models = [model.offer() for model in models]
    arguments = {"prompt": list(case.prompt), "n_new": 3}
    if sampler == "speculative":
        arguments["gamma"] = 2
    arguments |= dict(case.changes)
    asked = [arguments.pop(name) for name in ("prompt", "n_new", "gamma") if name in arguments]
    return call(student, sampler, *models, *asked, **arguments)


_plain = partial(check, "autoregressive", gate=True, parts=("distribution",))


@_plain("law", weight=2, hint="Draw the next token from the last row of the logits.")
def each_token_has_the_targets_law(student: Student, case: SamplingCase) -> None:
    """Each token has the target's distribution after all tokens before it."""
    expect_law(student, case)


@_plain("settings", hint="Pass temperature, top_k and top_p to `distribution`, also if one is 0.")
def temperature_top_k_and_top_p_count(student: Student, case: SamplingCase) -> None:
    """Each token is drawn with the given temperature, top-k and top-p."""
    expect_law(student, case)


@_plain(
    "law",
    "ends",
    hint="Stop after eos, and test with n_new = 0 and with eos as the first new token.",
)
def writing_ends_in_time(student: Student, case: SamplingCase) -> None:
    """The result has n_new tokens, or ends earlier with the end-of-text token."""
    expect_all_in_time(student, case)


@_plain("sure", "ends", hint="Feed only the tokens after those that `n_cached()` counts.")
def each_token_is_fed_once(student: Student, case: SamplingCase) -> None:
    """Each new token takes one call, which feeds only what the cache lacks."""
    if case.kind == "ends":
        run = run_of(student, case)
        text = (*case.prompt, *run.new)
        if case.eos in run.new[-1:] and any(fed.text == text for fed in run.calls):
            raise Wrong("the end-of-text token is fed", why="The last new token need not be fed.")
        return
    run = worked_run(student, case)
    expect_fed_once(run.calls)
    text = (*case.prompt, *run.new)
    for fed in run.calls:
        if fed.text != text[: len(fed.text)]:
            raise Wrong("what the target was fed", expected=show(text), got=show(fed.text))
    n_calls = sum(len(fed.text) >= len(case.prompt) for fed in run.calls)
    why = "The last new token need not be fed." if n_calls > case.n_new else ""
    expect_equal(n_calls, case.n_new, "the calls from which a new token is drawn", why=why)
    expect_one_call_for_the_prompt("target", len(run.calls) - n_calls)


@_plain("repeated", weight=0.5, hint="Pass rng to `sample`.", gate=False)
def rng_decides_about_each_token(student: Student, case: SamplingCase) -> None:
    """The same state of `rng` gives the same text, and another state another text."""
    expect_rng_decides(student, case)


@_plain(
    weight=0.5,
    hint="Call `check_start` and `check_sampling` at the start.",
    applies_to=is_refusal,
    gate=False,
)
def what_cannot_be_written_is_refused(student: Student, case: RefusalCase) -> None:
    """Arguments outside their range raise ValueError."""
    expect_refused(student, case, "autoregressive")


def _alone(name: str, look: str, prompt: tuple[int, ...], n_new: int, seed: int, **more: Any):
    return SamplingCase(name, look, generic(3, seed), prompt, n_new, settings=more)


ONE_TOKEN = (("prompt", [1]), ("n_new", 1))  # nothing is drafted then, but the draft is wrong
SENSELESS = [
    RefusalCase("n_new is -1", (("n_new", -1),)),
    RefusalCase("the prompt is empty", (("prompt", []),)),
    RefusalCase("the target's cache holds another text", cached=(("target", 1),)),
    RefusalCase("temperature is -1", (("temperature", -1.0),)),
    RefusalCase("top_k is 0", (("top_k", 0),)),
    RefusalCase("top_p is 0", (("top_p", 0.0),)),
]
OPEN_CASES = {
    "autoregressive": [
        _alone("random tables", "law", (1, 0), 3, 11),
        _alone("a text that may end early", "law", (2,), 3, 12, eos=1),
        _alone("settings", "settings", (0, 2), 2, 13, temperature=0.5, top_k=2),
        _alone("settings", "settings", (1, 2), 2, 17, temperature=1.6, top_p=0.7),
        _alone("greedy", "settings", (1, 2), 3, 15, temperature=0),
        SamplingCase("no token wanted", "ends", circle((0, 1, 2)), (1,), 0),
        SamplingCase("the end at once", "ends", circle((0, 1, 2)), (0,), 4, settings={"eos": 1}),
        SamplingCase("a circle of tokens", "sure", circle((3, 1, 4, 0, 2)), (1, 4, 0), 6),
        SamplingCase("one token as prompt", "sure", circle((3, 1, 4, 0, 2)), (2,), 3),
        _alone("rng", "repeated", (0, 1), 40, 16),
        *SENSELESS,
    ]
}
