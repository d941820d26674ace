"""Checks of lab 3's answers on edited prompts and on slower memories.

Every number is computed again from the facts or by the tokenizer: in the notebook with the
student's functions, with hidden cases by those of `case.right`.
"""

from functools import cache, partial

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, expect_close, field_of
from labkit.checks.core import check
from labkit.checks.recorded import record_named
from labkit.memory import longest_sequence
from labkit.models.shapes import ModelShape
from labkit.models.sizes import kv_bytes_per_token

BLOCK_SIZE = 16
TIER_MODEL, N_PROMPT = "meta-llama/Llama-3.2-3B-Instruct", 5761
LINK_BANDWIDTH = 54e9
OFFLOAD_MODEL, OFFLOADED_BYTES = "Qwen/Qwen3-14B", 4 * 10**9

_found = partial(check, "tokens_found")
_tiers = partial(check, "tiers")


@_found(hint="Compare the tokens of each run with those of the first run.")
def hits_of_the_three_runs_are_those_counted(student: Student, case: AnswerCase) -> None:
    """For same, space before and space after, you count the tokens of equal blocks."""
    for edit in ("same", "space before", "space after"):
        _expect_hit(student, case, edit)


@_found(hint="Find the first token that differs, and the block that it is in.")
def the_edited_block_and_all_after_it_are_lost(student: Student, case: AnswerCase) -> None:
    """After a name has changed, only the blocks before it are found."""
    _expect_hit(student, case, "one name")


@_tiers(hint="Multiply the tokens by kit.kv_bytes_per_token. Divide by the link.")
def the_fetch_is_bytes_over_the_link(student: Student, case: AnswerCase) -> None:
    """`kv_MB` is the cache of the whole prompt, and `fetch_ms` its time over the link."""
    n_bytes = _prompt_bytes()
    n_layers = ModelShape.of(TIER_MODEL).n_layers
    got = field_of(student, case, "kv_MB")
    slips = {
        n_bytes: "Those are bytes. Give MB (10**6 bytes).",
        n_bytes / 2**20: "Those are MiB. Give MB (10**6 bytes).",
        n_bytes / 1e9: "Those are GB. Give MB (10**6 bytes).",
        n_bytes / 1e6 / n_layers: "That is one layer. Count all layers.",
        n_bytes / 2e6: "Both a key and a value are stored.",
    }
    source = f"{N_PROMPT:,} tokens of the 3B model"
    expect_close(case, got, n_bytes / 1e6, "kv_MB", source, relative=0.005, slips=slips)
    got, right = field_of(student, case, "fetch_ms"), 1e3 * n_bytes / LINK_BANDWIDTH
    slips = {right / 1e3: "Give milliseconds, not seconds."}
    source = "kv_MB over 54 GB/s"
    expect_close(case, got, right, "fetch_ms", source, relative=0.01, slips=slips)


@_tiers(hint="Divide the bytes by the seconds of the recorded prefill.")
def at_break_even_both_take_as_long(student: Student, case: AnswerCase) -> None:
    """At `break_even_GB_per_s`, to fetch takes as long as the recorded prefill."""
    prefill_s = _recorded_prefill_s()
    right = _prompt_bytes() / prefill_s / 1e9
    got = field_of(student, case, "break_even_GB_per_s")
    slips = {
        1e9 * right: "Those are bytes per second. Give GB/s.",
        1e3 * right: "Those are MB/s. Give GB/s.",
        LINK_BANDWIDTH / 1e9: "That is the link. Over it, to fetch is faster.",
    }
    source = "the bytes of the cache and the recorded prefill"
    what = "break_even_GB_per_s"
    expect_close(case, got, right, what, source, relative=0.02, slips=slips)


@_tiers(hint="Divide the offloaded bytes by the bytes of one token.")
def room_grows_by_what_is_offloaded(student: Student, case: AnswerCase) -> None:
    """`tokens_for_4_GB` is the tokens of KV cache that fit where the weights were."""
    token_bytes = kv_bytes_per_token(ModelShape.of(OFFLOAD_MODEL))
    right = longest_sequence(OFFLOADED_BYTES, 0, token_bytes)
    slips = {
        right * ModelShape.of(OFFLOAD_MODEL).n_layers: "That counts one layer.",
        2 * right: "Both a key and a value are stored.",
        right * 2**30 / 1e9: "1 GB is 10**9 bytes.",
    }
    got, source = field_of(student, case, "tokens_for_4_GB"), "4 GB and the bytes of one token"
    expect_close(case, got, right, "tokens_for_4_GB", source, relative=0.005, slips=slips)


def _prompt_bytes() -> int:
    return N_PROMPT * kv_bytes_per_token(ModelShape.of(TIER_MODEL))


def _recorded_prefill_s() -> float:
    """The first prefill of the four questions in the record of an H100: all is computed."""
    rows = record_named("cache-h100", "cache-*.jsonl").of("multi_turn")
    return next(row.time_s for row in rows if not row.use_cache and row.setting == "round 1")


@cache
def _edited_tokens() -> dict[str, list[int]]:
    """The prompts of the invalidation test, as the tiny pair's tokenizer cuts them."""
    from labkit.labs.cache_benchmark.prompts import edited_prompts
    from labkit.zoo.choose import kit_tokenizer

    tokenizer = kit_tokenizer("tiny-target")
    return {name: tokenizer(text)["input_ids"] for name, text in edited_prompts().items()}


def _blocks(tokens: list[int]) -> list[list[int]]:
    return [tokens[i : i + BLOCK_SIZE] for i in range(0, len(tokens), BLOCK_SIZE)]


def _expect_hit(student: Student, case: AnswerCase, edit: str) -> None:
    got = field_of(student, case, edit)
    tokens, cached = _edited_tokens()[edit], _edited_tokens()["same"]
    pairs = zip(_blocks(tokens), _blocks(cached), strict=False)
    n_equal = next((i for i, (one, other) in enumerate(pairs) if one != other), len(tokens))
    right = min(n_equal, len(cached) // BLOCK_SIZE, (len(tokens) - 1) // BLOCK_SIZE) * BLOCK_SIZE
    slips = {
        len(tokens) - right: "Those are the computed tokens. Give the tokens that are found.",
        right / BLOCK_SIZE: "Those are blocks. Give the tokens in them.",
    }
    if edit == "one name":
        n_blocks = (len(tokens) - 1) // BLOCK_SIZE
        slips |= {
            0: "The blocks before the changed name are found.",
            (n_blocks - 1) * BLOCK_SIZE: "All blocks after the changed one are lost too.",
            right + BLOCK_SIZE: "The block of the changed name is not found.",
        }
    why = f"Only whole blocks of {BLOCK_SIZE} tokens are found." if got % BLOCK_SIZE else ""
    what, source = f'the entry "{edit}"', "the tokens of both prompts, in blocks of 16"
    expect_close(case, got, right, what, source, relative=1e-9, slips=slips, why=why)


OPEN_CASES = {name: [AnswerCase(name)] for name in ("tokens_found", "tiers")}
