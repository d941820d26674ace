"""labkit: the reference implementations behind the labs on LLM inference.

Modules are imported when first used: `import labkit` costs nothing, `labkit.zoo` works without a
further import, and torch is loaded by the first call that computes.
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    if any(module.name == name for module in iter_modules(__path__)):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
