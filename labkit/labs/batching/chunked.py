"""Chunked prefill on one card: a pass makes tokens for running requests and a piece of a prompt.

No pass has more than a set number of tokens, so no long prompt stops those who already read.
Source: Sarathi-Serve (arXiv:2403.02310); vLLM does the same by default.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from labkit.labs.batching.log import DECODE, PREFILL, Event, Run, jobs_by_id
from labkit.labs.batching.workload import Job, RooflineCosts, Setup


def serve_chunked(
    jobs: Sequence[Job], setup: Setup, costs: RooflineCosts, budget: int = 512
) -> Run:
    """Serve all jobs on one card, in the order in which they come, and return the log.

    budget: tokens of one pass at most. Each running request takes one of them; the rest goes to the
    prompts that have waited longest. Raises: ValueError if running requests can take all of it.
    """
    if budget <= setup.decode_batch:
        raise ValueError(f"wanted a budget above the {setup.decode_batch} slots, got {budget}")
    card = _Card(jobs, setup, costs)
    while card.has_work():
        card.one_pass(budget)
    return card.run


class _Card:
    """What one card holds. running: new tokens of each request. computed: tokens of its prompt."""

    def __init__(self, jobs: Sequence[Job], setup: Setup, costs: RooflineCosts) -> None:
        self.run, self.costs, self.now_s = Run(jobs_by_id(jobs), setup), costs, 0.0
        self.coming, self.waiting = deque(self.run.arriving), deque()
        self.running: dict[int, int] = {}
        self.computed: dict[int, int] = {}
        self.reserved: dict[int, int] = {}

    def has_work(self) -> bool:
        """Whether a pass is possible now or at the next arrival; arrived requests are taken in."""
        if not (self.waiting or self.running) and self.coming:
            self.now_s = max(self.now_s, self.coming[0].arrival_s)
        while self.coming and self.coming[0].arrival_s <= self.now_s:
            job = self.coming.popleft()
            if reason := self.run.setup.refuses(job):
                self._note(PREFILL, "refuse", job.id, note=reason)
            else:
                self.waiting.append(job)
                self._note(PREFILL, "ready", job.id)
        return bool(self.waiting or self.running or self.coming)

    def one_pass(self, budget: int) -> None:
        """A token for each running request, and pieces of prompts for the rest of the budget."""
        pieces = list(self._pieces(budget - len(self.running)))
        stepping = tuple(self.running)
        n_cached = sum(self.run.jobs[i].n_input + self.running[i] for i in stepping)
        pieces_fed = [(n, self.computed[job.id], self._ends(job, n)) for job, n in pieces]
        if not (stepping or pieces):
            return
        begin_s = self.now_s
        self.now_s += self.costs.mixed_s(len(stepping), n_cached, pieces_fed)
        if stepping:
            self._note(DECODE, "decode", *stepping, tokens=n_cached, begin_s=begin_s)
            self.running = {i: n + 1 for i, n in self.running.items()}
        for job, n in pieces:
            ends = self._ends(job, n)
            self.computed[job.id] += n
            if ends:
                self._note(PREFILL, "prefill", job.id, tokens=job.n_input, begin_s=begin_s)
                self.waiting.remove(job)
                self.running[job.id] = 1
        for i in [i for i, n in self.running.items() if n >= self._n_output(i)]:
            self._note(DECODE, "finish", i)
            self._note(DECODE, "free", i)
            del self.running[i], self.reserved[i]

    def _pieces(self, n_left: int) -> Iterator[tuple[Job, int]]:
        """Prompts, oldest first, each with the tokens of it that this pass computes."""
        setup = self.run.setup
        for job in self.waiting:
            if job.id not in self.reserved:
                size = job.size(setup.max_length)
                has_room = sum(self.reserved.values()) + size <= setup.decode_capacity
                if len(self.reserved) >= setup.decode_batch or not has_room:
                    return
                self.reserved[job.id], self.computed[job.id] = size, 0
                self._note(DECODE, "load", job.id, tokens=size)
            n = min(n_left, job.n_input - self.computed[job.id])
            n_left -= n
            yield job, n
            if not n_left:
                return

    def _ends(self, job: Job, n: int) -> bool:
        return self.computed[job.id] + n == job.n_input

    def _n_output(self, request_id: int) -> int:
        return self.run.jobs[request_id].n_output(self.run.setup.max_length)

    def _note(
        self,
        server: str,
        what: str,
        *ids: int,
        tokens: int = 0,
        note: str = "",
        begin_s: float | None = None,
    ) -> None:
        begin_s = self.now_s if begin_s is None else begin_s
        self.run.log.append(Event(begin_s, self.now_s, server, what, ids, tokens, note))
