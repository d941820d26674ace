"""The client's end of a cluster: one scheduler, reached by TLS, lost and found again."""

import json
import logging
import time
from collections.abc import Collection
from pathlib import Path

import dask
from distributed import Client, Future
from distributed.security import Security

from autograder.grading.cluster.keys import ClusterError
from autograder.grading.cluster.worker import SlotPlugin, grade_packed

LARGEST_WORK = "1GB"  # Dask warns of any argument above 10 MB


class Connection:
    """A client of the scheduler at `address`, which may also be a file that names it.

    Every method but `reopen` raises OSError when the scheduler is gone.
    """

    def __init__(self, address: str, security: Security, answer_s: float) -> None:
        self._address = address
        self._security = security
        self._answer_s = answer_s
        self._client: Client | None = None

    def open(self) -> None:
        """Connect, and see to it that every worker, now and later, has slots.

        Raises: OSError; ClusterError if it is no TLS address or a worker has no kit.
        """
        address = _resolved(self._address)
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we say it in a sentence
        self._client = Client(
            address, security=self._security, timeout=self._answer_s, set_as_default=False
        )
        try:
            self._client.register_plugin(SlotPlugin())
        except OSError:
            raise
        except Exception as error:
            raise ClusterError(
                f"a worker of {address} cannot load the kit ({type(error).__name__}: {error}): "
                "install the same version there and start the worker from it"
            ) from error

    def reopen(self, within_s: float) -> None:
        """Connect again, trying for so long. Raises: ClusterError."""
        end = time.monotonic() + within_s
        while True:
            self.close()
            try:
                return self.open()
            except OSError as error:
                if time.monotonic() > end:
                    raise ClusterError(
                        f"the scheduler {self._address} has been gone for {within_s:g} s: start it "
                        "again and repeat the command, which continues where it stopped"
                    ) from error
                time.sleep(min(1.0, within_s))

    def close(self) -> None:
        """Close the connection. The cluster drops submissions that have no outcome yet."""
        if self._client is not None:
            self._client.close(timeout=self._answer_s)
            self._client = None

    def n_threads(self) -> dict[str, int]:
        """The workers' addresses, and how many submissions each grades at once."""
        return self._reached().nthreads()

    def busy_with(self, futures: Collection[Future]) -> set[str]:
        """The workers that have any of these."""
        keys = {future.key for future in futures}
        return {worker for worker, has in self._reached().processing().items() if keys & set(has)}

    def submit(self, work: bytes, preferred: Collection[str]) -> Future:
        """Hand in a unit of work, to one of the preferred workers while there are any."""
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGEST_WORK}):
            return self._reached().submit(
                grade_packed,
                work,
                pure=False,
                workers=list(preferred) or None,
                allow_other_workers=bool(preferred),
            )

    def _reached(self) -> Client:
        """The client; Dask's own calls raise AttributeError while it looks for its scheduler."""
        if self._client.scheduler is None:
            raise ConnectionError(f"the scheduler {self._address} is gone")
        return self._client


def _resolved(address: str) -> str:
    """The scheduler's address, which a file that the scheduler wrote may name."""
    if Path(address).is_file():
        try:
            address = json.loads(Path(address).read_text())["address"]
        except (ValueError, KeyError, TypeError) as error:
            raise ClusterError(f"{address} is no scheduler file ({error})") from error
    if not address.startswith("tls://"):
        raise ClusterError(
            f"{address} is no address of a scheduler with TLS: give tls://HOST:PORT or the "
            "scheduler's file. Without TLS, others could run programs on its workers"
        )
    return address
