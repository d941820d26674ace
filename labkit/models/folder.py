"""Models from folders: checked, then loaded; the kit's own against the record of their making."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.models.errors import DamagedModel
from labkit.models.facts import data_path

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

SHIPPED = (
    "tiny-target",
    "tiny-draft",
)  # trained; their weights are in data/
RECORD = "pair.json"
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json")
_LOCAL = {"local_files_only": True, "trust_remote_code": False}  # no network, no code from folders
_BAR_FROM_BYTES = 10**9  # below, loading is over before a progress bar is read


def shipped_folder(name: str) -> Path:
    """The folder of a model that ships with the kit, every file as it was when it was recorded.

    Files are compared with their SHA-256 in data/pair.json, once per process.
    Raises: DamagedModel naming the first file that is missing or differs.
    """
    try:
        record = data_path(RECORD)
    except FileNotFoundError:
        raise DamagedModel(_not_shipped(name, f"data/{RECORD} is missing")) from None
    _verify(name, record)
    return record.parent / name


@cache
def _verify(name: str, record: Path) -> None:
    try:
        files = json.loads(record.read_text(encoding="utf-8"))["files"]
        expected = {path: files[path] for path in files if path.startswith(f"{name}/")}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DamagedModel(_not_shipped(name, f"data/{RECORD} cannot be read")) from None
    if not expected:
        raise DamagedModel(_not_shipped(name, f"data/{RECORD} lists no file of it"))
    for path, digest in expected.items():
        if not (record.parent / path).is_file():
            raise DamagedModel(_not_shipped(name, f"data/{path} is missing"))
        found = hashlib.sha256((record.parent / path).read_bytes()).hexdigest()
        if found != digest:
            raise DamagedModel(
                _not_shipped(
                    name,
                    f"data/{path} was changed: its SHA-256 begins {found[:12]}, data/{RECORD} "
                    f"says {str(digest)[:12]}",
                )
            )


def _not_shipped(name: str, what: str) -> str:
    without = f' To go on without it: load("{name}", weights="random"), for timing only.'
    return (
        f"{name} cannot be used: {what}. Install labkit again (in a clone: git checkout -- data/"
        f"{name} data/{RECORD}).{without if name in SHIPPED else ''}"
    )


def missing_files(folder: Path) -> list[str]:
    """The files that a folder lacks for a model and its tokenizer; broken links are missing."""
    missing = [] if (folder / "config.json").is_file() else ["config.json"]
    if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        missing.append(_TOKENIZER_FILES[0])
    index = folder / "model.safetensors.index.json"
    weights = ["model.safetensors"]
    if index.is_file():
        try:
            shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            weights = sorted(set(shards))
        except (ValueError, KeyError, TypeError, AttributeError):
            return [*missing, f"{index.name} (unreadable)"]
    return missing + [name for name in weights if not (folder / name).is_file()]


def load_shipped(name: str) -> tuple[PreTrainedModel, Any]:
    """A model that ships with the kit, and its tokenizer: on the CPU, in float32.

    Raises: DamagedModel.
    """
    import torch

    return load_folder(shipped_folder(name), "cpu", torch.float32)


def load_folder(
    folder: Path, device: str, dtype: torch.dtype, attention: str = "sdpa"
) -> tuple[PreTrainedModel, Any]:
    """The model and the tokenizer of a folder; nothing is fetched, no pickle is opened, no
    code that lies in the folder is run.

    Raises: DamagedModel naming what is missing or unreadable.
    """
    from transformers import AutoConfig, AutoModelForCausalLM

    if missing := missing_files(folder):
        raise DamagedModel(_cannot_load(folder, f"it lacks {', '.join(missing)}"))
    straight_to_device = {"device_map": device} if find_spec("accelerate") else {}
    with _explained(folder):
        config = AutoConfig.from_pretrained(folder, **_LOCAL)
    tokenizer = load_tokenizer(folder)
    with _explained(folder), _bar_if_long(folder):
        model, report = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            attn_implementation=attention,
            use_safetensors=True,
            output_loading_info=True,
            **_LOCAL,
            **straight_to_device,
        )
    if absent := sorted(report["missing_keys"]):
        what = f"its weights lack {len(absent)} tensors, such as {absent[0]}"
        raise DamagedModel(_cannot_load(folder, what))
    return model.to(device).eval().requires_grad_(False), tokenizer


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a folder.

    Raises: DamagedModel if it cannot be read.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, **_LOCAL)
    except ImportError:
        raise  # a library is missing, and the text says which
    except Exception as error:  # the tokenizers library raises no narrower type
        what = f"its tokenizer is unreadable ({type(error).__name__})"
        raise DamagedModel(_cannot_load(folder, what)) from None


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn the libraries' errors for unreadable files into DamagedModel."""
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        what = f"its weights are cut short or overwritten ({error})"
        raise DamagedModel(_cannot_load(folder, what)) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        text = str(error).strip() or "no text"
        what = f"{type(error).__name__}: {text.splitlines()[0][:200]}"
        raise DamagedModel(_cannot_load(folder, what)) from None
    except RuntimeError as error:
        if "ignore_mismatched_sizes" not in str(error):
            raise  # the device's trouble, not the folder's
        what = "its weights have other sizes than its config.json says"
        raise DamagedModel(_cannot_load(folder, what)) from None


def _cannot_load(folder: Path, what: str) -> str:
    remedy = "Copy or save the model there again"
    if folder.parent.name == "snapshots":  # of the hub's cache: links into a folder of blobs
        remedy = f'Delete {folder.parents[1]} and load it with weights="hub"'
    return f"the model in {folder} cannot be loaded: {what}. {remedy}."


@contextmanager
def _bar_if_long(folder: Path) -> Iterator[None]:
    """No progress bar for a model that loads in a moment."""
    from transformers.utils import logging

    n_bytes = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    hide = n_bytes < _BAR_FROM_BYTES and logging.is_progress_bar_enabled()
    if hide:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        if hide:
            logging.enable_progress_bar()
