"""The pair's tokenizer: byte-level BPE, trained on the corpus.

Digits stand alone, so that sums have one token a digit. Every byte is in the vocabulary, so any
text comes back as it went in.
"""

from collections.abc import Iterable
from pathlib import Path
from random import Random

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from training.corpus import END_OF_TEXT, SOURCES, draw

VOCAB_SIZE = 4096
# A space belongs to the word after it; digits and line breaks stand alone; the rest goes by kind.
WORDS = r" ?\p{L}+|\p{N}|\n+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s"


def train_tokenizer(texts: Iterable[str], vocab_size: int = VOCAB_SIZE) -> Tokenizer:
    """Learn the merges from `texts`; the end-of-text token gets id 0."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def corpus_sample(n_per_source: int, seed: int = 0) -> list[str]:
    """Training documents to learn the merges from, equally many of each source."""
    rng = Random(f"tokenizer:{seed}")
    drawn = (draw(source, rng) for source in SOURCES for _ in range(n_per_source))
    return [document.text for document in drawn if document.split == "train"]


def save_tokenizer(tokenizer: Tokenizer, folder: Path, n_context: int) -> None:
    """Write the tokenizer the way `AutoTokenizer.from_pretrained(folder)` reads it."""
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TEXT,
        pad_token=END_OF_TEXT,
        model_max_length=n_context,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    ).save_pretrained(folder)
    written = folder / "tokenizer_config.json"
    text = written.read_text(encoding="utf-8")  # a name that transformers 4 knows as well
    written.write_text(
        text.replace("TokenizersBackend", "PreTrainedTokenizerFast"), encoding="utf-8"
    )
