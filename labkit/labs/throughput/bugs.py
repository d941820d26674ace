"""The function with three bugs that lab 2 shows, and what each of them does to a small model."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import torch

N_NEW, N_INPUT = 20, 16


def generate_with_bugs(model: Any, tokens: torch.Tensor, n_new: int) -> torch.Tensor:
    """As the lab prints it: `n_new` new tokens, if the model has no settings of its own."""
    made = model.generate(tokens, max_new_tokens=n_new)
    return made[:, tokens.shape[1] :]


def symptoms(model: Any) -> None:
    """Print what happens with a model that ends texts, samples, and pads."""
    tokens = torch.arange(1, N_INPUT + 1)[None].to(model.device)
    with _settings(model, do_sample=False):
        greedy = generate_with_bugs(model, tokens, N_NEW)[0].tolist()
    last = next(each for i, each in enumerate(greedy) if i > 2 and each not in greedy[:i])
    with _settings(model, do_sample=False, eos_token_id=last, pad_token_id=last):
        n_made = generate_with_bugs(model, tokens, N_NEW).shape[1]
    with _settings(model, do_sample=True, temperature=1.0), torch.random.fork_rng():
        torch.manual_seed(0)
        runs = [generate_with_bugs(model, tokens, N_NEW)[0] for _ in range(2)]
    n_differing = int((runs[0] != runs[1]).sum()) if len(runs[0]) == len(runs[1]) else N_NEW
    with _settings(model, do_sample=False, pad_token_id=int(tokens[0, 3])):
        n_seen = _n_seen(model, tokens)
    print(f"a model that ends its texts:  asked for {N_NEW} tokens, made {n_made}")
    print(f"a model that samples:         {n_differing} of {N_NEW} tokens differ in two runs")
    print(f"a model that pads:            {N_INPUT} tokens in, {n_seen} are seen")


def _n_seen(model: Any, tokens: torch.Tensor) -> int:
    """How many tokens of the prompt the attention mask of the first pass lets through."""
    seen: list[int] = []

    def look(module: Any, args: tuple, kwargs: dict) -> None:
        mask = kwargs.get("attention_mask")
        seen.append(tokens.shape[1] if mask is None else int(mask[0].bool().sum()))

    hook = model.register_forward_pre_hook(look, with_kwargs=True)
    try:
        generate_with_bugs(model, tokens, 1)
    finally:
        hook.remove()
    return seen[0]


@contextmanager
def _settings(model: Any, **settings: Any) -> Iterator[None]:
    """The model with these settings of its own, for a while."""
    before = model.generation_config
    model.generation_config = deepcopy(before)
    for name, value in ({"eos_token_id": None, "pad_token_id": None} | settings).items():
        setattr(model.generation_config, name, value)
    try:
        yield
    finally:
        model.generation_config = before
