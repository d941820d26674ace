"""What the pair can do, by source: loss, right answers, acceptance.

Run as `python -m training.measure OUT`, where OUT holds both model folders.
"""

import argparse
import json
from pathlib import Path

import torch
from torch.nn import functional
from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer

from labkit.corpus import SOURCES, Document, documents
from training.acceptance import Acceptance, measure

N_DOCUMENTS = 100
N_NEW = 160  # tokens of a sampled text
N_ANSWER = 1000  # tokens that an answer may take
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
        given = generate(model, tokenizer, [document.prompt for document in held], N_ANSWER, 0.0)
        texts = [tokenizer.decode(new, skip_special_tokens=True) for _, new in given]
        hits = [
            text.splitlines()[-1:] == document.answer.splitlines()[-1:]
            for text, document in zip(texts, held, strict=True)
        ]
        shares[source] = round(sum(hits) / len(hits), 3)
    return shares


def acceptance(target, draft, tokenizer, prompts: dict[str, list[str]]) -> dict:
    """Accepted over examined, by temperature and source, on texts that the target samples."""
    rng = torch.Generator("cpu").manual_seed(0)
    table = {}
    for temperature in TEMPERATURES:
        by_source = {}
        for source, texts in prompts.items():
            total = Acceptance(0, 0)
            for prompt, text in generate(target, tokenizer, texts, N_NEW, temperature):
                tokens = torch.cat((prompt, text))
                total += measure(target, draft, tokens, len(prompt), temperature, GAMMA, rng)
            by_source[source] = total
        by_source["all"] = sum(by_source.values(), Acceptance(0, 0))
        table[str(temperature)] = {
            source: {
                "accepted": total.n_accepted,
                "examined": total.n_examined,
                "rate": round(total.rate, 4),
            }
            for source, total in by_source.items()
        }
    return table


@torch.inference_mode()
def generate(
    model, tokenizer, prompts: list[str], n_new: int, temperature: float, n_batch: int = 50
):
    """Continue each prompt; returns pairs: the prompt's tokens, the new ones up to the end."""
    torch.manual_seed(0)
    done = []
    for start in tqdm(range(0, len(prompts), n_batch), desc="generate", mininterval=10):
        batch = tokenizer(prompts[start : start + n_batch], return_tensors="pt", padding=True)
        batch = batch.to(model.device)
        how = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
        out = model.generate(
            **batch, max_new_tokens=n_new, **(how if temperature else {"do_sample": False})
        ).cpu()
        n_padded = batch["input_ids"].shape[1]
        for i, row in enumerate(out):
            prompt = batch["input_ids"][i][batch["attention_mask"][i].bool()].cpu()
            new = row[n_padded:]
            ends = (new == tokenizer.eos_token_id).nonzero()
            done.append((prompt, new[: int(ends[0]) + 1] if len(ends) else new))
    return done


if __name__ == "__main__":
    main()
