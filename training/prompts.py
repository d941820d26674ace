"""Write `data/prompts.jsonl` and `data/long_prompt.txt`: `python -m training.prompts`.

The prompts come from the corpus's dev split, so no model of the pair was trained on them.
"""

import argparse
import json
from pathlib import Path
from random import Random

from training.corpus import SOURCES, documents, prose

DATA = Path(__file__).resolve().parent.parent / "data"
N_EACH = 5
LONG_PROMPT_CHARACTERS = 135_000  # 32k tokens at the 4.2 characters of English prose
PROMPT_SEED = 274  # five kinds of instruction and of pattern; acceptance as on the whole corpus
BOOK_SEED = 197


def prompts_jsonl() -> str:
    """Five prompts of each source, one JSON object a line."""
    records = [
        {"id": f"{source}-{i}", "source": source, "prompt": document.prompt}
        for source in SOURCES
        for i, document in enumerate(documents(source, "dev", N_EACH, PROMPT_SEED), start=1)
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


def long_prompt() -> str:
    """Chapters of the book of the valleys, one after another."""
    rng = Random(f"long prompt:{BOOK_SEED}")
    chapters: list[str] = []
    while sum(map(len, chapters)) < LONG_PROMPT_CHARACTERS:
        chapters.append(f"Chapter {len(chapters) + 1}. {prose.chapter(rng)}\n\n")
    return "".join(chapters)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    (DATA / "prompts.jsonl").write_text(prompts_jsonl(), encoding="utf-8")
    (DATA / "long_prompt.txt").write_text(long_prompt(), encoding="utf-8")
