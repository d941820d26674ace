"""The models that the kit knows, as a table to print."""

from labkit.measuring.machine import available_memory_bytes
from labkit.measuring.roofline import BYTES
from labkit.models.facts import models
from labkit.models.tiny import KIT_MODELS, SHIPPED
from labkit.zoo import choose
from labkit.zoo.errors import DamagedModel
from labkit.zoo.folder import shipped_folder


def describe() -> str:
    """One line per model: its size, vocabulary, layers, heads, licence, how it would load here."""
    setting = choose.setting(None, None, None)
    title = ("model", "parameters", "vocab", "layers", "heads", "KV heads", "gated", "here")
    rows = [title]
    for name, facts in (KIT_MODELS | models()).items():
        rows.append(
            (
                name,
                f"{facts['params_exact']:,}",
                f"{facts['vocab_size']:,}",
                str(facts["num_hidden_layers"]),
                str(facts["num_attention_heads"]),
                str(facts["num_key_value_heads"]),
                "yes" if facts["gated"] else "",
                _here(name, facts, setting),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(title))]
    lines = [_line(row, widths) for row in rows]
    lines.append(f"(here: on {setting.device} in {setting.dtype}; gated: the hub needs an account)")
    return "\n".join(lines)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    first, *numbers, last = (
        cell.ljust(width) if i in (0, len(row) - 1) else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join((first, *numbers, last)).rstrip()


def _here(name: str, facts: dict, setting: choose.Setting) -> str:
    """How `load(name)` would get its weights on this machine."""
    free_bytes = available_memory_bytes(setting.device)
    if free_bytes is not None and facts["params_exact"] * BYTES[setting.dtype] > free_bytes:
        return "does not fit"
    if name in SHIPPED:
        try:
            shipped_folder(name)
        except DamagedModel:
            return "damaged"
        return "shipped"
    if name in KIT_MODELS:
        return "random weights"
    from labkit.zoo import hub

    folder, _ = hub.cached_folder(name)
    return "random weights" if folder is None else "in the hub's cache"
