"""What is evaluated: anything that answers prompts, and local models in particular.

A local model answers greedily, in batches padded on the left; in float32 a prompt gets the same
answer in any batch. A model with a chat template is told the form of the answer, since it has not
been trained on it, and sees each prompt as a user's turn.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.models.tiny import KIT_MODELS
from training.tasks.tool_calls import TOOL, WANTED, holds_call

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from labkit.zoo import LoadedModel

BATCH_SIZE = 16
MAX_NEW_TOKENS = {"paths": 1600, "choice": 256, "open": 512}
INSTRUCTIONS = {
    "paths": (
        "List the paths cheapest first; if there are fewer, list those there are. End with a call "
        f"of the tool submit_paths, as one line of JSON: {WANTED}"
    ),
    "choice": "End with a line of the form: Answer: B",
    "open": "",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model under evaluation.

    fingerprint: tells it from another model of the same name. answer: from a task and prompts to
    one answer per prompt, at most `batch_size` prompts at once.
    """

    name: str
    fingerprint: str
    answer: Callable[[str, Sequence[str]], list[str]]
    batch_size: int = BATCH_SIZE


def local(
    loaded: LoadedModel,
    batch_size: int = BATCH_SIZE,
    max_new_tokens: Mapping[str, int] = MAX_NEW_TOKENS,
) -> Candidate:
    """A model that `labkit.zoo.load` has loaded.

    Raises: ValueError for a model without tokenizer or with random weights.
    """
    if loaded.tokenizer is None or loaded.weights == "random":
        fix = (
            "take tiny-target, which is trained"
            if loaded.name in KIT_MODELS
            else '--weights hub downloads the real ones (load(..., weights="hub"))'
        )
        raise ValueError(
            f"{loaded.name} has random weights here, so its answers mean nothing; {fix}"
        )
    import torch

    model, tokenizer = loaded.model, loaded.tokenizer

    def answer(task: str, prompts: Sequence[str]) -> list[str]:
        is_chat = bool(getattr(tokenizer, "chat_template", None))
        shown = [_chat(tokenizer, task, prompt) if is_chat else prompt for prompt in prompts]
        is_over = holds_call if task == "paths" else None
        try:
            return generate(model, tokenizer, shown, max_new_tokens[task], is_over, not is_chat)
        except torch.OutOfMemoryError:
            raise ValueError(
                f"no memory for {len(prompts)} answers at once: lower --batch-size"
            ) from None

    template = getattr(tokenizer, "chat_template", None)
    shaping = [fingerprint(model), dict(max_new_tokens), [template, INSTRUCTIONS] * bool(template)]
    mark = hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:16]
    return Candidate(loaded.name, mark, answer, batch_size)


def generate(
    model: PreTrainedModel,
    tokenizer: Any,
    prompts: Sequence[str],
    max_new_tokens: int,
    is_over: Callable[[str], bool] | None = None,
    add_special_tokens: bool = True,
) -> list[str]:
    """Greedy continuations of prompts, as one batch; each ends at the end token.

    is_over: ends an answer too; it is asked whenever a token with a "}" has come.
    Raises: ValueError for an empty prompt, and for prompts that leave the model's context no room.
    """
    import torch
    from transformers import GenerationConfig

    rows = tokenizer(list(prompts), add_special_tokens=add_special_tokens)["input_ids"]
    _check_lengths(model, rows, max_new_tokens)
    ends = _end_ids(model, tokenizer)
    pad_id = ends[0] if ends else 0  # any id will do: the mask hides it
    length = max(map(len, rows))
    ids = torch.tensor([[pad_id] * (length - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (length - len(row)) + [1] * len(row) for row in rows])
    settings = GenerationConfig(
        max_new_tokens=max_new_tokens,
        do_sample=False,
        repetition_penalty=1.0,
        eos_token_id=ends or None,
        pad_token_id=pad_id,
    )
    n_kept = [max_new_tokens] * len(rows)
    stopping = [_stopper(tokenizer, length, is_over, n_kept)] if is_over else []
    with torch.inference_mode():
        output = model.generate(
            input_ids=ids.to(model.device),
            attention_mask=mask.to(model.device),
            generation_config=settings,
            stopping_criteria=stopping,
        )
    made = output[:, length:].tolist()
    return [_text(tokenizer, row[:n], ends) for row, n in zip(made, n_kept, strict=True)]


def fingerprint(model: PreTrainedModel) -> str:
    """A hash of a model's config and of the first values of each of its tensors."""
    config = model.config.to_diff_dict()
    for said in ("_name_or_path", "transformers_version"):  # where from and read with what
        config.pop(said, None)
    digest = hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.flatten()[:256].float().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _chat(tokenizer: Any, task: str, prompt: str) -> str:
    turn = {"role": "user", "content": f"{prompt}\n\n{INSTRUCTIONS[task]}".rstrip()}
    return tokenizer.apply_chat_template(
        [turn],
        tools=[TOOL] if task == "paths" else None,
        add_generation_prompt=True,
        tokenize=False,
        enable_thinking=False,  # for templates that know it
    )


def _check_lengths(model: PreTrainedModel, rows: list[list[int]], max_new_tokens: int) -> None:
    if not all(rows):
        raise ValueError("a prompt of no tokens cannot be continued")
    limit = getattr(model.config, "max_position_embeddings", None)
    longest = max(map(len, rows))
    if limit is not None and longest + max_new_tokens > limit:
        raise ValueError(
            f"a prompt of {longest} tokens and {max_new_tokens} new ones do not fit the model's "
            f"context of {limit}: lower --max-new-tokens, or leave out --open-book"
        )


def _end_ids(model: PreTrainedModel, tokenizer: Any) -> list[int]:
    ends = model.generation_config.eos_token_id
    if ends is None:
        ends = tokenizer.eos_token_id
    return [] if ends is None else list(ends) if isinstance(ends, list | tuple) else [ends]


def _stopper(
    tokenizer: Any, n_prompt: int, is_over: Callable[[str], bool], n_kept: list[int]
) -> Callable[..., torch.Tensor]:
    """A stopping criterion that notes in `n_kept` how many tokens of each row belong to it."""
    import torch

    closing = {token_id for token, token_id in tokenizer.get_vocab().items() if "}" in token}

    def stop(input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        n_made = input_ids.shape[1] - n_prompt
        for i, last in enumerate(input_ids[:, -1].tolist()):
            if n_made < n_kept[i] and last in closing:
                text = tokenizer.decode(input_ids[i, n_prompt:], skip_special_tokens=True)
                n_kept[i] = n_made if is_over(text) else n_kept[i]
        return torch.tensor([n_made >= n for n in n_kept], device=input_ids.device)

    return stop


def _text(tokenizer: Any, row: list[int], ends: list[int]) -> str:
    n_kept = next((i for i, token in enumerate(row) if token in ends), len(row))
    return tokenizer.decode(row[:n_kept], skip_special_tokens=True)
