"""What `load` decides before it loads: which model, whose weights, where, in which dtype."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.measuring import profiles
from labkit.measuring.machine.detected import has_bfloat16
from labkit.measuring.machine.device_memory import available_memory_bytes
from labkit.measuring.profiles import ROLES, MachineProfile
from labkit.measuring.roofline import BYTES
from labkit.models.errors import DamagedModel, TooLarge
from labkit.models.facts import models
from labkit.models.folder import SHIPPED, load_tokenizer, shipped_folder
from labkit.models.tiny import KIT_MODELS, facts_of, has_facts

if TYPE_CHECKING:
    import torch

WEIGHTS = ("auto", "hub", "random")
ATTENTIONS = ("sdpa", "eager", "flash_attention_2", "flash_attention_3", "flex_attention")


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a model runs and in which dtype."""

    device: str
    dtype: str

    @property
    def torch_dtype(self) -> torch.dtype:
        import torch

        return getattr(torch, self.dtype)

    @property
    def note(self) -> str:
        if self.dtype == "bfloat16" and not has_bfloat16(self.device):
            return (
                "bfloat16 has no hardware on this card, torch emulates it slowly, and times say "
                'nothing about 16 bits: take dtype="float16".'
            )
        return ""


@dataclass(frozen=True, slots=True)
class Origin:
    """A model and where its weights come from; without a folder they are random."""

    name: str
    weights: str
    folder: Path | None = None
    note: str = ""


def setting(
    profile: MachineProfile | str | None,
    device: str | torch.device | None,
    dtype: str | torch.dtype | None,
) -> Setting:
    """Device and dtype: as asked, else the profile's, else what suits this machine."""
    chosen = as_profile(profile)
    place = _device(device, chosen)
    if dtype is None:
        follows_profile = chosen is not None and place.partition(":")[0] == chosen.device
        name = chosen.dtype if follows_profile else default_dtype(place)
    else:
        name = str(dtype).removeprefix("torch.")
    if name not in BYTES:
        meant = {"fp32": "float32", "fp16": "float16", "half": "float16", "bf16": "bfloat16"}
        hint = f" (did you mean {meant[name]!r}?)" if name in meant else ""
        raise ValueError(f"dtype must be one of {', '.join(BYTES)}; got {name!r}{hint}")
    return Setting(place, name)


def as_profile(profile: MachineProfile | str | None) -> MachineProfile | None:
    """The profile itself where its name was given."""
    if profile is None or isinstance(profile, MachineProfile):
        return profile
    return profiles.profile(profile)


def default_dtype(device: str) -> str:
    """float32 on a CPU; on a GPU the 16 bits that it has hardware for."""
    if device.startswith("cuda"):
        return "bfloat16" if has_bfloat16(device) else "float16"
    return "float32"


def _device(device: str | torch.device | None, profile: MachineProfile | None) -> str:
    import torch

    has_cuda = torch.cuda.is_available()
    if device is None:
        device = profile.device if profile else "cuda" if has_cuda else "cpu"
    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise ValueError(f"{device!r} is no device; wanted cpu, cuda or cuda:0") from None
    if kind == "cuda" and not has_cuda:
        asked = f"profile {profile.name} runs on" if profile else "you asked for"
        raise ValueError(
            f"{asked} a CUDA GPU, and torch sees none here. On this machine: "
            'profile="cpu", or leave profile and device out'
        )
    return str(device)


def resolve(name: str | Path, profile: MachineProfile | str | None) -> str | Path:
    """The model that a role stands for in a profile, by default this machine's; else the name."""
    if name not in ROLES:
        return name
    return (as_profile(profile) or profiles.detect()).roles[name]


def origin(name: str | Path, weights: str) -> Origin:
    """Where the weights of a model come from; it is downloaded here if weights is "hub".

    Raises: ValueError for a name that means nothing here; DamagedModel, UnavailableModel.
    """
    if weights not in WEIGHTS:
        raise ValueError(f"weights must be one of {', '.join(WEIGHTS)}; got {weights!r}")
    if name in KIT_MODELS:
        return _kit_origin(name, weights)
    if _is_folder(name):
        if weights != "auto":
            raise ValueError(f"the folder {name} has weights of its own: leave weights out")
        return Origin(Path(name).resolve().name, "folder", Path(name))
    if weights == "hub":
        from labkit.zoo import hub

        return Origin(str(name), "hub", hub.fetch(str(name), instead(str(name))))
    facts_of(str(name))  # raises for an unknown name
    if weights == "random":
        return Origin(str(name), "random", note="random weights: its text is noise.")
    return _cached_or_random(str(name))


def _is_folder(name: str | Path) -> bool:
    """Whether the path of a model's folder was given rather than a name."""
    return isinstance(name, Path) or (
        name not in models() and bool(name) and (Path(name) / "config.json").is_file()
    )


def _kit_origin(name: str, weights: str) -> Origin:
    if weights == "hub":
        raise ValueError(f"{name} comes with the kit and is not on the hub: leave weights out")
    if weights == "auto" and name in SHIPPED:
        return Origin(name, "shipped", shipped_folder(name))
    why = "random weights" if name in SHIPPED else "random weights, it was never trained"
    return Origin(name, "random", note=f"{why}: its text is noise.")


def _cached_or_random(name: str) -> Origin:
    from labkit.zoo import hub

    folder, why = hub.cached_folder(name)
    if folder is not None:
        return Origin(name, "hub", folder)
    facts = facts_of(name)
    gigabytes = facts["params_exact"] * (4 if facts["model_type"] == "gpt2" else 2) / 1e9
    licence = "; it is gated, so accept its licence first" if facts["gated"] else ""
    note = (
        f"random weights, for {why}: timing and memory are right, its text is noise. The real "
        f'ones: load("{name}", weights="hub"), about {gigabytes:.1f} GB to download{licence}.'
    )
    return Origin(name, "random", note=note)


def instead(name: str) -> str:
    """What to do without the hub's weights of a model: a sentence for an error."""
    if not has_facts(name):
        return "Instead: a model of labkit.zoo.describe()."
    facts = facts_of(name)
    random = f'load("{name}", weights="random"), for timing and memory'
    if facts["substitute"] is None:
        return f'Instead: {random}, or load("tiny-target"), which needs no network.'
    return (
        f'Instead: load("{facts["substitute"]}", weights="hub"), an open model of its size; or '
        f"{random}."
    )


def check_attention(attention: str) -> None:
    """Refuse what transformers would refuse, before anything is loaded."""
    if attention not in ATTENTIONS:
        raise ValueError(f"attention must be one of {', '.join(ATTENTIONS)}; got {attention!r}")


def check_room(name: str | Path, setting: Setting) -> None:
    """Refuse a model whose weights alone are larger than the free memory of its device.

    Raises: TooLarge, naming the largest model that would leave some room.
    """
    free_bytes = available_memory_bytes(setting.device)
    if free_bytes is None or not has_facts(name):
        return
    width = BYTES[setting.dtype]
    needed_bytes = facts_of(name)["params_exact"] * width
    if needed_bytes > free_bytes:
        fitting = max(
            (other for other in (models() | KIT_MODELS).items() if not other[1]["gated"]),
            key=lambda other: _if_at_most(other[1]["params_exact"] * width, 0.6 * free_bytes),
        )
        raise TooLarge(
            f"{name} does not fit: its weights take {needed_bytes / 1e9:.1f} GB in "
            f"{setting.dtype}, and {setting.device} has {free_bytes / 1e9:.1f} GB free. Let go of "
            f'earlier models (del, or restart), or take a smaller one: load("{fitting[0]}")'
        )


def _if_at_most(n_bytes: int, limit: float) -> int:
    return n_bytes if n_bytes <= limit else 0


def kit_tokenizer(name: str) -> Any:
    """The tiny pair's tokenizer for models of the kit; None for others, or if it is not here."""
    if name not in KIT_MODELS:
        return None
    try:
        return load_tokenizer(shipped_folder(SHIPPED[0]))
    except DamagedModel:
        return None
