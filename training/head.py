"""Train the head that drafts from the target's states: `python -m training.head` (a CPU core).

The target reads rows of the corpus once, and its last layer's states are kept. The head's layer
begins as a copy of the target's last one, its input matrix as the least-squares answer to "what
does the target's last layer read at the next token?". Then both are trained to give the target's
own distributions, over several drafted tokens. Writes `data/tiny-head/` with its card, and the
hashes of its files into the `pair.json` beside it.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Generator, Tensor, nn
from torch.nn import functional
from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen3Model

from labkit.engine.cached import EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.draft_head import HEAD, HeadDraft, head_weights
from labkit.engine.weights import weights_of
from training import measure
from training.corpus import SOURCES, documents
from training.prompts import DATA
from training.tokens import rows
from training.train import schedule

TARGET = "tiny-target"
N_HELD_OUT = 16  # rows
WEIGHTS, CONFIG, CARD_FILE = "model.safetensors", "config.json", "README.md"
CARD = """\
---
license: mit
language: en
tags: [course-kit, speculative-decoding, tiny]
---

# {name}

A draft head of {n_params:,} parameters for {target}, and for no other model. It reads what the
target's last layer gave at one position and the token at the next one, and drafts the token after
it: an input matrix, one layer like the target's, then the target's own norm and output matrix,
which are not stored here again.

```python
from labkit import zoo
from labkit.engine.cached import EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.draft_head import HeadDraft, load_head
from labkit.engine.weights import weights_of

loaded = zoo.load("{target}")
target = EngineModel(Decoder(weights_of(loaded.model, 1024), 1024))
draft = HeadDraft(load_head(loaded, 1024), target)
```

Then `labkit.speculative.speculative(target, draft, ...)` writes as with any other draft.

## Training

| | |
|---|---|
| data | training split of what `training.corpus` generates; no outside text |
| tokens | {n_tokens:,} in rows of {row_length}, each read {n_epochs} times |
| states | of the target in float32, computed once |
| start | the layer: the target's last; the input matrix: least squares |
| trained on | cross-entropy with the target's distributions, at last {n_drafted} tokens ahead |
| optimizer | Muon, {batch_rows} rows a step, peak rate {peak_lr}, cosine; norms stay as they were |
| loss | {losses} nats a token on held-out rows, by drafted token (prompts included) |
| device | one CPU core, PyTorch {torch}, {seconds} s |
| again | `python -m training.head` |

Weights are stored in bfloat16. The head belongs to the target whose weights have the SHA-256 that
begins with {sha}.

## Evaluation

How often {target} accepts what the head proposes (accepted over examined, blocks of {gamma}), on
{n_each} held-out documents a source (dev-test split):

| temperature | {sources} |
|---|{dashes}
{acceptance}

## Licence

MIT, like the rest of the kit.
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a training depends on, apart from the target and the corpus."""

    n_rows: int = 1000
    row_length: int = 512
    n_solved: int = 40  # rows that the input matrix's first values come from
    batch_rows: int = 2
    drafted: tuple[int, ...] = (1, 1, 2, 3)  # by epoch: tokens that each position drafts in a row
    peak_lr: float = 1e-2
    n_warmup: int = 20
    weight_decay: float = 0.1
    n_measured: int = 10  # held-out documents of each source
    seed: int = 1


class Head(nn.Module):
    """The head beside its target, whose embedding, norm and output matrix it uses as they are."""

    def __init__(self, target: nn.Module) -> None:
        super().__init__()
        config = deepcopy(target.config)
        config.num_hidden_layers, config.layer_types = 1, ["full_attention"]
        width = config.hidden_size
        self.input = nn.Linear(2 * width, width, bias=False)
        self.body = Qwen3Model(config)
        self.body.norm, self.body.embed_tokens = nn.Identity(), None
        self.body.layers[0].load_state_dict(target.model.layers[-1].state_dict())
        self._frozen = [target]  # in a list: its weights are no part of the head

    def inputs(self, states: Tensor, tokens: Tensor) -> Tensor:
        """(B T 2d): the states before the tokens, and the tokens' embeddings, both normalized."""
        embedded = self._frozen[0].model.embed_tokens(tokens)
        return torch.cat([self._normed(states), self._normed(embedded)], dim=-1)

    def forward(self, states: Tensor, tokens: Tensor) -> Tensor:
        """The head's own states (B T d) after tokens (B T), from the states before them."""
        made = self.input(self.inputs(states, tokens))
        return self.body(inputs_embeds=made, use_cache=False).last_hidden_state

    def logits(self, states: Tensor) -> Tensor:
        """Logits (B T V) of states, by the target's own norm and output matrix."""
        target = self._frozen[0]
        return target.lm_head(target.model.norm(states))

    def _normed(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:], eps=self._frozen[0].config.rms_norm_eps)

    def trained(self) -> dict[str, Tensor]:
        """The tensors that belong to the head, by the names that the engine reads."""
        layer = self.body.layers[0].state_dict()
        return {"input.weight": self.input.weight.data} | {
            f"layer.{name}": tensor for name, tensor in layer.items()
        }


def main() -> None:
    """Parse the command line, train, and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DATA / HEAD, help="another folder to write")
    defaults = Settings()
    for name in ("n_rows", "n_measured", "seed"):
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=int, default=getattr(defaults, name)
        )
    options = vars(parser.parse_args())
    torch.set_num_threads(1)
    publish(options.pop("out"), Settings(**options))


def publish(folder: Path, settings: Settings) -> None:
    """Train a head for the target that ships, and write it with its card into a folder."""
    target = AutoModelForCausalLM.from_pretrained(DATA / TARGET, dtype=torch.float32)
    started = time.perf_counter()
    head, _ = train(target.eval(), settings)
    seconds = round(time.perf_counter() - started)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.to(torch.bfloat16) for name, tensor in head.trained().items()}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    card = {
        "target": TARGET,
        "target_sha256": _sha256(DATA / TARGET / WEIGHTS),
        "vocab_size": target.config.vocab_size,
        "hidden_size": target.config.hidden_size,
        "n_params": sum(tensor.numel() for tensor in tensors.values()),
        "settings": asdict(settings),
        "torch": torch.__version__,
        "seconds": seconds,
        "held_out_loss": held_out_loss(head, target, settings),
        "n_per_source": settings.n_measured,
        "acceptance": measured(tensors, target, settings.n_measured),
    }
    (folder / CONFIG).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    (folder / CARD_FILE).write_text(card_text(card), encoding="utf-8")
    if (pair := folder.parent / "pair.json").is_file():
        record = json.loads(pair.read_text(encoding="utf-8"))
        record["files"] |= {f"{HEAD}/{name}": _sha256(folder / name) for name in (CONFIG, WEIGHTS)}
        pair.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


@torch.no_grad()
def held_out_loss(head: Head, target: nn.Module, settings: Settings) -> list[float]:
    """The loss (nats a token) of each drafted token on rows that no step was on."""
    tokens, states = some_rows(N_HELD_OUT, "held out", settings), []
    hook = target.model.norm.register_forward_pre_hook(lambda _, given: states.append(given[0]))
    target.model(tokens, use_cache=False)
    hook.remove()
    each = losses_of(head, states[0], tokens, settings.drafted[-1])
    return [round(loss.item(), 4) for loss in each]


def measured(tensors: dict[str, Tensor], target: nn.Module, n_each: int) -> dict:
    """How often the target accepts the head's tokens, by temperature and source."""
    n_positions = measure.N_POSITIONS
    ready = Decoder(weights_of(target, n_positions), n_positions)
    drafting = Decoder(head_weights(tensors, target, n_positions), n_positions)

    def make_pair() -> tuple[EngineModel, HeadDraft]:
        model = EngineModel(ready)
        return model, HeadDraft(drafting, model)

    prompts = {
        source: [document.prompt for document in documents(source, "dev-test", n_each)]
        for source in SOURCES
    }
    return measure.accepted(make_pair, AutoTokenizer.from_pretrained(DATA / TARGET), prompts)


def card_text(card: dict) -> str:
    """The model card, from what `config.json` holds."""
    settings, acceptance = card["settings"], card["acceptance"]
    sources = list(next(iter(acceptance.values())))
    lines = (
        f"| {temperature} | "
        + " | ".join(f"{by_source[source]['rate']:.2f}" for source in sources)
        + " |"
        for temperature, by_source in acceptance.items()
    )
    return CARD.format(
        name=HEAD,
        **{key: card[key] for key in ("target", "n_params", "torch", "seconds")},
        **settings,
        n_tokens=settings["n_rows"] * settings["row_length"],
        n_epochs=len(settings["drafted"]),
        n_drafted=settings["drafted"][-1],
        losses=", ".join(f"{loss:.2f}" for loss in card["held_out_loss"]),
        sha=card["target_sha256"][:12],
        gamma=measure.GAMMA,
        n_each=card["n_per_source"],
        sources=" | ".join(sources),
        dashes="---|" * len(sources),
        acceptance="\n".join(lines),
    )


def train(target: nn.Module, settings: Settings) -> tuple[Head, list[list[float]]]:
    """A trained head, and its loss (nats a token, of each drafted one) at every fiftieth step."""
    target.requires_grad_(False)
    torch.manual_seed(settings.seed)
    tokens = some_rows(settings.n_rows, f"head:{settings.seed}", settings)
    head = Head(target)
    states = begin(head, target, tokens, settings)
    for weight in head.parameters():
        weight.requires_grad_(weight.ndim == 2)  # norms stay as they were
    matrices = [weight for weight in head.parameters() if weight.requires_grad]
    optimizer = torch.optim.Muon(
        matrices, weight_decay=settings.weight_decay, adjust_lr_fn="match_rms_adamw"
    )
    losses, batches = [], list(_batches(settings))
    n_steps = len(batches)
    for i, (batch, n_drafted) in enumerate(tqdm(batches, desc=HEAD, mininterval=10)):
        for group in optimizer.param_groups:
            group["lr"] = settings.peak_lr * schedule(i, n_steps, settings.n_warmup)
        each = losses_of(head, states[batch].float(), tokens[batch], n_drafted)
        sum(each).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if i % 50 == 0 or i == n_steps - 1:
            losses.append([i, *(round(loss.item(), 4) for loss in each)])
    return head.eval(), losses


def some_rows(n_rows: int, seed: str, settings: Settings) -> Tensor:
    """Tokens (rows T) of the corpus's training split."""
    made = rows(DATA / TARGET / "tokenizer.json", n_rows, settings.row_length, seed)
    return torch.from_numpy(made.astype("int64"))


def losses_of(head: Head, states: Tensor, tokens: Tensor, n_drafted: int) -> list[Tensor]:
    """The mean cross-entropy with the target's distributions, of the 1st to n-th drafted token.

    The first is drafted from the target's state, the next one from the head's own before it.
    """
    with torch.no_grad():
        wanted = torch.softmax(head.logits(states), dim=-1)
    losses, before = [], shifted(states)
    for i in range(n_drafted):
        own = head(before, tokens)
        found = torch.log_softmax(head.logits(own), dim=-1)
        losses.append(-(wanted * found).sum(-1)[:, i:].mean())
        before = shifted(own)
    return losses


@torch.no_grad()
def begin(head: Head, target: nn.Module, tokens: Tensor, settings: Settings) -> Tensor:
    """The target's states (rows T d), half precision; the input matrix gets its first values."""
    states, read = [], []
    hooks = [
        target.model.norm.register_forward_pre_hook(lambda _, given: states.append(given[0])),
        target.model.layers[-1].register_forward_pre_hook(lambda _, given: read.append(given[0])),
    ]
    n_solved, size = settings.n_solved, settings.batch_rows
    for batch in tqdm(tokens.split(size), desc="states", mininterval=10):
        target.model(batch, use_cache=False)
        states[-1] = states[-1].half()
        if len(read) * size > n_solved:
            read.pop()
    for hook in hooks:
        hook.remove()
    kept, wanted = torch.cat(states), torch.cat(read).flatten(0, 1)
    n_solved = len(wanted) // tokens.shape[1]
    given = head.inputs(shifted(kept[:n_solved].float()), tokens[:n_solved]).flatten(0, 1)
    products = given.T @ given
    products += 1e-3 * products.diagonal().mean() * torch.eye(len(products))
    head.input.weight.copy_(torch.linalg.solve(products, given.T @ wanted).T)
    return kept


def shifted(states: Tensor) -> Tensor:
    """The states before each token: zeros before the first."""
    return functional.pad(states, (0, 0, 1, 0))[:, :-1]


def _batches(settings: Settings) -> Iterator[tuple[Tensor, int]]:
    """Numbers of rows, and how many tokens are drafted from them."""
    rng = Generator().manual_seed(settings.seed)
    for n_drafted in settings.drafted:
        order = torch.randperm(settings.n_rows, generator=rng)
        for batch in order.split(settings.batch_rows):
            yield batch, n_drafted


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
