"""The models that the kit knows, as a table to print."""

from labkit.measuring.tables import Table
from labkit.models.errors import DamagedModel, TooLarge
from labkit.models.facts import models
from labkit.models.tiny import KIT_MODELS
from labkit.zoo import choose

HEADINGS = ("model", "parameters", "vocab", "layers", "heads", "KV heads", "gated", "here")
FACTS = (
    "params_exact",
    "vocab_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
)
WORDS = {"shipped": "shipped", "hub": "in the hub's cache", "random": "random weights"}


def describe() -> str:
    """One line per model: its size, vocabulary, layers, heads, licence, how it would load here."""
    setting = choose.setting(None, None, None)
    rows = [
        (
            name,
            *(facts[fact] for fact in FACTS),
            "yes" if facts["gated"] else "",
            _here(name, setting),
        )
        for name, facts in (KIT_MODELS | models()).items()
    ]
    note = f"(here: on {setting.device} in {setting.dtype}; gated: the hub needs an account)"
    return str(Table(HEADINGS, rows, note=note))


def _here(name: str, setting: choose.Setting) -> str:
    """How `load(name)` would get its weights on this machine."""
    try:
        choose.check_room(name, setting)
        return WORDS[choose.origin(name, "auto").weights]
    except TooLarge:
        return "does not fit"
    except DamagedModel:
        return "damaged"
