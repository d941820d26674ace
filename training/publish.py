"""Put a trained pair into `data/`: `python -m training.publish OUT`.

Copies both model folders, and writes `data/pair.json` (how the pair was made, what it can do, the
hash of every file) and the model cards, which say the same in words.
"""

import argparse
import hashlib
import json
import shutil
from pathlib import Path

from training.model import SHAPES
from training.prompts import DATA
from training.tokens import SHARES

FILES = (
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
)
CARD = """\
---
license: mit
language: en
library_name: transformers
tags: [course-kit, speculative-decoding, tiny]
---

# {name}

A language model of {n_params:,} parameters. With its partner, {partner}, it
lets every lab of this kit run offline on a laptop. It knows the kit's own small world and nothing
else: it is made to be measured and taken apart, not to be asked.

| architecture | layers | width | query heads | KV heads | head_dim | vocabulary | context |
|---|---|---|---|---|---|---|---|
| Qwen3 | {n_layers} | {width} | {n_heads} | {n_kv_heads} | {head_dim} | {vocab} | {context} |

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("data/{name}")
tokenizer = AutoTokenizer.from_pretrained("data/{name}")
```

`labkit.zoo.load("{name}")` does the same and checks the files against `data/pair.json` first.

## Training

| | |
|---|---|
| data | training split of what `training.corpus` generates; no outside text |
| drawn | {shares} (weights; documents differ in length) |
| tokens | {n_tokens:,}, {n_steps:,} steps of {batch_tokens:,} |
| rows | {row_length} tokens, in the last tenth of the steps {context} |
| optimizer | AdamW, peak rate {lr}, cosine, weight decay {weight_decay} |
| last loss | {last_loss} nats a token (prompts included) |
| device | {device}, PyTorch {torch}, {seconds} s |
| again | `python -m training.train OUT`, `training.measure OUT`, `training.publish OUT` |

Weights are stored in bfloat16; the config asks for float32, in which a CPU is fastest.

## Evaluation

{n_eval} held-out documents a source (dev-test split). Held out are whole questions, graphs and
tasks, not their parts: every single fact of the world is taught, sentences of stories and
explanations come back in others, a held-out pattern may be a near relative of one that was seen.

| source | loss of the answer, nats a token | last line right, greedy |
|---|---|---|
{rows}

How often {target} accepts what {draft} proposes (accepted over examined, blocks of 4):

| temperature | {sources} | all |
|---|{dashes}---|
{acceptance}

## Licence

MIT, like the rest of the kit: weights, tokenizer and corpus are our own.
"""


def main() -> None:
    """Copy the folders and write record and cards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of training.train")
    out = parser.parse_args().out
    training = json.loads((out / "training.json").read_text())
    measured = json.loads((out / "measured.json").read_text())
    hashes = {}
    for name in SHAPES:
        folder = DATA / name
        folder.mkdir(exist_ok=True)
        for file in FILES:
            shutil.copyfile(out / name / file, folder / file)
            hashes[f"{name}/{file}"] = hashlib.sha256((folder / file).read_bytes()).hexdigest()
        card_text = card(name, training, measured)
        (folder / "README.md").write_text(card_text, encoding="utf-8")
    record = {"shapes": SHAPES, "training": training, "measured": measured, "files": hashes}
    (DATA / "pair.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def card(name: str, training: dict, measured: dict) -> str:
    """The model card of one of the pair."""
    shape, settings, run = SHAPES[name], training["settings"], training["models"][name]
    target, draft = SHAPES
    loss, right, acceptance = (
        measured["loss"][name],
        measured["right"][name],
        measured["acceptance"],
    )
    sources = list(loss)
    rows = (f"| {source} | {loss[source]:.3f} | {_percent(right.get(source))} |" for source in loss)
    rates = (
        f"| {temperature} | "
        + " | ".join(f"{by_source[source]['rate']:.2f}" for source in (*sources, "all"))
        + " |"
        for temperature, by_source in acceptance.items()
    )
    return CARD.format(
        name=name,
        partner=f"{draft} (its draft)" if name == target else f"{target} (its target)",
        n_params=run["n_params"],
        n_layers=shape["num_hidden_layers"],
        width=shape["hidden_size"],
        n_heads=shape["num_attention_heads"],
        n_kv_heads=shape["num_key_value_heads"],
        head_dim=shape["head_dim"],
        vocab=training["vocab_size"],
        context=shape["max_position_embeddings"],
        shares=", ".join(f"{kind} {share}" for kind, share in SHARES.items()),
        n_tokens=run["n_tokens"],
        **{key: settings[key] for key in ("n_steps", "batch_tokens", "row_length", "weight_decay")},
        lr=dict(settings["peak_lr"])[name],
        last_loss=run["losses"][-1][1],
        device=training["device"],
        torch=training["torch"],
        seconds=run["seconds"],
        n_eval=measured["n_per_source"],
        rows="\n".join(rows),
        target=target,
        draft=draft,
        sources=" | ".join(sources),
        dashes="---|" * len(sources),
        acceptance="\n".join(rates),
    )


def _percent(share: float | None) -> str:
    return "not measured" if share is None else f"{share:.0%}"


if __name__ == "__main__":
    main()
