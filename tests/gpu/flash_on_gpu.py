"""FlashAttention in Triton: as PyTorch computes it, and how fast; a plain script, run by hand.

python tests/gpu/flash_on_gpu.py OUT.json

Without a GPU, and with TRITON_INTERPRET=1, it checks small cases only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from labkit.engine import operations
from labkit.engine.triton_flash import TilePlan, flash_attention, forward, plan_for

BACKENDS = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION")
HEADS = ((1, 1), (4, 4), (6, 2), (5, 1))  # of queries, of keys
TOLERANCE = {torch.float16: 1e-3, torch.bfloat16: 8e-3}  # of the norm: the output is rounded
PLANS = tuple(
    TilePlan(*numbers)
    for numbers in ((128, 128, 8, 2), (128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 8, 4),
                    (128, 64, 4, 3), (64, 128, 4, 3), (64, 64, 4, 3), (128, 32, 8, 4),
                    (256, 64, 8, 3))
)  # fmt: skip


def parts(n_heads: int, n_kv_heads: int, n_rows: int, head_dim: int, dtype, device, n_sequences=1):
    """Queries, keys and values of a normal distribution."""
    heads = (n_heads, n_kv_heads, n_kv_heads)
    return [torch.randn(n_sequences, n, n_rows, head_dim, device=device).to(dtype) for n in heads]


def right(queries: Tensor, keys: Tensor, values: Tensor, is_causal: bool) -> tuple[Tensor, Tensor]:
    """Output and logsumexp in float64, by the definition."""
    group_size = queries.shape[1] // keys.shape[1]
    keys, values = (each.double().repeat_interleave(group_size, 1) for each in (keys, values))
    scores = queries.double() @ keys.mT * queries.shape[-1] ** -0.5
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    return scores.softmax(-1) @ values, scores.logsumexp(-1)


def check_equal(lengths, head_dims, dtypes, device: torch.device) -> tuple[int, float]:
    """As by the definition; returns how many shapes were compared, and the largest error."""
    n_compared, worst = 0, 0.0
    for dtype, head_dim, is_causal in product(dtypes, head_dims, (False, True)):
        for (n_heads, n_kv_heads), n_rows in product(HEADS, lengths):
            given = parts(n_heads, n_kv_heads, n_rows, head_dim, dtype, device, 2)
            given[0] *= 1 + n_compared % 5  # from even weights to sharp ones
            wanted, logsumexp = right(*given, is_causal)
            found, found_logsumexp = forward(*given, is_causal)
            place = (dtype, head_dim, is_causal, n_heads, n_kv_heads, n_rows)
            error = float((found - wanted).norm() / wanted.norm())
            assert error < TOLERANCE[dtype], (place, error)
            assert (found_logsumexp - logsumexp).abs().max() < 1e-3, place
            n_compared, worst = n_compared + 1, max(worst, error)
    return n_compared, worst


def check_edges(device: torch.device) -> None:
    """Large scores, the order of heads and rows in memory, the reference, what is refused."""
    queries, keys, values = parts(2, 2, 70, 32, torch.float16, device)
    large = forward(100 * queries, 100 * keys, values, True)
    assert all(each.isfinite().all() for each in large)
    turned = [each.transpose(1, 2).contiguous().transpose(1, 2) for each in (queries, keys, values)]
    assert torch.equal(flash_attention(*turned), flash_attention(queries, keys, values))
    for is_causal in (False, True):
        wanted = operations.flash_attention(queries, keys[:, :1], values[:, :1], is_causal)
        found = flash_attention(queries, keys[:, :1], values[:, :1], is_causal)
        torch.testing.assert_close(found, wanted, atol=4e-3, rtol=4e-3)
    for bad in (
        (queries.float(), keys.float(), values.float()),
        (queries, keys, values[:, :, 1:]),
        (queries[:, :1], keys, values),
        (queries[..., :8], keys[..., :8], values[..., :8]),
        (queries[:, :, :0], keys[:, :, :0], values[:, :, :0]),
    ):
        try:
            forward(*bad)
        except ValueError:
            continue
        raise AssertionError(f"not refused: {[each.shape for each in bad]}")


def check_memory(device: torch.device) -> int:
    """Bytes beside Q, K and V at N = 16,384: the output, a number a query, and no scores."""
    given = parts(16, 16, 16_384, 64, torch.bfloat16, device)
    flash_attention(*given)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    forward(*given)
    n_bytes = torch.cuda.max_memory_allocated() - before
    assert n_bytes < 1.1 * (given[0].nbytes + 4 * 16 * 16_384), n_bytes
    return n_bytes


def milliseconds(run: Callable[[], object], n_runs: int = 10) -> float:
    """The median of several batches of calls, by CUDA events."""
    times = []
    for _ in range(8):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(n_runs):
            run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / n_runs)
    return sorted(times[1:])[3]


def teraflops(ms: float, given: list[Tensor], is_causal: bool) -> float:
    """Of the two products, half of them where half of the pairs are left out."""
    n_sequences, n_heads, n_rows, head_dim = given[0].shape
    n_flops = 4 * n_sequences * n_heads * n_rows**2 * head_dim / (2 if is_causal else 1)
    return round(n_flops / ms / 1e9, 1)


def times(n_rows: int, head_dim: int, is_causal: bool, device: torch.device) -> dict:
    """Milliseconds and TFLOP/s of this kernel and of PyTorch's, 16 heads, bfloat16."""
    given = parts(16, 16, n_rows, head_dim, torch.bfloat16, device)
    ms = {"labkit": milliseconds(lambda: flash_attention(*given, is_causal))}
    for name in BACKENDS:
        try:
            with sdpa_kernel(getattr(SDPBackend, name)):
                ms[name] = milliseconds(
                    lambda: scaled_dot_product_attention(*given, is_causal=is_causal)
                )
        except RuntimeError as error:
            print(name, str(error).partition("\n")[0], flush=True)
    rates = {name: teraflops(each, given, is_causal) for name, each in ms.items()}
    sizes = {"n_rows": n_rows, "head_dim": head_dim, "is_causal": is_causal}
    return sizes | {"ms": {name: round(each, 4) for name, each in ms.items()}, "tflops": rates}


def sweep(head_dim: int, is_causal: bool, device: torch.device) -> list[dict]:
    """TFLOP/s by plan at N = 8,192, to choose `plan_for` by; the fastest first."""
    given, rows = parts(16, 16, 8192, head_dim, torch.bfloat16, device), []
    for plan in PLANS:
        try:
            ms = milliseconds(lambda plan=plan: forward(*given, is_causal, plan), 5)
        except Exception as error:  # a plan that the chip has no room for
            print(plan, type(error).__name__, str(error).partition("\n")[0][:80], flush=True)
            continue
        rows.append({"plan": str(plan), "tflops": teraflops(ms, given, is_causal)})
    rows.sort(key=lambda row: -row["tflops"])
    print(head_dim, is_causal, *rows, sep="\n", flush=True)
    return rows


def main(out: str | None) -> None:
    torch.manual_seed(0)
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda" if on_gpu else "cpu")
    lengths = (1, 2, 63, 128, 129, 500, 1024) if on_gpu else (1, 37, 130)
    head_dims = (16, 24, 64, 80, 128) if on_gpu else (16, 24)
    dtypes = (torch.bfloat16, torch.float16) if on_gpu else (torch.float16,)
    n_compared, worst = check_equal(lengths, head_dims, dtypes, device)
    check_edges(device)
    print(f"{n_compared} shapes are as by the definition, error at most {worst:.1e}", flush=True)
    if not on_gpu:
        return
    record = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    record |= {"n_compared": n_compared, "error": worst, "extra_bytes": check_memory(device)}
    record["plans"] = {str(d): str(plan_for(d, device)) for d in (64, 128)}
    record["times"] = []
    for sizes in product((4096, 16_384), (64, 128), (False, True)):
        record["times"].append(times(*sizes, device))
        print(record["times"][-1], flush=True)
    record["sweep"] = {f"{d} {c}": sweep(d, c, device) for d in (64, 128) for c in (False, True)}
    if out:
        Path(out).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", metavar="OUT.json", nargs="?")
    main(parser.parse_args().out)
