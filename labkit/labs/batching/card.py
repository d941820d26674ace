"""One card that computes prompts and makes tokens in the same passes; a scheduler fills each pass.

A pass computes pieces: some tokens of one request, whose KV cache lies in numbered blocks. The
scheduler says which pieces, and in which blocks. The card prevents no mistake: the rules are read
off its log (`labkit.labs.batching.passes`).
Source: Sarathi-Serve (arXiv:2403.02310) for the pieces, PagedAttention (arXiv:2309.06180) for the
blocks; vLLM's scheduler does both.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from labkit.labs.batching.driver import IDLE_ROUNDS, Loop
from labkit.labs.batching.log import CARD, DECODE, PREFILL, Event, Piece, Run, jobs_by_id
from labkit.labs.batching.servers import TOO_MANY, Clock, Server
from labkit.labs.batching.workload import Costs, FixedCosts, Job, Setup


def serve_on_card(
    jobs: Sequence[Job],
    setup: Setup,
    scheduler: Loop,
    *,
    costs: Costs | None = None,
    offered: Callable[[Server], Any] = lambda card: card,
    errors: tuple[type[Exception], ...] = (),
) -> Run:
    """Serve all jobs on one card and return the log.

    offered: what the scheduler gets for the card. errors: exceptions of the scheduler that end the
    run instead of passing through.
    Raises: ValueError for a budget below one block, or blocks of no token.
    """
    run = Run(jobs_by_id(jobs), setup)
    card = Card(run, costs or FixedCosts())
    offer, n_idle, most_lines = offered(card), 0, 4 * run.most_calls()
    while not run.stopped and card.has_work():
        n_before = card.n_actions
        card.begin_step()
        try:
            scheduler.step(offer)
        except Exception as error:
            card.note_error(error)
            if not run.stopped and not isinstance(error, errors):
                raise
            run.stopped = run.stopped or f"the scheduler raised {error}"
            run.error = run.error or error
        n_idle = 0 if card.n_actions > n_before else n_idle + (not card.wait())
        if n_idle >= IDLE_ROUNDS:
            run.stopped = f"nothing more is done, and request {min(card.open)} is not finished"
        if len(run.log) > most_lines:
            run.stopped = run.stopped or TOO_MANY
    return run


class Card(Server):
    """One card: its blocks, and what a pass takes. Blocks have the numbers 0 to n_blocks - 1."""

    name = CARD

    def __init__(self, run: Run, costs: Costs) -> None:
        setup = run.setup
        if setup.block_size < 1 or setup.budget < setup.block_size:
            wanted = "wanted blocks of at least 1 token and a budget of at least one block, got {}"
            raise ValueError(wanted.format(f"{setup.block_size} and {setup.budget} tokens"))
        super().__init__(run, costs, setup.decode_capacity, Clock())
        self.budget, self.max_batch = setup.budget, setup.decode_batch
        self.block_size, self.n_blocks = setup.block_size, setup.n_blocks
        self.coming.extend((job.arrival_s, job.id) for job in run.arriving)
        self.open, self._blocks = set(run.jobs), {*range(setup.n_blocks)}
        self._n_made: dict[int, int] = {}
        self._tables: dict[int, tuple[int, ...]] = {}
        self._n_held: dict[int, int] = {}

    def has_work(self) -> bool:
        """Whether any request is neither finished nor refused."""
        return bool(self.open)

    def wait(self) -> bool:
        """Go on to when the next request comes; False if none will."""
        if not self.coming:
            return False
        self.clock.now_s = max(self.clock.now_s, self.coming[0][0])
        return True

    def run_pass(self, pieces: Sequence[tuple]) -> list[int | None]:
        """Compute these pieces in one pass; the next token of each that ends its request's tokens.

        pieces: (id, start, n, blocks) each: n tokens of a request from position `start` on. Block
        number blocks[k] holds the positions from k x block_size on.
        """
        fed = self._checked(pieces)
        jobs, made = self.run.jobs, self._n_made
        stepping, ending, n_cached, chunks = [], [], 0, []
        tokens: list[int | None] = []
        for piece in fed:
            i, start, n, _ = piece
            n_made, n_input = made.get(i, 0), jobs[i].n_input
            ends = start + n == n_input + n_made
            if ends:
                (stepping if n_made else ending).append(i)
                made[i] = n_made + 1
            if ends and n_made and n == 1:
                n_cached += start + 1
            else:
                chunks.append((n, start, ends))
            tokens.append(jobs[i].token(n_made, self.eos) if ends else None)
        seconds = self.costs.mixed_s(len(fed) - len(chunks), n_cached, chunks)
        begin_s, log = self.clock.now_s, self.run.log
        self._grow(fed)
        self._act("pass", [piece.id for piece in fed], sum(piece.n for piece in fed), seconds)
        log[-1] = replace(log[-1], pieces=fed)
        for server, what, ids in ((DECODE, "decode", stepping), (PREFILL, "prefill", ending)):
            if ids:
                n = sum(jobs[i].n_input + made[i] - 1 for i in ids)
                log.append(Event(begin_s, begin_s + seconds, server, what, tuple(ids), n))
        return tokens

    def preempt(self, request_id: int) -> None:
        """Stop a running request; it has no blocks from now on, and keeps the tokens it made."""
        self._job(request_id)
        self._act("preempt", [request_id])
        self._free(request_id)

    def finish(self, request_id: int) -> None:
        """The request has all its tokens, and has no blocks from now on."""
        super().finish(request_id)
        self._free(request_id)
        self.open.discard(request_id)

    def refuse(self, request_id: int, reason: str = "") -> None:
        """Report to the client that it will not be served, and why."""
        self._job(request_id)
        self._act("refuse", [request_id], note=str(reason)[:80])
        self.open.discard(request_id)

    def _described(self, job: Job) -> dict:
        return job.as_request() | {"hashes": [*job.hashes]}

    def _free(self, request_id: int) -> None:
        if self._n_held.pop(request_id, None):
            self._remember("free", request_id)

    def _grow(self, fed: tuple[Piece, ...]) -> None:
        """Note how much memory a request has where that changes: for the picture of a run."""
        for piece in fed:
            if self._n_held.get(piece.id) != len(piece.blocks):
                self._n_held[piece.id] = len(piece.blocks)
                self._remember("load", piece.id, len(piece.blocks) * self.block_size)

    def _remember(self, what: str, request_id: int, tokens: int = 0) -> None:
        at_s = self.clock.now_s
        self.run.log.append(Event(at_s, at_s, DECODE, what, (request_id,), tokens))

    def _checked(self, pieces: Sequence[tuple]) -> tuple[Piece, ...]:
        """The pieces. Raises: ValueError for what no card could compute."""
        if not isinstance(pieces, list | tuple) or not pieces:
            raise ValueError(f"wanted a list of at least one piece, got {pieces!r:.60}")
        if len(pieces) > len(self.run.jobs):
            raise ValueError(f"got {len(pieces)} pieces for {len(self.run.jobs)} requests")
        fed = tuple(self._piece(piece) for piece in pieces)
        if len({piece.id for piece in fed}) < len(fed):
            raise ValueError("a request has two pieces in one pass")
        return fed

    def _piece(self, piece: Any) -> Piece:
        if not isinstance(piece, list | tuple) or len(piece) != 4:
            raise ValueError(f"wanted a piece (id, start, n, blocks), got {piece!r:.60}")
        i, start, n, blocks = piece
        job = self._job(i)
        if type(start) is not int or type(n) is not int or start < 0 or n < 1:
            raise ValueError(f"wanted n of at least 1 token from start on, got {n!r}, {start!r}")
        n_known = job.n_input + self._n_made.get(i, 0)
        if start + n > n_known:
            raise ValueError(f"request {i} has {n_known} tokens, and the piece ends at {start + n}")
        return Piece(i, start, n, self._table(i, blocks))

    def _table(self, i: int, blocks: Sequence[int]) -> tuple[int, ...]:
        """The blocks of a request; of those in its last piece, nothing has to be checked again."""
        if not isinstance(blocks, list | tuple):
            raise ValueError(f"wanted a list of numbers of blocks, got {blocks!r:.60}")
        known, table = self._tables.get(i, ()), tuple(blocks)
        if table and table == known:
            return known
        new = table[len(known) :] if table[: len(known)] == known else table
        if {*map(type, new)} - {int}:
            raise ValueError(f"wanted a list of numbers of blocks, got {blocks!r:.60}")
        if not 0 < len(table) <= self.n_blocks or not {*new} <= self._blocks:
            there_are = f"there are blocks 0 to {self.n_blocks - 1}"
            raise ValueError(f"{there_are}, and request {i} has {blocks!r:.60}")
        self._tables[i] = table
        return table
