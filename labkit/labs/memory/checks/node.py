"""Checks of lab 1's answer on a node of eight cards: what is left, who fits, what a token costs."""

import math
from datetime import date
from functools import partial

from labkit.bridge.student import Student
from labkit.bridge.wire import is_array
from labkit.checks.answers import AnswerCase, ask, expect_close, fields_of
from labkit.checks.compare import finite_number_in, show, slips_named
from labkit.checks.core import Wrong, check
from labkit.labs.memory.checks.tables import config_of
from labkit.labs.memory.node import tokens_per_s
from labkit.models.configs import recent_models
from labkit.models.facts import vram_readings

CARDS, N_CARDS = ("H100-SXM", "H200-SXM"), 8
DEEPSEEK, LENGTH = "deepseek-ai/DeepSeek-V3", 32_768
USERS = (8, 64)
LEAST_USD, MOST_USD, MOST_OVERHEAD_GB = 0.2, 25.0, 60.0

_node = partial(check, "node")


@_node(hint="Multiply the driver's bytes of a card by 8, and subtract one byte per parameter.")
def what_the_weights_leave_of_a_node(student: Student, case: AnswerCase) -> None:
    """`left_gb` is what FP8 weights leave of 8 cards of each kind, as the driver shows them."""
    answer = fields_of(student, case, ("left_gb",))
    for card, got in zip(CARDS, _pair(answer["left_gb"], "left_gb"), strict=True):
        whole = N_CARDS * _driver(card)
        marketed = N_CARDS * vram_readings(card)["GB"][0]
        slips = {
            (whole - 2 * _params()) / 1e9: "That is 2 bytes per parameter: FP8 has 1.",
            (marketed - _params()) / 1e9: "That is the number on the box: take what the driver "
            "shows.",
            (whole - _params()) / 2**30: "That is in GiB: give GB.",
            (whole - recent_models()[DEEPSEEK]["params_active"])
            / 1e9: "All experts have to be in memory, not only the used.",
            (_driver(card) - _params()) / 1e9: "That is one card: a node has 8.",
            whole / 1e9: "The weights were not subtracted.",
        }
        right, what = (whole - _params()) / 1e9, f"left_gb of {card}"
        if not math.isclose(got, right, abs_tol=1.0):
            why = slips_named(got, slips, 0.005)
            source = "8 cards and 1 byte per parameter"
            expect_close(case, got, right, what, source, relative=0, why=why)


@_node(hint="Subtract weights and 8 overheads from 8 x H200. Divide by one cache, rounded down.")
def caches_that_are_spread_fill_the_node(student: Student, case: AnswerCase) -> None:
    """`spread` counts the conversations of 32,768 tokens if each cache lies on one card only."""
    got, width, overhead = _conversations(student, case, "spread")
    cache = _cache(student, case, width)
    room = N_CARDS * (_driver("H200-SXM") - overhead) - _params()
    slips = {
        N_CARDS * (_driver("H200-SXM") - overhead) // cache: "The weights were not subtracted.",
        (room + N_CARDS * overhead) // cache: "The overhead was not subtracted.",
        (room + (N_CARDS - 1) * overhead) // cache: "Each of the 8 cards has the overhead.",
        (room - _params()) // cache: "FP8 weights have 1 byte per parameter, not 2.",
        room // (cache / width * (3 - width)): "The cache has other bytes per number than yours.",
        _copied(overhead, cache): "That is with a copy on every card. Here each cache is on one.",
    }
    _expect_count(case, got, int(max(0, room) // cache), "spread", slips)


@_node(hint="Take one card: subtract an eighth of the weights and its overhead.")
def a_copy_on_every_card_leaves_an_eighth(student: Student, case: AnswerCase) -> None:
    """`copied` counts them if every card holds a copy of each cache, as in tensor parallelism."""
    got, width, overhead = _conversations(student, case, "copied")
    cache = _cache(student, case, width)
    room = N_CARDS * (_driver("H200-SXM") - overhead) - _params()
    slips = {
        room // cache: "That is with each cache on one card only.",
        (_driver("H200-SXM") - overhead) // cache: "The weights were not subtracted.",
        (_driver("H200-SXM") - _params() / N_CARDS) // cache: "The overhead was not subtracted.",
    }
    _expect_count(case, got, _copied(overhead, cache), "copied", slips)


@_node(hint="Price x 8 cards is dollars per hour. Divide by the million tokens of an hour.")
def dollars_follow_from_price_and_measured_rate(student: Student, case: AnswerCase) -> None:
    """`usd_per_million` follows from your dated price and the measured rate, at 8 and 64 users."""
    answer = fields_of(student, case, ("usd_per_card_hour", "price_date", "usd_per_million"))
    price = finite_number_in(answer["usd_per_card_hour"], "usd_per_card_hour")
    if not LEAST_USD <= price <= MOST_USD:
        expected = f"{LEAST_USD:g} to {MOST_USD:g} dollars for one card and hour"
        raise Wrong("usd_per_card_hour", expected=expected, got=show(price))
    _expect_date(answer["price_date"])
    pair = _pair(answer["usd_per_million"], "usd_per_million")
    for n_users, got in reversed(list(zip(USERS, pair, strict=True))):
        right = price * N_CARDS / (tokens_per_s(n_users) * 3600 / 1e6)
        slips = {
            right / N_CARDS: "That is the price of one card. The node has 8.",
            right * N_CARDS: "The rate in the table is that of the node, not of one card.",
            right * 3600: "The price is per hour, the rate per second.",
            right / 3600: "The price is per hour, the rate per second.",
            right * n_users: "The rate in the table is that of all users together.",
            right / 1e6: "That is for one token: give dollars per million.",
            1 / right: "That is million tokens per dollar.",
        }
        source = "your price, 8 cards and the measured tokens per second"
        what = f"usd_per_million with {n_users} users"
        expect_close(case, got, right, what, source, relative=0.02, slips=slips)


def _expect_count(
    case: AnswerCase, got: float, right: int, what: str, slips: dict[float, str]
) -> None:
    """The whole number of conversations that fit."""
    if abs(got - right) > 0.01:
        slips = {right + 1: "Round down: the last one does not fit whole."} | slips
        why = slips_named(got, slips, 0.001)
        source = "the card, the weights, your overhead and your bytes per number"
        expect_close(case, got, right, what, source, relative=0, why=why)


def _expect_date(got: object) -> None:
    try:
        day = date.fromisoformat(got.strip() if isinstance(got, str) else "")
    except ValueError:
        raise Wrong("price_date", expected='a day such as "2026-10-24"', got=show(got)) from None
    if not date(2020, 1, 1) <= day <= date(2100, 1, 1):
        raise Wrong("price_date", expected="the day on which you saw the price", got=show(got))


def _pair(got: object, what: str) -> list[float]:
    if is_array(got):
        got = got.reshape(-1).tolist()
    if not isinstance(got, list | tuple) or len(got) != 2:
        raise Wrong(what, expected="two numbers", got=show(got))
    return [finite_number_in(each, what) for each in got]


def _conversations(student: Student, case: AnswerCase, key: str) -> tuple[float, float, int]:
    """The number of conversations, the bytes per number, and the overhead of a card in bytes."""
    answer = fields_of(student, case, (key, "bytes_per_number", "overhead_gb"))
    width = finite_number_in(answer["bytes_per_number"], "bytes_per_number")
    if width not in (1, 2):
        raise Wrong("bytes_per_number", expected="1 or 2", got=show(width))
    overhead = finite_number_in(answer["overhead_gb"], "overhead_gb")
    if not 1 <= overhead <= MOST_OVERHEAD_GB:
        expected = f"1 to {MOST_OVERHEAD_GB:g} GB for each card"
        raise Wrong("overhead_gb", expected=expected, got=show(overhead))
    return finite_number_in(answer[key], key), width, round(overhead * 1e9)


def _copied(overhead: int, cache: float) -> int:
    return int(max(0, _driver("H200-SXM") - overhead - _params() / N_CARDS) // cache)


def _cache(student: Student, case: AnswerCase, width: float) -> float:
    functions = case.right or student
    config = config_of(functions, DEEPSEEK)
    cache = ask(functions, "kv_cache_bytes", config, LENGTH, 1, width)
    if not cache > 0:
        raise Wrong("your kv_cache_bytes gives no bytes to divide by")
    return cache


def _params() -> int:
    return recent_models()[DEEPSEEK]["params_exact"]


def _driver(card: str) -> int:
    return vram_readings(card)["driver"][0]


OPEN_CASES = {"node": [AnswerCase("node")]}
