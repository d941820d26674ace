"""Which models and which ranges a lab uses on which machine: one table, three rows.

A lab asks for a role ("sweep-medium", "draft") and for its ranges; the profile says which model
plays the role and how far the sweep goes, so that the same cells finish in minutes on a laptop's
CPU, on a T4, and, with the models of the handout, on an 80 GB card. Nothing is loaded here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from labkit.measuring.roofline import BYTES
from labkit.models.facts import sixteen_bit_dtype

ROLES = {
    "target": "speculative decoding: the model whose text we want",
    "draft": "speculative decoding: the model that proposes",
    "sweep-small": "throughput of three models: the small one",
    "sweep-medium": "throughput of three models, and both sweeps",
    "sweep-older": "throughput of three models: one from before shared KV heads",
    "cache-baseline": "with and without a KV cache: the reference",
    "cache-smaller": "with and without a KV cache: fewer parameters",
    "cache-older": "with and without a KV cache: one KV head per query head",
    "forward": "time of one forward pass by batch size",
    "instruct": "serving: answers questions about a document",
}

PAIRS = {  # target and draft, by the name that `labkit.zoo.load_pair` takes
    "tiny": ("tiny-target", "tiny-draft"),
    "tiny-untrained": ("tiny-target", "tiny-untrained"),  # a draft that knows nothing
    "tiny-self": ("tiny-target", "tiny-target"),  # a draft that is always right and saves nothing
    "qwen3-8b-1.7b": ("Qwen/Qwen3-8B", "Qwen/Qwen3-1.7B"),
    "qwen3-8b-0.6b": ("Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B"),
    "qwen3-4b-1.7b": ("Qwen/Qwen3-4B", "Qwen/Qwen3-1.7B"),  # stands in for llama-3b-1b
    "qwen3-1.7b-0.6b": ("Qwen/Qwen3-1.7B", "Qwen/Qwen3-0.6B"),  # stands in for gemma-1b-270m
    "llama-8b-1b": ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-1B"),
    "llama-3b-1b": ("meta-llama/Llama-3.2-3B", "meta-llama/Llama-3.2-1B"),
    "gemma-1b-270m": ("google/gemma-3-1b-it", "google/gemma-3-270m-it"),
    "gpt2": ("gpt2", "distilgpt2"),
}


@dataclass(frozen=True, slots=True)
class MachineProfile:
    """The models and sizes of the labs on one class of machine.

    roles: the model of each of `ROLES`. pairs: names of `PAIRS`; the first is for a `brief` run.
    All lengths are in tokens.
    Raises: ValueError for a role that is missing or unknown, a number below 1, a range that
    is empty or does not rise, a device or dtype that does not exist.
    """

    name: str
    device: str
    dtype: str
    roles: Mapping[str, str]
    pairs: tuple[str, ...]
    sweep_batch_size: int  # sequences in both throughput sweeps
    input_lengths: tuple[int, ...]  # throughput by prompt length, 64 new tokens
    output_lengths: tuple[int, ...]  # throughput by number of new tokens, prompt of 64
    forward_batch_sizes: tuple[int, ...]  # one forward pass over 256 tokens
    cache_lengths: tuple[int, ...]  # new tokens, with and without cache, after a short prompt
    long_prompt_length: int  # tokens that the long prompt is cut to
    long_uncached_lengths: tuple[int, ...]  # new tokens without cache after the long prompt
    n_warmup: int  # runs before those that are kept
    n_repeats: int  # runs that are kept

    def __post_init__(self) -> None:
        if set(self.roles) != set(ROLES):
            wrong = sorted(set(self.roles) ^ set(ROLES))
            raise ValueError(f"profile {self.name}: roles missing or unknown: {', '.join(wrong)}")
        if unknown := [pair for pair in self.pairs if pair not in PAIRS]:
            raise ValueError(f"profile {self.name}: no pair is called {', '.join(unknown)}")
        if self.device not in ("cpu", "cuda") or self.dtype not in BYTES:
            raise ValueError(
                f"profile {self.name}: wanted a device cpu or cuda and a dtype of "
                f"{', '.join(BYTES)}; got {self.device!r}, {self.dtype!r}"
            )
        for field in self.__slots__[5:]:  # the numbers
            value = getattr(self, field)
            values = value if isinstance(value, tuple) else (value,)
            if not values or values[0] < 1 or list(values) != sorted(set(values)):
                raise ValueError(
                    f"profile {self.name}: {field} must rise from at least 1, got {value}"
                )


def powers_of_2(highest: int) -> tuple[int, ...]:
    """1, 2, 4, ... up to 2^highest."""
    return tuple(2**i for i in range(highest + 1))


_MODELS = {  # by role: on a CPU, on a T4, on an 80 GB card
    "target": ("tiny-target", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-8B"),
    "draft": ("tiny-draft", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B"),
    "sweep-small": ("tiny-draft", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B"),
    "sweep-medium": ("tiny-target", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-8B"),
    "sweep-older": ("tiny-mha", "gpt2-xl", "allenai/OLMo-7B-0724-hf"),
    "cache-baseline": ("tiny-target", "Qwen/Qwen3-1.7B", "meta-llama/Llama-3.1-8B"),
    "cache-smaller": ("tiny-draft", "Qwen/Qwen3-0.6B", "meta-llama/Llama-3.2-1B"),
    "cache-older": ("tiny-mha", "gpt2-xl", "meta-llama/Llama-2-7b-hf"),
    "forward": ("tiny-target", "Qwen/Qwen3-4B", "Qwen/Qwen3-4B"),
    "instruct": ("tiny-target", "Qwen/Qwen3-4B", "meta-llama/Llama-3.2-3B-Instruct"),
}


def _roles(machine: int) -> Mapping[str, str]:
    """A column of the table of models."""
    return MappingProxyType({role: models[machine] for role, models in _MODELS.items()})


CPU = MachineProfile(
    name="cpu",
    device="cpu",
    dtype="float32",
    roles=_roles(0),
    pairs=("tiny", "tiny-untrained", "tiny-self"),
    sweep_batch_size=4,  # each sweep takes a minute or two on two cores
    input_lengths=powers_of_2(11),
    output_lengths=powers_of_2(8),
    forward_batch_sizes=powers_of_2(4),
    cache_lengths=powers_of_2(9),
    long_prompt_length=2048,
    long_uncached_lengths=powers_of_2(3),
    n_warmup=1,
    n_repeats=3,
)
T4 = replace(
    CPU,
    name="t4",
    device="cuda",
    dtype="float16",  # a T4 has no bfloat16 in hardware
    roles=_roles(1),
    pairs=("llama-3b-1b", "gemma-1b-270m", "gpt2"),
    sweep_batch_size=8,
    long_prompt_length=8192,
    n_warmup=2,
    n_repeats=5,
)
GPU80 = replace(
    T4,
    name="gpu80",
    dtype="bfloat16",
    roles=_roles(2),
    pairs=("qwen3-8b-0.6b", "qwen3-8b-1.7b", "llama-8b-1b"),
    input_lengths=powers_of_2(15),
    long_prompt_length=32_000,
    long_uncached_lengths=powers_of_2(5),
    n_warmup=3,
    n_repeats=10,
)

PROFILES = MappingProxyType({profile.name: profile for profile in (CPU, T4, GPU80)})
TABLE_LENGTHS = (1, 4, 16, 64, 256, 1024, 4096, 16_384, 32_768)  # the rows of the handout's tables
SMALL_CARD_BYTES = 30e9  # below this the handout's 8B models leave no room to work


def profile(name: str | None = None) -> MachineProfile:
    """The profile of this name; without one, the profile of this machine.

    Raises: ValueError for a name that is not in `PROFILES`.
    """
    if name is None:
        return detect()
    if name not in PROFILES:
        raise ValueError(
            f"no profile is called {name!r}; there are {', '.join(PROFILES)}, "
            "and profile() finds the one that fits this machine"
        )
    return PROFILES[name]


def short(profile: MachineProfile) -> MachineProfile:
    """The same with only the table rows of the handout, and few repeats, to save time in a lab."""
    on_cpu = profile.device == "cpu"
    return replace(
        profile,
        input_lengths=tuple(n for n in profile.input_lengths if n in TABLE_LENGTHS),
        output_lengths=tuple(n for n in profile.output_lengths if n in TABLE_LENGTHS),
        n_warmup=1 if on_cpu else profile.n_warmup,
        n_repeats=3 if on_cpu else profile.n_repeats,
    )


def brief(profile: MachineProfile) -> MachineProfile:
    """The same with one pair, one run to warm up and three that are kept, as runs take seconds."""
    n_repeats = min(3, profile.n_repeats)
    return replace(profile, pairs=profile.pairs[:1], n_warmup=1, n_repeats=n_repeats)


def detect() -> MachineProfile:
    """The profile that fits this machine: cpu without CUDA, t4 below 30 GB, else gpu80.

    The dtype follows the card: float16 where bfloat16 has no hardware.
    """
    import torch

    if not torch.cuda.is_available():
        return CPU
    card = torch.cuda.get_device_properties(0)
    return for_card(card.total_memory, (card.major, card.minor))


def for_card(total_bytes: int, capability: tuple[int, int]) -> MachineProfile:
    """The profile for a CUDA card of this memory and compute capability."""
    fitting = T4 if total_bytes < SMALL_CARD_BYTES else GPU80
    return replace(fitting, dtype=sixteen_bit_dtype(capability))
