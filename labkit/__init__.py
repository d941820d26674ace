"""labkit: the reference implementations behind the labs on LLM inference.

Modules are imported when first used: `import labkit` costs nothing, `labkit.zoo` works without a
further import, and torch is loaded by the first call that computes.
"""


def __getattr__(name: str) -> object:
    from importlib import import_module
    from pkgutil import iter_modules

    if name == "__version__":
        return import_module("labkit.measuring.machine").kit_version()
    if any(module.name == name for module in iter_modules(__path__)):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The answers of the labs, and where the rest begins; everything else can be imported too."""
    from pkgutil import iter_modules

    labs = {module.name for module in iter_modules(__getattr__("labs").__path__)}
    answers = {module.name for module in iter_modules(__path__) if module.name in labs}
    return sorted([*answers, "__version__", "kit", "zoo"])
