"""The fact tables: models and GPUs, each number with its source (see `data/README.md`)."""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_LABKIT = Path(__file__).resolve().parents[1]

VRAM_READINGS = ("GB", "GiB", "driver", "torch")


def data_path(name: str) -> Path:
    """A file of the kit's data: inside labkit, beside it in the repository, or in `labkit_data`.

    Raises: FileNotFoundError naming the file.
    """
    for folder in _data_folders():
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(f"labkit's data folder has no {name}: is the installation complete?")


@cache
def _data_folders() -> tuple[Path, ...]:
    installed = find_spec("labkit_data")
    places = installed.submodule_search_locations if installed else ()
    return (_LABKIT / "data", _LABKIT.parent / "data", *map(Path, places))


@cache
def models() -> dict[str, dict]:
    """Facts of each model by its hub name, for instance "Qwen/Qwen3-14B"."""
    return json.loads(data_path("models.json").read_text(encoding="utf-8"))["models"]


@cache
def gpus() -> dict[str, dict]:
    """Facts of each GPU by its short name, for instance "L40S"."""
    return json.loads(data_path("gpus.json").read_text(encoding="utf-8"))["gpus"]


@cache
def prices() -> dict[str, dict]:
    """Prices of cards and of prompts, each with its date and source."""
    return json.loads(data_path("prices.json").read_text(encoding="utf-8"))


def vram_readings(gpu: str) -> dict[str, tuple[int, int]]:
    """What one card's memory comes to in bytes, lowest and highest, by each of `VRAM_READINGS`.

    "GB": the number on the box times 10^9; "GiB": times 2^30; "driver": the total that nvidia-smi
    shows; "torch": the totals that torch has been seen to report, which vary with the driver.
    Raises: ValueError for a card that is not in the table.
    """
    if gpu not in gpus():
        raise ValueError(f"no facts on a GPU called {gpu!r}; there are {', '.join(gpus())}")
    facts = gpus()[gpu]
    marketed, usable = facts["vram_marketed_GB"], facts["usable"]
    seen_gib = usable["torch_total_GiB_seen"]
    driver = usable["nvidia_smi_total_bytes"]
    return {
        "GB": (marketed * 10**9, marketed * 10**9),
        "GiB": (marketed * 2**30, marketed * 2**30),
        "driver": (driver, driver),
        "torch": (int(min(seen_gib) * 2**30), int(max(seen_gib) * 2**30)),
    }


def match_gpu(device_name: str, total_bytes: int) -> str | None:
    """The card of the table that a device is, by the name and the total memory that torch reports.

    Cards sold in two sizes share a name, so the total decides (torch shows up to 3 % less than the
    driver); the table has no PCIe A100. None if no card fits.
    """
    for gpu, facts in gpus().items():
        words = [word for word in gpu.replace("-", " ").split() if word[-2:] not in ("GB", "XM")]
        is_named = all(word.lower() in device_name.lower() for word in words)
        same_slot = ("pcie" in device_name.lower()) == ("PCIe" in gpu)
        driver = facts["usable"]["nvidia_smi_total_bytes"]
        if is_named and same_slot and abs(total_bytes - driver) <= 0.04 * driver:
            return gpu
    return None


def sixteen_bit_dtype(capability: tuple[int, int]) -> str:
    """The 16-bit dtype that a CUDA card computes in hardware: bfloat16 came with sm_80.

    torch.cuda.is_bf16_supported() is no guide: it says yes where torch emulates.
    """
    return "bfloat16" if tuple(capability) >= (8, 0) else "float16"
