"""Rules of the scheduler of one card, each a check of `Scheduler`, in the order of its four stages.

What is wrong with a pass is a gate: a scheduler that exceeds a limit, loses a request or reads what
is not its own earns at most half. What only wastes (a pass that is not filled, reserved blocks, a
prefix computed again) costs its part.
"""

from collections.abc import Iterator
from functools import partial

from labkit.labs.batching.checks.loops import rule
from labkit.labs.batching.log import Event
from labkit.labs.batching.passes import CardState

Faults = Iterator[tuple[int | None, str]]

_rule = partial(rule, "Scheduler")


@_rule("budget", "pass", hint="Subtract the tokens of each piece from the budget.", weight=2,
       gate=True)  # fmt: skip
def no_pass_exceeds_the_budget(event: Event, state: CardState) -> Faults:
    """No pass has more tokens than the budget."""
    if event.tokens > state.run.setup.budget:
        most = state.run.setup.budget
        yield None, f"a pass has {event.tokens} tokens, and the budget is {most}"


@_rule("slots", "pass", hint="At most `max_batch` requests run at one time.", gate=True)
def no_more_run_than_slots(event: Event, state: CardState) -> Faults:
    """No more than max_batch requests run."""
    n_running, most = len({*state.running, *event.ids}), state.run.setup.decode_batch
    if n_running > most:
        yield None, f"{n_running} requests run, and there are {most} slots"


@_rule("running first", "pass", hint="Give each running request its token before any prompt.",
       weight=2, gate=True)  # fmt: skip
def running_requests_come_first(event: Event, state: CardState) -> Faults:
    """No piece of a prompt is in a pass that leaves out a request which waits for one token."""
    left_out = [i for i in state.running if i not in event.ids and state.n_due(i) == 1]
    prompts = [piece for piece in event.pieces if state.n_known(piece.id) - piece.start > 1]
    has_room = event.tokens < state.run.setup.budget
    if left_out and (prompts or has_room):
        other = f"a piece of request {prompts[0].id} is computed" if prompts else "budget is left"
        yield left_out[0], f"{other}, and running request {left_out[0]} gets no token"


@_rule("order", "pass", hint="Take the request at the front of the queue, and no other.", gate=True)
def requests_begin_in_order(event: Event, state: CardState) -> Faults:
    """Requests begin in the order of their arrival, also those that were preempted."""
    for i in event.ids:
        older = [j for j in state.waiting if state.order[j] < state.order[i]]
        passed = [j for j in older if j not in event.ids]
        if i in state.waiting and passed:
            text = f"request {i} begins before request {passed[0]}, which came before it"
            is_newest = state.order[i] == max(map(state.order.get, state.waiting))
            yield passed[0], text + ("; it is the newest that waits" if is_newest else "")


@_rule("ends where it should", "pass, finish",
       hint="Ask `state` after `add_token`, and finish what is done in the same call.",
       weight=2, gate=True)  # fmt: skip
def answers_end_where_they_should(event: Event, state: CardState) -> Faults:
    """A request is finished once, with its last token, before the next pass."""
    for i in event.ids if event.what == "finish" else ():
        n_made, n_output = state.n_made[i], state.n_output(i)
        if i in state.finished:
            yield i, f"request {i} is finished a second time"
        elif n_made < n_output:
            yield i, f"request {i} is finished with {n_made} tokens, but has to get {n_output}"
    for i in state.running if event.what == "pass" else ():
        if state.n_made[i] >= state.n_output(i):
            yield i, f"request {i} has all its tokens, and a pass starts before it is finished"
    for i in event.ids if event.what == "pass" else ():
        if i in state.finished:
            yield i, f"request {i} is in a pass after it was finished"


@_rule("refused", "refuse, pass, end",
       hint="Compare `size` with all blocks, and `limit` with 1.", gate=True)  # fmt: skip
def only_the_impossible_is_refused(event: Event, state: CardState) -> Faults:
    """A request is refused exactly if the empty card could not serve it."""
    setup, jobs = state.run.setup, state.run.jobs
    for i in event.ids if event.what == "refuse" else ():
        if not setup.refuses_on_card(jobs[i]):
            n = jobs[i].size(setup.max_length)
            has = f"{setup.n_blocks} blocks of {setup.block_size} tokens"
            yield i, f"request {i} is refused; it needs {n} tokens at most, and there are {has}"
    for i in event.ids if event.what == "pass" else ():
        if why := setup.refuses_on_card(jobs[i]):
            yield i, f"request {i} is in a pass, though it had to be refused: {why}"
    if event.what == "end":
        left = (i for i in state.waiting if setup.refuses_on_card(jobs[i]))
        for i in left:
            yield i, f"request {i} is not refused: {setup.refuses_on_card(jobs[i])}"


@_rule("all are served", "end", hint="Put a preempted request back into the queue.", weight=2,
       gate=True)  # fmt: skip
def every_request_is_served(event: Event, state: CardState) -> Faults:
    """At the end every request that can be served has been finished."""
    for i, job in state.run.jobs.items():
        gone = i in state.finished or i in state.refused
        if not gone and not state.run.setup.refuses_on_card(job):
            yield i, f"request {i} has {state.n_made[i]} of {state.n_output(i)} tokens"


@_rule("no idling", "step", hint="Call `run_pass` whenever a request runs or could begin.",
       weight=2, gate=True)  # fmt: skip
def no_call_does_nothing_beside_work(event: Event, state: CardState) -> Faults:
    """A call runs a pass if a request runs, or if the oldest can begin."""
    if state.follows not in ("step", "ready"):
        return
    if state.running:
        yield next(iter(state.running)), f"the call does nothing, and {len(state.running)} run"
    elif (i := _can_begin(state, {*()}, state.n_free())) is not None:
        yield i, f"the call does nothing; request {i} waits, and all its blocks are free"


def _can_begin(
    state: CardState, in_pass: set[int], n_free: int, reserves: bool = False
) -> int | None:
    """The oldest that waits, if there are a slot and blocks for it, and one for each that runs.

    reserves: blocks for all that it may become, not for its known tokens.
    """
    oldest = next((i for i in state.waiting if i not in in_pass), None)
    running = {*state.running, *in_pass}
    if oldest is None or state.run.setup.refuses_on_card(state.run.jobs[oldest]):
        return None
    n_tokens = state.n_known(oldest) + 1
    if reserves:
        n_tokens = state.run.jobs[oldest].size(state.run.setup.max_length)
    n_needed = state.n_blocks_for(n_tokens) + len(running)
    is_room = len(running) < state.run.setup.decode_batch and n_needed <= n_free
    alone = not running and not in_pass
    return oldest if is_room or (alone and state.run.setup.decode_batch) else None


def _after(event: Event, state: CardState) -> tuple[dict[int, int], dict[int, int], int]:
    """After a pass: the cached tokens and blocks of each that runs, and the free blocks."""
    tables = {i: each.blocks for i, each in state.running.items()}
    tables |= {piece.id: piece.blocks for piece in event.pieces}
    ends = {i: each.n_cached for i, each in state.running.items()}
    ends |= {piece.id: piece.start + piece.n for piece in event.pieces}
    taken = {block for each in tables.values() for block in each}
    return ends, {i: len(each) for i, each in tables.items()}, state.run.setup.n_blocks - len(taken)


def _is_late(event: Event, state: CardState, i: int) -> bool:
    """Whether a request could have begun in this pass, with its whole prompt and all its blocks."""
    left = state.run.setup.budget - event.tokens
    first = _can_begin(state, {*event.ids}, _after(event, state)[2], reserves=True)
    return i == first and state.n_known(i) <= left and not state.n_preempted


@_rule("joins", "pass", hint="Let the oldest begin while others run, in the next pass.", weight=3,
       gate=True)  # fmt: skip
def who_fits_begins_in_the_next_pass(event: Event, state: CardState) -> Faults:
    """The oldest begins as soon as slot, budget and blocks allow its whole prompt."""
    i = next((i for i in state.waiting if i not in event.ids), None)
    if i is not None and _is_late(event, state, i):
        left = state.run.setup.budget - event.tokens
        what = f"request {i} waits, with {state.n_known(i)} tokens to compute"
        yield i, f"{what}; the pass has room for {left}, and there are a slot and blocks"


@_rule("filled", "pass", weight=9,
       hint="Cut a prompt to what is left of the budget, and begin the next one in what remains.",
       )  # fmt: skip
def passes_are_filled(event: Event, state: CardState) -> Faults:
    """A pass leaves budget only if no more tokens of a prompt could be in it."""
    left, size = state.run.setup.budget - event.tokens, state.run.setup.block_size
    if left <= 0 or state.n_preempted:
        return
    ends, n_blocks, n_free = _after(event, state)
    for i, end in ends.items():
        has_room = n_free > len(ends) or n_blocks[i] * size > end
        if end < state.n_known(i) and has_room:
            n_due = state.n_known(i) - end
            yield i, f"{left} tokens of the budget are left, and request {i} has {n_due} to compute"
    i = _can_begin(state, {*event.ids}, n_free)
    if i is not None and not _is_late(event, state, i):
        yield i, f"{left} tokens of the budget are left; request {i} waits, and could begin"


@_rule("blocks cover tokens", "pass", hint="Take a block for each `block_size` tokens, rounded up.",
       weight=2, gate=True)  # fmt: skip
def blocks_cover_the_tokens(event: Event, state: CardState) -> Faults:
    """A piece has blocks for all positions up to its end."""
    for piece in event.pieces:
        n_needed = state.n_blocks_for(piece.start + piece.n)
        if len(piece.blocks) < n_needed:
            what = f"request {piece.id} has {len(piece.blocks)} blocks"
            yield piece.id, f"{what}, and needs {n_needed} for {piece.start + piece.n} tokens"


@_rule("blocks grow", "pass", weight=9,
       hint="Take blocks for the piece that comes next, not for the longest possible answer.",
       )  # fmt: skip
def blocks_are_taken_as_answers_grow(event: Event, state: CardState) -> Faults:
    """A request has at most one block more than its tokens need."""
    for piece in event.pieces:
        n_needed = state.n_blocks_for(state.n_known(piece.id))
        if len(piece.blocks) > n_needed + 1:
            what = f"request {piece.id} has {len(piece.blocks)} blocks"
            yield piece.id, f"{what}, and its {state.n_known(piece.id)} tokens need {n_needed}"


@_rule("preempts if it must", "preempt", hint="Preempt only when a running request finds no block.",
       gate=True)  # fmt: skip
def preempts_only_without_blocks(event: Event, state: CardState) -> Faults:
    """A request is preempted only if running requests need more blocks than are free."""
    i = event.ids[0]
    if i not in state.running:
        yield i, f"request {i} is preempted, and does not run"
    elif state.n_free() >= state.n_wanted():
        what = f"{state.n_free()} blocks are free, and running requests need {state.n_wanted()}"
        yield i, f"request {i} is preempted, though {what}"


@_rule("preempts the newest", "preempt", hint="Take the last of the running requests.", weight=2,
       gate=True)  # fmt: skip
def the_newest_is_preempted(event: Event, state: CardState) -> Faults:
    """The request that is preempted is the one that began last."""
    i = event.ids[0]
    newest = (
        {[*state.running][-1], max(state.running, key=state.order.get)} if state.running else ()
    )
    if i in state.running and i not in newest:
        yield i, f"request {i} is preempted, and request {[*state.running][-1]} began after it"


@_rule("goes on", "pass", hint="The next piece begins where the last one ended.", weight=2,
       gate=True)  # fmt: skip
def pieces_follow_each_other(event: Event, state: CardState) -> Faults:
    """A running request goes on where its last piece ended."""
    for piece in event.pieces:
        each = state.running.get(piece.id)
        if each is not None and piece.start != each.n_cached:
            what = f"request {piece.id} has {each.n_cached} tokens cached"
            yield piece.id, f"{what}, and its piece begins at position {piece.start}"


@_rule("reads its own", "pass",
       hint="A block keeps its hash until another request takes it. Share only what is computed.",
       weight=2, gate=True)  # fmt: skip
def pieces_read_their_own_tokens(event: Event, state: CardState) -> Faults:
    """Before a piece, its blocks hold the request's own tokens, from earlier passes."""
    for piece in event.pieces:
        each = state.running.get(piece.id)
        goes_on = each is None or piece.start == each.n_cached
        at = state.not_there(piece) if goes_on else None
        if at is not None and at // state.run.setup.block_size < len(piece.blocks):
            block = piece.blocks[at // state.run.setup.block_size]
            what = f"request {piece.id} reads position {at} in block {block}"
            yield piece.id, f"{what}, where it is not"


@_rule("writes alone", "pass", hint="Write only into blocks that no other request uses.", weight=2,
       gate=True)  # fmt: skip
def nobody_writes_into_a_shared_block(event: Event, state: CardState) -> Faults:
    """No piece writes into a block that another running request has, or has a block twice."""
    tables = {i: each.blocks for i, each in state.running.items()}
    tables |= {piece.id: piece.blocks for piece in event.pieces}
    users: dict[int, list[int]] = {}
    for i, blocks in tables.items():
        for block in {*blocks}:
            users.setdefault(block, []).append(i)
    for piece in event.pieces:
        if len({*piece.blocks}) < len(piece.blocks):
            yield piece.id, f"request {piece.id} has a block twice: {[*piece.blocks]}"
        for block in state.written(piece):
            others = [i for i in users[block] if i != piece.id]
            if others:
                what = f"request {piece.id} writes into block {block}"
                yield piece.id, f"{what}, which request {others[0]} has as well"


@_rule("prefix hits", "pass", weight=10,
       hint="Look for each hash in order. Blocks without a user keep what they hold.",
       )  # fmt: skip
def known_prefixes_are_not_computed_again(event: Event, state: CardState) -> Faults:
    """A request that begins uses the full blocks of its prompt that the card still holds."""
    size = state.run.setup.block_size
    takes = {piece.id: {*piece.blocks[piece.start // size :]} for piece in event.pieces}
    for piece in event.pieces:
        taken = {block for i, blocks in takes.items() if i != piece.id for block in blocks}
        n_hits = state.n_hits(piece.id, taken) if piece.id not in state.running else 0
        n = n_hits * size
        if piece.start < n:
            what = f"request {piece.id} begins at position {piece.start}"
            key = "hash", state.run.jobs[piece.id].hashes[piece.start // size]
            used = {block for each in state.running.values() for block in each.blocks}
            whose = "a running request has" if state.full[key] & used else "nobody uses"
            text = f"{what}, and blocks of the card hold its first {n} tokens"
            yield piece.id, f"{text}: the next of them is one that {whose}"
