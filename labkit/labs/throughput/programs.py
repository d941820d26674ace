"""Small programs of PyTorch operations, to try what counts them. They run beside that."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack, _pop_mode

Steps = Sequence[str]

FACTOR = torch.tensor([[1.0, -2.0, 0.5], [0.25, 1.5, -1.0], [2.0, 0.5, 1.0]], dtype=torch.float64)
STEPS: Mapping[str, tuple[Callable[[torch.Tensor], torch.Tensor], tuple[str, ...]]] = {
    # what a step does, and what it dispatches
    "multiply": (lambda x: x @ FACTOR, ("aten.mm.default",)),
    "add": (lambda x: x + 1, ("aten.add.Tensor",)),
    "add twice": (lambda x: torch.add(x, FACTOR, alpha=2), ("aten.add.Tensor",)),
    "relu": (torch.relu, ("aten.relu.default",)),
    "halve": (lambda x: x * 0.5, ("aten.mul.Tensor",)),
    "turn": (torch.t, ("aten.t.default",)),
    "add in place": (lambda x: x.clone().add_(1), ("aten.clone.default", "aten.add_.Tensor")),
    "scale with gradients": (
        lambda x: x * (2.0 if torch.is_grad_enabled() else 1.0),
        ("aten.mul.Tensor",),
    ),
    "center": (
        lambda x: x - x.sum(dim=1, keepdim=True),
        ("aten.sum.dim_IntList", "aten.sub.Tensor"),
    ),
}
VALUE = ("aten.sum.default", "aten._local_scalar_dense.default")  # what reading the result takes


def expected(steps: Steps) -> Counter[str]:
    """What a program dispatches."""
    return Counter(name for step in steps for name in STEPS[step][1]) + Counter(VALUE)


def value_of(
    steps: Steps,
    instead: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = MappingProxyType({}),
) -> float:
    """What a program computes. instead: what some steps do in place of their own."""
    x = FACTOR
    for step in steps:
        x = instead.get(step, STEPS[step][0])(x)
    return x.sum().item()


def play(
    count: Callable[[Callable[[], Any]], Any],
    programs: Sequence[Steps],
    note: Callable[[float], Any],
    breaks: bool = False,
) -> tuple[list[Any], list[Any]]:
    """What count() gives for each program, and what these results are at the end.

    Other operations run before and after each. note: gets the value of a program each time that it
    runs. breaks: each then raises a ValueError. Raises: RuntimeError if a mode is still on then.
    """
    results, found, n_modes = [], [], len(_get_current_dispatch_mode_stack())
    try:
        for steps in programs:

            def run(steps: Steps = steps) -> None:
                note(value_of(steps))
                if breaks:
                    raise ValueError("this program is broken")

            value_of(["add"])
            results.append(count(run))
            found.append(_plain(results[-1]))
            value_of(["relu"])
        return found, [_plain(each) for each in results]
    except ValueError:
        if len(_get_current_dispatch_mode_stack()) > n_modes:
            raise RuntimeError("the mode is still on. Use a with block") from None
        raise
    finally:
        while len(_get_current_dispatch_mode_stack()) > n_modes:
            _pop_mode()  # one that was never left would go on in all later cells


def _plain(counts: Any) -> Any:
    """Names and numbers; for a name that is no text, its class and its text."""
    if not isinstance(counts, Mapping):
        return counts
    return {
        name if isinstance(name, str) else f"{type(name).__name__} {name}": n
        for name, n in counts.items()
    }
