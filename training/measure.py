"""What the pair can do, by source: loss, right answers, acceptance.

Run as `python -m training.measure OUT`, where OUT holds both model folders.
"""

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch.nn import functional
from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer

from labkit.engine.cached import EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.weights import weights_of
from labkit.models.sampling import Block
from labkit.speculative import acceptance_rate, speculative
from training.corpus import SOURCES, Document, documents
from training.tasks.generate import generate

N_DOCUMENTS = 100
N_NEW = 160  # tokens of a text that the pair writes
N_ANSWER = 1000  # tokens that an answer may take
N_POSITIONS = 1024  # of a prompt and what follows it
GAMMA = 4
TEMPERATURES = (0.0, 0.7, 1.0)


def main() -> None:
    """Measure the pair in a folder and write `measured.json` beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--n", type=int, default=N_DOCUMENTS)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(options.out / "tiny-target")
    models = {
        name: AutoModelForCausalLM.from_pretrained(options.out / name, dtype=torch.float32).to(
            device
        )
        for name in ("tiny-target", "tiny-draft")
    }
    held_out = {source: documents(source, "dev-test", options.n) for source in SOURCES}
    record = {
        "n_per_source": options.n,
        "loss": {name: losses(model, tokenizer, held_out) for name, model in models.items()},
        "right": {name: right(model, tokenizer, held_out) for name, model in models.items()},
        "acceptance": acceptance(
            *models.values(),
            tokenizer,
            {source: [document.prompt for document in held] for source, held in held_out.items()},
        ),
    }
    (options.out / "measured.json").write_text(json.dumps(record, indent=1))
    print(json.dumps(record, indent=1))


def losses(model, tokenizer, held_out: dict[str, list[Document]]) -> dict[str, float]:
    """Mean loss per token of the answers, in nats, by source."""
    means = {}
    for source, held in held_out.items():
        parts = [answer_loss(model, tokenizer, document) for document in held]
        means[source] = round(sum(loss for loss, _ in parts) / sum(n for _, n in parts), 4)
    return means


@torch.inference_mode()
def answer_loss(model, tokenizer, document: Document) -> tuple[float, int]:
    """Summed loss of an answer and its number of tokens, the end of the text included."""
    n_prompt = len(tokenizer(document.prompt)["input_ids"])
    ids = tokenizer(document.text + tokenizer.eos_token, return_tensors="pt")["input_ids"]
    logits = model(ids.to(model.device)).logits[0, n_prompt - 1 : -1].float().cpu()
    answer = ids[0, n_prompt:]
    return functional.cross_entropy(logits, answer, reduction="sum").item(), len(answer)


def right(model, tokenizer, held_out: dict[str, list[Document]]) -> dict[str, float]:
    """Share of greedy answers whose last line is right, by source that has such a line."""
    shares = {}
    for source in ("graph", "choice", "pattern"):
        held = held_out[source]
        texts = generate(model, tokenizer, [document.prompt for document in held], N_ANSWER)
        hits = [
            text.splitlines()[-1:] == document.answer.splitlines()[-1:]
            for text, document in zip(texts, held, strict=True)
        ]
        shares[source] = round(sum(hits) / len(hits), 3)
    return shares


def acceptance(target, draft, tokenizer, prompts: dict[str, list[str]]) -> dict:
    """Accepted over examined, by temperature and source, where the pair writes N_NEW tokens."""
    decoders = [Decoder(weights_of(model, N_POSITIONS), N_POSITIONS) for model in (target, draft)]
    return accepted(lambda: map(EngineModel, decoders), tokenizer, prompts)


def accepted(make_pair: Callable[[], Iterable], tokenizer, prompts: dict[str, list[str]]) -> dict:
    """The same, for a pair of cached models that is made for each text."""
    rng = torch.Generator("cpu").manual_seed(0)
    table = {}
    for temperature in TEMPERATURES:
        by_source = {
            source: _played(make_pair, tokenizer, texts, temperature, rng)
            for source, texts in prompts.items()
        }
        by_source["all"] = [block for blocks in by_source.values() for block in blocks]
        table[str(temperature)] = {
            source: {
                "accepted": sum(block.n_accepted for block in blocks),
                "examined": sum(block.examined for block in blocks),
                "rate": round(acceptance_rate(blocks), 4),
            }
            for source, blocks in by_source.items()
        }
    return table


def _played(
    make_pair: Callable[[], Iterable],
    tokenizer,
    prompts: list[str],
    temperature: float,
    rng: torch.Generator,
) -> list[Block]:
    """The blocks in which the pair continues the prompts."""
    blocks: list[Block] = []
    for prompt in tqdm(prompts, desc=f"temperature {temperature}", mininterval=10):
        target, draft = make_pair()
        ids, eos = tokenizer(prompt)["input_ids"], tokenizer.eos_token_id
        settings = {"temperature": temperature, "eos": eos, "rng": rng, "blocks": blocks}
        speculative(target, draft, ids, N_NEW, GAMMA, **settings)
    return blocks


if __name__ == "__main__":
    main()
