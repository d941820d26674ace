"""The servers of a case once more, beside a student's loop that need not wait for the check's own.

What is found here of the requests is no answer: judged is the log of the check's own servers, on
which all that the loop does is done again.
"""

from typing import Any

from labkit.labs.batching.checks.partners import BatchByBatchDecode, OneByOnePrefill
from labkit.labs.batching.driver import Service
from labkit.labs.batching.log import DECODE
from labkit.labs.batching.workload import FixedCosts, Job, Setup


class Twin:
    """Both servers and the other loop; its attributes are those of the student's server."""

    def __init__(
        self, exercise: str, jobs: list[list], setup: dict, costs: dict, order: str, seed: int
    ) -> None:
        """As in a `LoopCase`."""
        settings = {"costs": FixedCosts(**costs), "order": order, "seed": seed}
        self._service = Service([Job(*job) for job in jobs], Setup(**setup), **settings)
        self._loops = [OneByOnePrefill(), BatchByBatchDecode()]
        self._own = self._service.servers[exercise == "DecodeLoop"]
        self._come_to_own()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def goes_on(self) -> bool:
        """After a step of the student's loop: whether it is called again, when the other was."""
        self._service.done()
        return self._come_to_own()

    def _come_to_own(self) -> bool:
        while (server := self._service.next()) not in (None, self._own):
            self._loops[server.name == DECODE].step(server)
            self._service.done()
        return server is not None
