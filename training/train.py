"""Train the tiny pair: `python -m training.train OUT` (one GPU, about ten minutes).

Tokenizer, rows of tokens, then both models from scratch on the same rows in the same order; the
last tenth of the steps runs on rows as long as the context. OUT gets both model folders and
`training.json`, the record of what was done.
"""

import argparse
import json
import math
import os
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional
from tqdm import tqdm

from training.model import N_CONTEXT, SHAPES, new_model, store
from training.tokenizer import VOCAB_SIZE, corpus_sample, save_tokenizer, train_tokenizer
from training.tokens import rows_in_parallel


@dataclass(frozen=True, slots=True)
class Settings:
    """What a training run depends on, apart from the shapes and the corpus."""

    n_steps: int = 2200
    batch_tokens: int = 131_072
    row_length: int = 1024
    long_share: float = 0.1  # of the steps, at the end, on rows of the whole context
    peak_lr: tuple[tuple[str, float], ...] = (("tiny-target", 2e-3), ("tiny-draft", 4e-3))
    weight_decay: float = 0.1
    n_warmup: int = 100
    n_sample: int = 20_000  # documents of each source that the tokenizer learns from
    n_workers: int = 16
    seed: int = 1

    @property
    def n_long_steps(self) -> int:
        return int(self.n_steps * self.long_share)


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    defaults = Settings()
    for name in ("n_steps", "batch_tokens", "n_sample", "n_workers", "seed"):
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=int, default=getattr(defaults, name)
        )
    help_only = "only this model, with the tokenizer that OUT holds"
    parser.add_argument("--only", choices=tuple(SHAPES), help=help_only)
    options = vars(parser.parse_args())
    out, only = options.pop("out"), options.pop("only")
    train_pair(out, Settings(**options), (only,) if only else tuple(SHAPES))


def train_pair(out: Path, settings: Settings, names: tuple[str, ...] = tuple(SHAPES)) -> None:
    """Make tokenizer and rows, train the models, write everything below `out`.

    A pair shares one tokenizer, so a part of it is trained with the one that `out` holds already.
    """
    started = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    if names == tuple(SHAPES):
        tokenizer = train_tokenizer(corpus_sample(settings.n_sample, settings.seed), VOCAB_SIZE)
        tokenizer.save(str(out / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    batches = make_batches(out / "tokenizer.json", settings)
    print(f"tokenizer and rows: {time.perf_counter() - started:.0f} s", flush=True)
    record = {"settings": asdict(settings), "torch": torch.__version__, "models": {}}
    record["vocab_size"] = tokenizer.get_vocab_size()
    record["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    if names != tuple(SHAPES):
        record["models"] = json.loads((out / "training.json").read_text())["models"]
    for name in names:
        model, losses, seconds = train(name, batches, settings, tokenizer.get_vocab_size())
        store(model.cpu(), out / name)
        save_tokenizer(tokenizer, out / name, N_CONTEXT)
        record["models"][name] = {
            "n_params": sum(weight.numel() for weight in model.parameters()),
            "n_tokens": sum(batch.size for batch in batches),
            "seconds": round(seconds),
            "losses": losses,
        }
        (out / "training.json").write_text(json.dumps(record, indent=1))


def make_batches(tokenizer_file: Path, settings: Settings) -> list[np.ndarray]:
    """The rows of every step, short ones first."""
    batches = []
    for length, n_steps in (
        (settings.row_length, settings.n_steps - settings.n_long_steps),
        (N_CONTEXT, settings.n_long_steps),
    ):
        per_batch = settings.batch_tokens // length
        made = rows_in_parallel(
            tokenizer_file, n_steps * per_batch, length, settings.seed, settings.n_workers
        )
        batches += [made[i * per_batch : (i + 1) * per_batch] for i in range(n_steps)]
    return batches


def train(name: str, batches: list[np.ndarray], settings: Settings, vocab_size: int):
    """Train one model; returns it, its loss at every fiftieth step, and the seconds it took."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    on_gpu = device.type == "cuda"
    torch.set_float32_matmul_precision("high")
    model = new_model(name, vocab_size, settings.seed).to(device)
    forward = torch.compile(model, dynamic=False) if on_gpu else model
    optimizer = torch.optim.AdamW(
        parameter_groups(model, settings), betas=(0.9, 0.95), fused=on_gpu
    )
    peak = dict(settings.peak_lr)[name]
    half = torch.autocast("cuda", dtype=torch.bfloat16) if on_gpu else nullcontext()
    losses, started = [], time.perf_counter()
    for i, batch in enumerate(tqdm(batches, desc=name, mininterval=10)):
        for group in optimizer.param_groups:
            group["lr"] = peak * schedule(i, len(batches), settings.n_warmup)
        tokens = torch.from_numpy(batch.astype(np.int64)).to(device, non_blocking=True)
        with half:
            logits = forward(tokens, use_cache=False).logits
        loss = functional.cross_entropy(
            logits[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten()
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if i % 50 == 0 or i == len(batches) - 1:
            losses.append([i, round(loss.item(), 4)])
    return model.eval(), losses, time.perf_counter() - started


def parameter_groups(model, settings: Settings) -> list[dict]:
    """Matrices decay; norms and the embedding do not."""
    decayed, kept = [], []
    for name, weight in model.named_parameters():
        (kept if weight.ndim < 2 or "embed" in name else decayed).append(weight)
    return [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": kept, "weight_decay": 0.0},
    ]


def schedule(step: int, n_steps: int, n_warmup: int) -> float:
    """The share of the peak rate: a linear rise, then half a cosine down to a fiftieth."""
    if step < n_warmup:
        return (step + 1) / n_warmup
    done = (step - n_warmup) / max(1, n_steps - n_warmup)
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done))


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
