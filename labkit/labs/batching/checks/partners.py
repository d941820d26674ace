"""The other loop beside the student's: plain, slow, and never wrong.

Both know the true requests, so they have nothing to decide. They do their part once for everything
that the student's loop sends.
"""

from collections import deque

from labkit.labs.batching.servers import DecodeServer, PrefillServer
from labkit.labs.batching.workload import Job


class OneByOnePrefill:
    """Computes one prompt at a time, in the order in which they came."""

    def __init__(self) -> None:
        self._due: deque[Job] = deque()

    def step(self, server: PrefillServer) -> None:
        """One prompt, if the store has room for it."""
        run, room = server.run, server.storage_room()
        for one in server.arrivals():
            job = run.jobs[one["id"]]
            if why := run.setup.refuses(job):
                server.refuse(job.id, why)
            else:
                self._due.append(job)
        if not self._due or (room is not None and self._due[0].n_input > room):
            return
        job = self._due.popleft()
        server.run_prefill([job.id])
        is_over = job.n_output(run.setup.max_length) == 1
        (server.finish if is_over else server.save_kv)(job.id)
        server.free_kv(job.id)


class BatchByBatchDecode:
    """Takes as many as fit, in order, and runs them to their ends before it looks again."""

    def __init__(self) -> None:
        self._due: deque[Job] = deque()
        self._known: set[int] = set()

    def step(self, server: DecodeServer) -> None:
        """One batch from its beginning to its end, if anybody is there."""
        run, room = server.run, server.capacity
        for one in server.arrivals():
            job = run.jobs[one["id"]]
            if job.id not in self._known and not run.setup.refuses(job):
                self._due.append(job)
            self._known.add(job.id)
        n_missing: dict[int, int] = {}
        while self._due and len(n_missing) < server.max_batch:
            size = self._due[0].size(run.setup.max_length)
            if size > room:
                break
            job, room = self._due.popleft(), room - size
            server.load_kv(job.id, size)
            server.free_stored(job.id)
            n_missing[job.id] = job.n_output(run.setup.max_length) - 1
        self._run_out(server, n_missing)

    def _run_out(self, server: DecodeServer, n_missing: dict[int, int]) -> None:
        for n_steps in range(max(n_missing.values(), default=-1) + 1):
            for i, n_due in n_missing.items():
                if n_due == n_steps:
                    server.finish(i)
                    server.free_kv(i)
            if left := [i for i, n_due in n_missing.items() if n_due > n_steps]:
                server.decode_step(left)
