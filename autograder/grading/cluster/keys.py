"""The key and certificate that scheduler, workers and client of a cluster have in common.

A Dask scheduler runs any program that a client sends, on all its workers. So only holders of the
key may connect: each end shows the certificate, and accepts no other.
"""

import json
import os
import stat
from pathlib import Path

from distributed.security import Security

from autograder.errors import Refusal

CERTIFICATE, KEY, CONFIG = "certificate.pem", "key.pem", "dask.yaml"
SETTINGS = """\
# What `dask scheduler` and `dask worker` read with DASK_CONFIG set to this folder.
distributed:
  comm:
    default-scheme: tls
    require-encryption: true
    tls:
      ca-file: {certificate}
      client: {ends}
      scheduler: {ends}
      worker: {ends}
  scheduler:
    allowed-failures: 1  # what two workers died of is given back, to be tried alone
    worker-ttl: 60s  # whoever is silent for so long has lost what it was given
"""


class ClusterError(Refusal):
    """The cluster cannot be used; the message says why and what to do."""


def write_keys(folder: Path) -> Path:
    """Write a new pair into `folder`, for its owner alone, with settings for Dask's own programs.

    Raises: ClusterError if there is one already, for a running cluster would lose it.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if (folder / KEY).exists():
        raise ClusterError(f"{folder} holds keys already: name a new folder, or remove it first")
    pair = Security.temporary()
    certificate, key = folder.resolve() / CERTIFICATE, folder.resolve() / KEY
    pair_of_files = json.dumps({"cert": str(certificate), "key": str(key)})
    settings = SETTINGS.format(certificate=json.dumps(str(certificate)), ends=pair_of_files)
    _write_privately(certificate, pair.tls_client_cert)
    _write_privately(folder / CONFIG, settings)
    _write_privately(key, pair.tls_client_key)
    return folder


def read_keys(folder: Path) -> Security:
    """The settings of a connection that only those who hold the pair take part in.

    Raises: ClusterError if the pair is missing, or if others can read the key.
    """
    certificate, key = folder / CERTIFICATE, folder / KEY
    if not (certificate.is_file() and key.is_file()):
        raise ClusterError(f"{folder} holds no keys: make them with `autograder cluster-keys`")
    if key.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ClusterError(f"others can read {key}: make new keys, and keep them to yourself")
    ends = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=str(certificate),
        **{f"tls_{end}_cert": str(certificate) for end in ends},
        **{f"tls_{end}_key": str(key) for end in ends},
    )


def _write_privately(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
