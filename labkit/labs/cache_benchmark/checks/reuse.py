"""Checks of lab 3's answers on edited prompts and on offloaded weights.

Every number is computed again from the facts or by the tokenizer: in the notebook with the
student's functions, with hidden cases by those of `case.right`.
"""

from functools import cache, partial

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, ask, expect_close, fields_of, finite_number_in
from labkit.checks.core import check
from labkit.labs.cache_benchmark.checks.answers import number_of
from labkit.measuring.roofline import ModelWork, Roofline
from labkit.memory import longest_sequence
from labkit.models.facts import vram_readings
from labkit.models.shapes import ModelShape
from labkit.models.sizes import kv_bytes_per_token, weight_bytes

BLOCK_SIZE = 16
OFFLOAD_CARD, OFFLOAD_MODEL = "L40S", "Qwen/Qwen3-14B"
OFFLOADED_BYTES = {"nothing": 0, "4 GB": 4 * 10**9, "8 GB": 8 * 10**9}
OFFLOAD_CONTEXT, LINK_BANDWIDTH = 4096, 25e9

_found = partial(check, "tokens_found")
_plan = partial(check, "offload_plan")


@_found(hint="Compare the tokens of each run with those of the first run.")
def hits_of_the_three_runs_are_those_counted(student: Student, case: AnswerCase) -> None:
    """For same, space before and space after, you count the tokens of equal blocks."""
    for edit in ("same", "space before", "space after"):
        _expect_hit(student, case, edit)


@_found(hint="Find the first token that differs, and the block that it is in.")
def the_edited_block_and_all_after_it_are_lost(student: Student, case: AnswerCase) -> None:
    """After a name has changed, only the blocks before it are found."""
    _expect_hit(student, case, "one name")


@_plan(hint="Pass ModelWork.moved_bytes at 4,096 tokens to offload_step_s.")
def steps_slow_down_by_the_link(student: Student, case: AnswerCase) -> None:
    """A step moves offloaded bytes at the link's bandwidth, and all others at the GPU's."""
    functions = case.right or student
    moved = ModelWork.of(OFFLOAD_MODEL).moved_bytes(OFFLOAD_CONTEXT, 1, 2)
    bandwidth = Roofline.of(OFFLOAD_CARD).bandwidth
    for setting, n_bytes in OFFLOADED_BYTES.items():
        got = number_of(student, case, setting, "step_ms")
        arguments = (moved, n_bytes, bandwidth, LINK_BANDWIDTH)
        right = 1e3 * ask(functions, "offload_step_s", *arguments)
        overlapped_s = ask(functions, "offload_step_s", *arguments, True)
        all_s = moved / bandwidth
        slips = {
            right / 1e3: "Give milliseconds, not seconds.",
            1e3 * overlapped_s: "That is the time with overlap.",
            1e3 * all_s: "That is the time with nothing offloaded.",
            1e3 * (all_s + n_bytes / LINK_BANDWIDTH): "Offloaded bytes come over the link only.",
        }
        what, source = f"{setting}, step_ms", "the bytes of a step and both bandwidths"
        expect_close(case, got, right, what, source, relative=0.01, slips=slips)


@_plan(hint="Call kit.longest_sequence of lab 1 with fewer bytes of weights.")
def room_grows_by_what_is_offloaded(student: Student, case: AnswerCase) -> None:
    """`kv_tokens` is the longest sequence besides the weights that stay on the card."""
    shape = ModelShape.of(OFFLOAD_MODEL)
    readings = {name: lowest for name, (lowest, _) in vram_readings(OFFLOAD_CARD).items()}

    def room(n_bytes: int, reading: str = "driver") -> int:
        resident = weight_bytes(shape.n_params) - n_bytes
        return longest_sequence(readings[reading], resident, kv_bytes_per_token(shape))

    for setting, n_bytes in OFFLOADED_BYTES.items():
        slips = {
            shape.n_layers * room(n_bytes): "That counts keys and values of one layer.",
            room(0): "That is the room with nothing offloaded.",
            room(-n_bytes): "Offloaded weights leave the card: they make room, and take none.",
            room(n_bytes, "GB"): "That is the memory on the box. Take what the driver reports.",
        }
        got = number_of(student, case, setting, "kv_tokens")
        what, source = f"{setting}, kv_tokens", "the card's bytes and the weights that stay"
        expect_close(case, got, room(n_bytes), what, source, relative=0.005, slips=slips)


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
    got = finite_number_in(fields_of(student, case, (edit,))[edit], edit)
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


OPEN_CASES = {name: [AnswerCase(name)] for name in ("tokens_found", "offload_plan")}
