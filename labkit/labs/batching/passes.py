"""The log of a card read again: who waits, who runs, and what each block holds, before each event.

A block holds the positions of one request, or of all that begin alike: a full block of a prompt
goes by its hash, any other by request and place.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from labkit.labs.batching.log import CARD, Event, Piece, Run
from labkit.labs.batching.workload import Job


@dataclass(slots=True)
class Running:
    """A request that has begun: the blocks of its last piece, and how many tokens are cached."""

    blocks: tuple[int, ...]
    n_cached: int


@dataclass(slots=True)
class CardState:
    """The state at a place in the log of a card. Dicts are by request.

    waiting: arrived and not running, oldest first, preempted ones as well. running: those that have
    begun, in this order. n_made: new tokens so far. holds: what each block has: whose, and how many
    positions; full: the full blocks, by what they have. lost: what was full and is
    overwritten, and not computed again since. n_preempted: in this call of the scheduler. follows:
    what the next event is, "step" at the end.
    """

    run: Run
    waiting: dict[int, Job] = field(default_factory=dict)
    running: dict[int, Running] = field(default_factory=dict)
    n_made: Counter[int] = field(default_factory=Counter)
    holds: dict[int, tuple[object, int]] = field(default_factory=dict)
    full: dict[object, set[int]] = field(default_factory=dict)
    lost: set = field(default_factory=set)
    finished: set[int] = field(default_factory=set)
    refused: dict[int, str] = field(default_factory=dict)
    n_preempted: int = 0
    follows: str = "step"
    order: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = {job.id: place for place, job in enumerate(self.run.arriving)}

    def n_output(self, i: int) -> int:
        """How many tokens a request must be given."""
        return self.run.jobs[i].n_output(self.run.setup.max_length)

    def n_known(self, i: int) -> int:
        """Tokens of its prompt, and those made so far."""
        return self.run.jobs[i].n_input + self.n_made[i]

    def n_due(self, i: int) -> int:
        """Tokens of a running request that are known and not cached."""
        return self.n_known(i) - self.running[i].n_cached

    def n_blocks_for(self, n_tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-n_tokens // self.run.setup.block_size)

    def n_free(self) -> int:
        """Blocks that no running request has."""
        taken = {block for each in self.running.values() for block in each.blocks}
        return self.run.setup.n_blocks - len(taken)

    def n_wanted(self) -> int:
        """Blocks that all running requests want for their next pieces, the largest possible."""
        wanted = 0
        for i, each in self.running.items():
            n = min(self.n_due(i), self.run.setup.budget)
            wanted += max(0, self.n_blocks_for(each.n_cached + n) - len(each.blocks))
        return wanted

    def key(self, i: int, k: int) -> object:
        """What the k-th block of a request is known by."""
        hashes = self.run.jobs[i].hashes
        return ("hash", hashes[k]) if k < len(hashes) else (i, k)

    def n_hits(self, i: int, taken: set[int]) -> int:
        """Blocks at a waiting request's beginning that the card certainly still holds.

        taken: those that others write in this pass, or will.
        """
        job, found = self.run.jobs[i], 0
        for each in job.hashes[: (self.n_known(i) - 1) // self.run.setup.block_size]:
            key = ("hash", each)
            copies = self.full.get(key)
            if not copies or key in self.lost or copies & taken:
                break
            found += 1
        return found

    def not_there(self, piece: Piece) -> int | None:
        """The first position before a piece that its blocks do not hold; None if all are there."""
        size = self.run.setup.block_size
        for k in range(self.n_blocks_for(piece.start)):
            block = piece.blocks[k] if k < len(piece.blocks) else None
            whose, n_held = self.holds.get(block, (None, 0))
            if whose != self.key(piece.id, k):
                return k * size
            if n_held < min(size, piece.start - k * size):
                return k * size + n_held
        return None

    def written(self, piece: Piece) -> tuple[int, ...]:
        """The blocks that a piece writes."""
        size = self.run.setup.block_size
        return piece.blocks[piece.start // size : self.n_blocks_for(piece.start + piece.n)]

    def apply(self, event: Event) -> None:
        """Go on past an event."""
        if event.server != CARD:
            return
        if event.what == "step":
            self.n_preempted = 0
        for piece in event.pieces:
            self._compute(piece)
        for i in event.ids:
            if event.what in ("preempt", "finish", "refuse"):
                self.running.pop(i, None)
                self.waiting.pop(i, None)
            match event.what:
                case "ready":
                    self.waiting[i] = self.run.jobs[i]
                case "preempt":
                    self.n_preempted += 1
                    self._wait_again(i)
                case "finish":
                    self.finished.add(i)
                case "refuse":
                    self.refused.setdefault(i, event.note)

    def _wait_again(self, i: int) -> None:
        if i not in self.finished and i not in self.refused:
            waiting = self.waiting | {i: self.run.jobs[i]}
            self.waiting = dict(sorted(waiting.items(), key=lambda each: self.order[each[0]]))

    def _compute(self, piece: Piece) -> None:
        i, size = piece.id, self.run.setup.block_size
        end = piece.start + piece.n
        self.waiting.pop(i, None)
        if i not in self.finished and i not in self.refused:
            self.running[i] = Running(piece.blocks, end)
        for k in range(piece.start // size, min(self.n_blocks_for(end), len(piece.blocks))):
            first, last = max(piece.start - k * size, 0), min(end - k * size, size)
            self._write(piece.blocks[k], self.key(i, k), first, last)
        for block in piece.blocks[self.n_blocks_for(end) :]:
            self._lose(block)  # taken for what comes later
        if end == self.n_known(i):
            self.n_made[i] += 1

    def _write(self, block: int, key: object, first: int, last: int) -> None:
        whose, n_held = self.holds.get(block, (None, 0))
        if whose != key:
            self._lose(block)
        goes_on = whose == key and first <= n_held
        if not goes_on and first:
            key = None  # the beginning of this block is somebody else's
        self.holds[block] = (key, max(last, n_held) if goes_on else last)
        if key and self.holds[block][1] == self.run.setup.block_size:
            self.full.setdefault(key, set()).add(block)
            self.lost.discard(key)

    def _lose(self, block: int) -> None:
        key, _ = self.holds.pop(block, (None, 0))
        if block in self.full.get(key, ()):
            self.full[key].discard(block)
            self.lost.add(key)


def replay_card(run: Run) -> Iterator[tuple[int, Event, CardState]]:
    """Each event with its place and the state before it; the last is an event called "end"."""
    state = CardState(run)
    own = [place for place, event in enumerate(run.log) if event.server == CARD]
    for place, following in pairwise([*own, None]):
        event = run.log[place]
        state.follows = "step" if following is None else run.log[following].what
        yield place, event, state
        state.apply(event)
    end_s = run.makespan_s
    yield len(run.log), Event(end_s, end_s, CARD, "end"), state
