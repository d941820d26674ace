"""Models for the labs, by name or by role: `load` and `load_pair`.

Three kinds of weights. The tiny pair's ship with the kit. Every model of the fact table can be
built from its shape with random weights, which is all that timing and memory need. The real weights
of a hub model are taken from the hub's cache on this machine; they are downloaded only for
weights="hub", never because a lab or a profile names a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.measuring.profiles import PAIRS, PROFILES, ROLES, MachineProfile, profile
from labkit.models.errors import DamagedModel, ModelError, TooLarge, UnavailableModel
from labkit.models.folder import SHIPPED
from labkit.models.shapes import ModelShape
from labkit.models.tiny import facts_of
from labkit.zoo import choose
from labkit.zoo.table import describe
from labkit.zoo.vocabulary import check_same_family, check_same_vocabulary

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

__all__ = [
    "PAIRS",
    "PROFILES",
    "ROLES",
    "DamagedModel",
    "LoadedModel",
    "MachineProfile",
    "ModelError",
    "Pair",
    "TooLarge",
    "UnavailableModel",
    "check_same_vocabulary",
    "describe",
    "load",
    "load_for_timing",
    "load_pair",
    "open_pair",
    "profile",
    "substitute",
]


for _error in (DamagedModel, ModelError, TooLarge, UnavailableModel):
    _error.__module__ = __name__  # as tracebacks show it


@dataclass(frozen=True, slots=True, repr=False)
class LoadedModel:
    """A model that is ready to run.

    weights: "shipped", "hub", "folder" or "random". tokenizer: None for random weights of a hub
    model. note: what to know before its text or its times are trusted; often empty.
    """

    name: str
    model: PreTrainedModel
    tokenizer: Any
    weights: str
    device: str
    dtype: str
    note: str = ""

    @property
    def n_params(self) -> int:
        """Parameters, each shared tensor counted once."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def vocab_size(self) -> int:
        """Columns of the logits."""
        return self.model.config.vocab_size

    @property
    def shape(self) -> ModelShape:
        return ModelShape.from_model(self.model, self.name)

    def __repr__(self) -> str:
        line = (
            f"{self.name}: {self.n_params:,} parameters, {self.weights} weights, "
            f"{self.dtype} on {self.device}"
        )
        return f"{line} ({self.note})" if self.note else line


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and a draft that speak the same tokens.

    Raises: ValueError if they do not.
    """

    target: LoadedModel
    draft: LoadedModel

    def __post_init__(self) -> None:
        check_same_vocabulary(self.target, self.draft)


def load(
    name: str | Path,
    weights: str = "auto",
    *,
    profile: MachineProfile | str | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    attention: str = "sdpa",
    seed: int = 0,
) -> LoadedModel:
    """A model by its name, by its role in a profile, or from a folder.

    weights: "auto" takes shipped weights, else those in the hub's cache, else random ones, and then
    says so in `note`; "hub" may download; "random" builds the shape, seeded. Without profile,
    device and dtype those of this machine are taken: a GPU if there is one, with 16 bits that it
    has hardware for; else the CPU, with float32. attention: as transformers names it.
    Raises: ValueError for a name, profile, device or dtype that does not exist; UnavailableModel if
    the weights are out of reach or too large; DamagedModel if files are missing or changed.
    """
    choose.check_attention(attention)
    setting = choose.setting(profile, device, dtype)
    name = choose.resolve(name, profile)
    choose.check_room(name, setting)  # before anything is downloaded
    origin = choose.origin(name, weights)
    if origin.folder is None:
        from labkit.zoo.shape import build

        model = build(origin.name, setting.device, setting.torch_dtype, attention, seed)
        tokenizer = choose.kit_tokenizer(origin.name)
    else:
        from labkit.models.folder import load_folder
        from labkit.zoo.shape import check_facts

        folder = origin.folder
        model, tokenizer = load_folder(folder, setting.device, setting.torch_dtype, attention)
        check_facts(origin.name, model, folder)
    return LoadedModel(
        name=origin.name,
        model=model,
        tokenizer=tokenizer,
        weights=origin.weights,
        device=setting.device,
        dtype=setting.dtype,
        note=" ".join(filter(None, (origin.note, setting.note))),
    )


def load_for_timing(role: str, profile: MachineProfile) -> LoadedModel:
    """The model of a role, with random weights unless they ship with the kit: no download.

    role: one of `ROLES`, or the name of a model.
    Raises: ValueError for an unknown name.
    """
    name = choose.resolve(role, profile)
    return load(name, "auto" if name in SHIPPED else "random", profile=profile)


def load_pair(name: str | tuple[str, str] = "tiny", weights: str = "auto", **settings: Any) -> Pair:
    """Target and draft, by the name of a pair of `PAIRS` or by the names of the two.

    weights and settings are those of `load`, for both.
    Raises: as `load`; ValueError for an unknown pair, and for two vocabularies.
    """
    if isinstance(name, str):
        if name not in PAIRS:
            raise ValueError(
                f"no pair is called {name!r}; there are {', '.join(PAIRS)}, and any two models "
                'load as load_pair(("the target", "the draft"))'
            )
        name = PAIRS[name]
    if len(name) != 2:
        raise ValueError(f"a pair is two models, the target and the draft; got {len(name)}")
    target, draft = name
    check_same_family(target, draft)  # before anything large is loaded
    return Pair(load(target, weights, **settings), load(draft, weights, **settings))


def substitute(name: str) -> str:
    """The open model that stands in for a gated one; an open model stands for itself.

    Raises: ValueError for a model without facts.
    """
    return facts_of(name)["substitute"] or name


def open_pair(name: str) -> str:
    """The pair of `PAIRS` that stands in for one with gated models; itself if it has none.

    Raises: ValueError for an unknown pair.
    """
    if name not in PAIRS:
        raise ValueError(f"no pair is called {name!r}; there are {', '.join(PAIRS)}")
    wanted = tuple(substitute(model) for model in PAIRS[name])
    return next(other for other, models in PAIRS.items() if models == wanted)
