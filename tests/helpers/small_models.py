"""Transformers folders that tests write and load: the tiny pair's shapes, a small tokenizer."""

import hashlib
import json
from itertools import product
from pathlib import Path
from string import ascii_lowercase

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from labkit.models.folder import SHIPPED
from labkit.zoo import shape

N_TOKENS = 4096


def merge_rules(letters=ascii_lowercase):
    """Merge rules that build pairs of letters, then triples, enough for the tiny vocabulary."""
    pairs = [(a, b) for a, b in product(letters, repeat=2)]
    triples = [(a + b, c) for (a, b), c in product(pairs, letters)]
    return (pairs + triples)[: N_TOKENS - 257]


def tokenizer(rules=None, prefix_space=False):
    """A byte-level BPE tokenizer with 4,096 tokens: one end-of-text, 256 bytes, and the rules'."""
    rules = rules or merge_rules()
    pieces = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    pieces += sorted({a + b for a, b in rules}, key=lambda piece: (len(piece), piece))
    backend = Tokenizer(BPE({piece: i for i, piece in enumerate(pieces)}, rules))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|endoftext|>")


def write_model(folder, name, seed=0, max_shard_size="50GB", words=None):
    """A folder as the kit ships them: weights in bfloat16, float32 in the config."""
    model = shape.build(name, "cpu", torch.bfloat16, seed=seed)
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    (words or tokenizer()).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "float32"}))
    return model


def write_pair(data: Path):
    """A data folder with a random tiny pair and its record."""
    for seed, name in enumerate(SHIPPED):
        write_model(data / name, name, seed)
    write_record(data)


def write_record(data: Path):
    files = {
        path.relative_to(data).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(data.glob("*/*"))
        if path.name != "README.md"
    }
    (data / "pair.json").write_text(json.dumps({"files": files}))


def write_hub_cache(cache: Path, name: str, source: Path):
    """A hub cache as huggingface_hub lays it out: blobs, and a snapshot of links to them."""
    repository = cache / f"models--{name.replace('/', '--')}"
    snapshot = repository / "snapshots" / ("c0" * 20)
    for folder in (snapshot, repository / "blobs", repository / "refs"):
        folder.mkdir(parents=True)
    (repository / "refs/main").write_text("c0" * 20)
    for path in source.iterdir():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        (repository / "blobs" / digest).write_bytes(path.read_bytes())
        (snapshot / path.name).symlink_to(f"../../blobs/{digest}")
    return snapshot
