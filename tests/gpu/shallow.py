"""Models of few layers whose exact logits are known, and the record of the errors against them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from labkit.zoo.shape import config_of


def shallow_model(name: str, n_layers: int, spread: float) -> Any:
    """A model of this shape on the GPU in bfloat16, random, with uneven norms.

    spread: the standard deviation of the weights.
    """
    from transformers import AutoModelForCausalLM

    config = config_of(name)
    config.num_hidden_layers, config.vocab_size = n_layers, 1000
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:n_layers]
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).cuda().eval()
    for parameter_name, parameter in model.named_parameters():
        if "norm" in parameter_name:
            parameter.data.uniform_(0.5, 1.5)
        else:
            parameter.data.normal_(0, spread)
    return model


def write_errors(errors_of: Callable[[str], dict], models: Sequence[str], about: str) -> None:
    """Print the errors of each model, and write them to the file of the command line."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("out", metavar="OUT.json", type=Path)
    out = parser.parse_args().out
    record = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "errors": {name: errors_of(name) for name in models},
    }
    print(json.dumps(record, indent=1))
    out.write_text(json.dumps(record, indent=1) + "\n")
