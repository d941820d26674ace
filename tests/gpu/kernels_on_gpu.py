"""Drawing and accepting in Triton: as PyTorch does it, and how fast; a plain script, run by hand.

python tests/gpu/kernels_on_gpu.py OUT.json

Without a GPU, and with TRITON_INTERPRET=1, it checks small cases only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import torch

from labkit.engine import operations, triton_accept, triton_attention
from labkit.engine.captured import captured
from labkit.engine.profiler import PARTS, PartTimes, Stopwatch
from labkit.engine.sampling import Warp, accept, draw, exponential
from labkit.engine.triton_accept import Accept, Draw
from labkit.engine.weights import DecoderShape

WARPS = (Warp(1.0), Warp(0.0), Warp(0.7, top_k=20), Warp(1.0, top_p=0.8))
N_TIMED = 50  # calls in one graph, so that its launch weighs nothing


def shape_of(
    vocab_size: int = 1, n_heads: int = 1, head_dim: int = 1, has_head_norms: bool = False
) -> DecoderShape:
    """A decoder's shape as far as a kernel looks at it."""
    sizes = {"n_layers": 1, "d_model": 1, "d_feedforward": 1, "vocab_size": vocab_size}
    heads = {"n_heads": n_heads, "n_kv_heads": 8, "head_dim": head_dim}
    return DecoderShape(**sizes, **heads, eps=1e-6, has_head_norms=has_head_norms, is_tied=True)


def block(vocab_size: int, gamma: int, warp: Warp, dtype: torch.dtype, device: torch.device):
    """A drafted block as a pair of models that know each other would give it."""
    target = 2 * torch.randn(gamma + 1, vocab_size, device=device)
    draft = target[:gamma] + 0.5 * torch.randn(gamma, vocab_size, device=device)
    target, draft = warp(target.to(dtype)), warp(draft.to(dtype))
    return draw(draft), draft, target


def check_equal(vocab_sizes, gammas, device: torch.device) -> int:
    """Same noise, same outcome. Returns how many blocks were compared."""
    n_compared = 0
    for vocab_size in vocab_sizes:
        kernel = Accept(shape_of(vocab_size), 1, device)
        for gamma, warp, dtype in product(gammas, WARPS, (torch.float32, torch.bfloat16)):
            for settled in (None, 0, gamma // 2, gamma):
                case = block(vocab_size, gamma, warp, dtype, device)
                noise = exponential((vocab_size + gamma,), device)
                n_kept = None if settled is None else torch.tensor([settled], device=device)
                wanted, found = (
                    [each.item() for each in one(*case, noise, n_kept)] for one in (accept, kernel)
                )
                place = (vocab_size, gamma, warp, dtype, settled)
                assert found == wanted, f"{place}: {found} instead of {wanted}"
                n_compared += 1
    return n_compared


def check_draws(vocab_sizes, device: torch.device) -> None:
    """Same noise, same tokens; no token from what is not a number."""
    for vocab_size in vocab_sizes:
        kernel = Draw(shape_of(vocab_size), 3, device)
        for warp, dtype in product(WARPS, (torch.float32, torch.bfloat16)):
            logits = warp(torch.randn(3, vocab_size, device=device).to(dtype))
            noise = exponential(logits.shape, device)
            assert torch.equal(kernel(logits, noise), draw(logits, noise)), (vocab_size, warp)
            assert torch.equal(kernel(logits[1:2], noise[1:2]), draw(logits[1:2], noise[1:2]))
        for row, bad in enumerate((float("nan"), float("inf"))):
            logits[row, vocab_size // 2] = bad
        assert kernel(logits).tolist()[:2] == [-1, -1]
        assert kernel(logits).tolist()[2] >= 0


def check_numbers(vocab_size: int, device: torch.device) -> None:
    """A target that is broken gives no token; one that the draft equals gives its own."""
    kernel, logits = (
        Accept(shape_of(vocab_size), 1, device),
        torch.randn(3, vocab_size, device=device),
    )
    for row in range(3):
        broken = logits.clone()
        broken[row, vocab_size // 2] = float("nan")
        found = [each.item() for each in kernel(draw(logits[:2]), logits[:2], broken)]
        assert found == [row, -1], found
    drafted = draw(logits[:2])
    drafted[1] = -1
    assert kernel(drafted, logits[:2], logits)[0] == 1, "no token from the draft: not kept"
    noise = exponential((vocab_size + 2,), device)
    for n_kept in torch.arange(3, device=device)[:, None]:
        _, after = kernel(draw(logits[:2]), logits[:2], logits, noise, n_kept)
        assert after == draw(logits[n_kept], noise[None, :vocab_size]), (
            "nothing left: the target decides"
        )


def check_law(device: torch.device, n_blocks: int = 40_000) -> float:
    """The first token of captured blocks follows the target; returns the largest deviation."""
    target, draft = torch.randn(3, 5, device=device), torch.randn(2, 5, device=device)
    draw_one, kernel = Draw(shape_of(5), 2, device), Accept(shape_of(5), 1, device)
    counts, one = torch.zeros(5, device=device), torch.ones(1, device=device)

    def step() -> None:
        drafted = draw_one(draft)
        n_kept, after = kernel(drafted, draft, target)
        counts.index_add_(0, torch.where(n_kept > 0, drafted[:1], after), one)

    replay = captured(step)
    counts.zero_()
    n_bytes = torch.cuda.memory_allocated()
    for _ in range(n_blocks):
        replay()
    assert torch.cuda.memory_allocated() == n_bytes
    found, wanted = counts / n_blocks, target[0].softmax(dim=-1)
    deviation = (found - wanted).abs().max().item()
    assert deviation < 4 * 0.5 / n_blocks**0.5, (found, wanted)
    return deviation


def check_profiler(device: torch.device) -> dict[str, float]:
    """Parts of a captured step of known lengths: their shares, and how much of it they cover."""
    profile = PartTimes()
    watch = Stopwatch(profile, device)
    lengths = dict(zip(PARTS, (4, 2, 1, 1), strict=True))

    def step() -> None:
        for part, length in lengths.items():
            torch.cuda._sleep(length * 1_000_000)
            watch.mark(part)

    replay = captured(step)
    for _ in range(20):
        watch.begin()
        replay()
        torch.cuda.synchronize()
        watch.end(1, 1)
    total = profile.seconds("total")
    shares = {part: profile.seconds(part) / total for part in PARTS}
    assert 0.95 < sum(shares.values()) < 1.02, shares
    assert all(abs(shares[part] - length / 8) < 0.05 for part, length in lengths.items()), shares
    return shares


def check_attention(device: torch.device) -> float:
    """As in PyTorch for every number of new tokens, heads and parts; returns the largest error."""
    angles = torch.arange(400, device=device)[:, None] * torch.rand(1, 64, device=device)
    worst = 0.0
    for n_heads, head_dim, has_norms in ((32, 64, False), (32, 128, True), (16, 128, True)):
        shape = shape_of(1, n_heads, head_dim, has_norms)
        ways = [operations.Attention(shape, 1, device)]
        ways += [triton_attention.Attention(shape, 1, device, n_parts) for n_parts in (1, 8, 32)]
        turns = [each[:, : head_dim // 2].contiguous() for each in (angles.cos(), angles.sin())]
        norms = torch.full((n_heads + 8, head_dim), 1.5, device=device).bfloat16()
        norms[n_heads:] = 0.5
        for n_new, n_past in product((1, 4, 11, 16), (0, 1, 127, 300)):
            qkv = torch.randn(n_new, (n_heads + 16) * head_dim, device=device).bfloat16()
            cache = torch.randn(2, 1, 8, 400, head_dim, device=device).bfloat16()
            lengths = torch.tensor([n_past], dtype=torch.int32, device=device)
            wanted, *found = (
                way(
                    qkv,
                    *cache.clone(),
                    way.places(lengths, n_new, *turns),
                    norms if has_norms else None,
                ).float()
                for way in ways
            )
            error = max(float((each - wanted).norm() / wanted.norm()) for each in found)
            assert error < 1e-2, (n_heads, head_dim, n_new, n_past, error)
            worst = max(worst, error)
    return worst


def microseconds(run: Callable[[], object]) -> float:
    """Of one call among many in a graph: the median of ten replays."""

    def many() -> None:
        for _ in range(N_TIMED):
            run()

    replay, times = captured(many), []
    for _ in range(12):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / N_TIMED)
    return sorted(times[2:])[5]


def times(vocab_size: int, gamma: int, dtype: torch.dtype, device: torch.device) -> dict:
    """Microseconds of a verdict, of a draw and of the noise, here and in PyTorch."""
    case = block(vocab_size, gamma, Warp(1.0), dtype, device)
    noise = exponential((vocab_size + gamma,), device)
    shape = shape_of(vocab_size)
    kernel, draw_one = Accept(shape, 1, device), Draw(shape, 1, device)
    row = case[2][:1]
    runs = {
        "accept": lambda: kernel(*case),
        "accept_given_noise": lambda: kernel(*case, noise),
        "accept_torch": lambda: accept(*case),
        "draw": lambda: draw_one(row),
        "draw_torch": lambda: draw(row),
        "noise": lambda: exponential((vocab_size,), device),
    }
    found = {name: round(microseconds(run), 2) for name, run in runs.items()}
    return {"vocab_size": vocab_size, "gamma": gamma, "dtype": str(dtype), "us": found}


def sweep(device: torch.device) -> list[dict]:
    """Microseconds by sizes of the programs, to choose them by."""
    case, rows = block(151_936, 7, Warp(1.0), torch.float32, device), []
    noise = exponential((151_936 + 7,), device)
    for sizes in product((4096, 8192, 16_384), (512, 1024, 2048), (4, 8)):
        names = ("SUM_BLOCK", "RACE_BLOCK", "N_WARPS")
        before = [getattr(triton_accept, name) for name in names]
        for name, size in zip(names, sizes, strict=True):
            setattr(triton_accept, name, size)
        kernel = Accept(shape_of(151_936), 1, device)
        us = microseconds(lambda kernel=kernel: kernel(*case, noise))
        rows.append(dict(zip(names, sizes, strict=True)) | {"accept_us": round(us, 2)})
        for name, size in zip(names, before, strict=True):
            setattr(triton_accept, name, size)
    return sorted(rows, key=lambda row: row["accept_us"])


def main(out: str | None) -> None:
    torch.manual_seed(0)
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda" if on_gpu else "cpu")
    vocab_sizes = (4096, 151_936) if on_gpu else (37,)
    gammas = (1, 2, 5, 7, 10) if on_gpu else (1, 2, 5)
    if not on_gpu:
        triton_accept.SUM_BLOCK, triton_accept.RACE_BLOCK = 16, 8  # several programs, all the same
    n_compared = check_equal(vocab_sizes, gammas, device)
    check_draws(vocab_sizes, device)
    check_numbers(vocab_sizes[-1], device)
    print(f"{n_compared} blocks are as in PyTorch", flush=True)
    if not on_gpu:
        return
    record = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    record |= {"n_compared": n_compared, "law_deviation": check_law(device)}
    record |= {"attention_error": check_attention(device)}
    record |= {"profiled": check_profiler(device), "times": []}
    for vocab_size, gamma in product((128_256, 151_936), (2, 5, 7, 10)):
        record["times"].append(times(vocab_size, gamma, torch.float32, device))
        print(record["times"][-1], flush=True)
    record["times"].append(times(151_936, 7, torch.bfloat16, device))
    record["sweep"] = sweep(device)
    print(record["times"][-1], *record["sweep"][:5], sep="\n", flush=True)
    if out:
        Path(out).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", metavar="OUT.json", nargs="?")
    main(parser.parse_args().out)
