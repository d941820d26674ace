"""The start of a lab: its versions and device, and what to do about a GPU that others fill."""

import re
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]  # of the checkout, if this runs from one
_MAKE_ROOM = (
    "Shut down the other notebooks (in JupyterLab: menu Kernel, Shut Down All Kernels), then run "
    "this notebook again from its first cell. `nvidia-smi` lists the programs."
)


def kit_version() -> str:
    """Of labkit, with the edition that is installed; that of the checkout where none is."""
    try:
        return version("labkit")
    except PackageNotFoundError:
        project = ROOT / "pyproject.toml"
        text = project.read_text(encoding="utf-8") if project.is_file() else ""
        found = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
        return found[1] if found else "unknown"


def ready() -> str:
    """The end of a set-up cell: show versions and device, and why a GPU is not used."""
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    line = f"ready: labkit {kit_version()}, torch {torch.__version__}, device {gpu or 'CPU'}"
    if gpu:
        return f"{line}\n{full_gpu()}".rstrip()
    if not shutil.which("nvidia-smi"):
        return line
    reason = (
        "PyTorch cannot use it; its driver may be too old for this PyTorch"
        if torch.version.cuda
        else "this PyTorch is built without CUDA: install a CUDA build from https://pytorch.org"
    )
    return f"{line}\nThis machine has an NVIDIA GPU, but {reason}. The lab runs on the CPU."


def full_gpu() -> str:
    """What to do when other programs hold more than half of the GPU; empty if they do not."""
    import torch

    try:
        free, total = torch.cuda.mem_get_info()
        held = total - free - torch.cuda.memory_reserved()
    except (RuntimeError, AssertionError):  # too full even to ask, or there is no GPU
        if not torch.cuda.is_available():
            return ""
        return f"The GPU is full: it could not even be opened. {_MAKE_ROOM}"
    if held < total / 2:
        return ""
    return f"Other programs hold {held / 1e9:.0f} of {total / 1e9:.0f} GB of the GPU. {_MAKE_ROOM}"


def use_one_thread() -> None:
    """Compute on one thread from here on: right for small models on a CPU that others use too.

    More threads gain a model of this size next to nothing, and wait for each other at every
    operation: with another program on one of two cores, a step of the tiny target was seen to take
    thirty times as long on two threads as on one.
    """
    import torch

    torch.set_num_threads(1)
