"""Checks of `PrefillLoop`; the decode loop is ours."""

from functools import partial

from labkit.bridge.student import Student
from labkit.checks.core import check
from labkit.labs.batching.checks.loops import WORKLOADS, LoopCase, expect_rules

_rule = partial(check, "PrefillLoop")


@_rule(hint="Take a request out of the queue when it joins a batch, not before.")
def every_request_is_prefilled_once(student: Student, case: LoopCase) -> None:
    """Each request that can be served is in one prefill batch, and the run goes to its end."""
    expect_rules(student, case, "PrefillLoop", "prefilled once", "all is served")


@_rule(hint="`add_token` says whether the first token was also the last.")
def the_first_token_counts(student: Student, case: LoopCase) -> None:
    """A request whose first token is its last is finished at once; all others are saved."""
    expect_rules(student, case, "PrefillLoop", "first token counts")


@_rule(hint="Would it fit if it were alone: here, in the store, and for decode?")
def only_what_cannot_run_is_refused(student: Student, case: LoopCase) -> None:
    """What can never be served is refused with a reason, and nothing else is."""
    expect_rules(student, case, "PrefillLoop", "refused only what cannot run")


@_rule(hint="A batch takes (its longest prompt) x (its requests) of `free_tokens`.")
def prefill_memory_is_never_exceeded(student: Student, case: LoopCase) -> None:
    """What is held on the prefill server, padding included, fits its capacity."""
    expect_rules(student, case, "PrefillLoop", "prefill memory")


@_rule(hint="For each request of a batch: save it if need be, then free it, once.")
def caches_are_saved_then_freed_once(student: Student, case: LoopCase) -> None:
    """Each KV cache that will be needed is saved once; each is freed once, after that."""
    expect_rules(student, case, "PrefillLoop", "saved then freed once")


@_rule(hint="Compare with the shortest and with the longest of the batch.")
def prompts_of_a_batch_are_similar(student: Student, case: LoopCase) -> None:
    """The prompts of a batch differ by no more than `tolerance` tokens."""
    expect_rules(student, case, "PrefillLoop", "similar lengths")


@_rule(hint="Stop adding when the batch has `max_batch` requests.")
def prefill_batches_keep_their_size(student: Student, case: LoopCase) -> None:
    """No batch has more than `max_batch` requests."""
    expect_rules(student, case, "PrefillLoop", "prefill batch size")


@_rule(hint="Look past requests that do not match: others behind them may.")
def prefill_batches_are_filled(student: Student, case: LoopCase) -> None:
    """A waiting request as long as one of the batch is taken along if it fits."""
    expect_rules(student, case, "PrefillLoop", "batches are filled")


@_rule(hint="Who waits need not wait for more of its kind.")
def prefill_never_idles_beside_work(student: Student, case: LoopCase) -> None:
    """No call does nothing while whoever has waited longest fits, here and in the store."""
    expect_rules(student, case, "PrefillLoop", "no idle prefill")


@_rule(hint="The decode server can begin with them while you go on.")
def a_batch_is_sent_before_the_next(student: Student, case: LoopCase) -> None:
    """Whoever was computed is saved or finished before the next batch is computed."""
    expect_rules(student, case, "PrefillLoop", "sent before the next")


@_rule(hint="Start each batch with the oldest request that fits.")
def nobody_is_passed_over(student: Student, case: LoopCase) -> None:
    """Equal prompts go in order of arrival, and the oldest that fits waits for few batches."""
    expect_rules(student, case, "PrefillLoop", "nobody is passed over")


@_rule(hint="`storage_room()` must hold all prompts of the batch.")
def the_store_is_never_exceeded(student: Student, case: LoopCase) -> None:
    """What waits between the servers fits `storage`: prefill does not run ahead without limit."""
    expect_rules(student, case, "PrefillLoop", "storage")


OPEN_CASES = {"PrefillLoop": WORKLOADS}
