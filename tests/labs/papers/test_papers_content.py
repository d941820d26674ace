"""What lab 8 asks and explains: the key is the researched one, and the words are our own."""

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from math import ceil, isclose
from pathlib import Path
from statistics import fmean

import pytest

from autograder.labs.papers.key import FOLDER
from autograder.labs.papers.numbers import (
    rates,
    reads_holding,
    speedup_of_tiles,
    tile_holding,
)
from labkit.labs.papers.items import LANGUAGES, items
from labkit.labs.papers.words import unit_in
from labkit.measuring.records import read_record
from labkit.models.facts import data_path
from tests.known.papers import every_item, every_key

FOUND = {  # of the homework's questions: option letters or step numbers in our ids, and the answer;
    # an option without a letter is our own
    "q01": ("1 extra 2 screen 3 append 4 draft 5 score", "45213"),
    "q02": ("A draft-size B task C arithmetic D empty-step E ceiling", "BCE"),
    "q03": ("A confident B architecture C greedy D length E sequential", "ABCD"),
    "q04": ("A small-model B cache C documents D early-exit E revision", "AD"),
    "q05": ("A top-k B boosting C tree-shape D shared-prefix E partition", "D"),
    "q06": ("1 load-kv 2 scores 3 cut 4 accumulate 5 load-q 6 store", "315246"),
    "q08": ("A non-matmul B tiling C sequence D backward E warps", "ACE"),
    "q09": ("A warpgroup B pingpong C pipeline D hadamard E older-cards", "BC"),
    "q11": ("A absolute B target-first D draft-first", "B"),
    "q13": ("A prompt-length B lookahead C agreement D seed", "BC"),
}
EVERY, KEYS = every_item(), every_key()
OUR_OWN = {"q17"}  # asked of a formula: decided below by computing
AUDITS = {name for name, item in EVERY.items() if item.kind == "audit"}  # test_papers_audits
WINDOWS = set((Path(__file__).parent / "original_windows.txt").read_text().split())
N_UNITS = 12
WIDE = re.compile(r"[\u4e00-\u9fff]")
TABLE_ROW = r"^\| (simple|normal), (model|n-gram) \| (.+) \|$"


@pytest.fixture(params=EVERY.values(), ids=lambda item: item.name)
def item(request):
    return request.param


def texts_of(value: object) -> Iterator[str]:
    """All strings below a value of a TOML file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_of(each)


def files() -> list[Path]:
    return [*sorted(data_path("papers").rglob("*.toml")), *sorted(FOLDER.rglob("*.toml"))]


def width(text: str) -> int:
    """Columns that a text takes: a Chinese character has two."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def table_of(item_id: str) -> str:
    """The English question with its table, thousands without commas."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", items()[item_id].question["en"])


def rows(name: str, experiment: str) -> dict:
    record = read_record(data_path("results") / f"{name}.jsonl")
    return {(row.setting, row.use_cache): row for row in record.of(experiment)}


# The key.


def test_there_are_twenty_items_and_a_key_for_each():
    assert list(items()) == [f"q{n:02d}" for n in range(1, 21)]
    assert set(KEYS) == set(FOUND) | OUR_OWN | AUDITS
    assert len(files()) == 2 * len(EVERY) == 52


@pytest.mark.parametrize("item_id", FOUND)
def test_the_key_is_the_researched_one(item_id):
    words, answer = FOUND[item_id]
    by_letter = dict(zip(words.split()[::2], words.split()[1::2], strict=True))
    found = [by_letter[letter] for letter in answer]
    right = list(KEYS[item_id].right)
    assert right == found if items()[item_id].kind == "order" else set(right) == set(found)
    assert set(by_letter.values()) <= set(items()[item_id].options["en"])


def test_at_least_eight_items_have_numbers_of_the_students_own():
    assert sum(item.numbers is not None for item in items().values()) >= 8


def test_the_right_reads_are_those_that_the_homework_counts():
    assert items()["q16"].number_in_bold("per-key-tile") == 796_672
    assert reads_holding(1024, 64, 64_000)["reads"] == 796_672
    assert 2 * 1024 * 64 + 5 * 1024 * (2 * 64 + 2) == 796_672


def test_the_speed_ups_of_the_models_item_follow_from_its_model():
    assert KEYS["q17"].right == ("passes",)
    options, asked = items()["q17"].options["en"], items()["q17"].question["en"]
    n, d, t4 = 2048, 64, rates(8.1, 320, 4)
    by_size = {
        size: speedup_of_tiles(n, d, tile_holding(d, size), t4)["speedup"]
        for size in (64_000, 16_384)
    }
    assert isclose(by_size[64_000], 1.899839, abs_tol=1e-6)
    assert f"{by_size[64_000]:.2f} times" in asked
    assert options["passes"].startswith(f"{by_size[16_384]:.2f} times")
    once = speedup_of_tiles(n, d, n, t4, moved=n * (5 * d + 4))["speedup"]
    assert options["each-once"].startswith(f"{once:.2f} times")
    n_tiles = {size: ceil(n / tile_holding(d, size)) for size in by_size}
    assert f"{n_tiles[16_384] / n_tiles[64_000]:.1f} times as many" in options["passes"]


# The recorded numbers.


def test_the_table_of_speed_ups_is_the_record():
    found = {setting: row.time_s for (setting, _), row in rows("regimes-cpu", "regimes").items()}
    for kind, draft, entries in re.findall(TABLE_ROW, table_of("q14"), re.MULTILINE):
        alone_s = found[f"alone, {kind}, 64 new"]
        for gamma, entry in zip((1, 2, 3, 5, 7, 10), entries.split(" | "), strict=True):
            assert f"{alone_s / found[f'gamma {gamma}, {kind}, 64 new, {draft}']:.2f}" == entry


def test_the_two_kinds_of_prompts_are_those_of_the_record():
    found = rows("regimes-cpu", "regimes")
    shown = table_of("q13")
    for kind in ("simple", "normal"):
        drafted = found[f"gamma 3, {kind}, 64 new, n-gram", True]
        counts = drafted.counts
        alone_s = found[f"alone, {kind}, 64 new", True].time_s
        for number in (
            f" {drafted.n_input}",
            f"{alone_s:.2f} s",
            f"{drafted.time_s:.2f} s",
            f"{counts['prefill_s']:.2f} s",
            f" {int(counts['blocks'] / counts['runs'] + 0.5)}",
            f"{counts['accepted'] / counts['examined']:.2f}",
        ):
            assert number in shown, number


def test_the_times_of_the_slow_run_are_those_of_the_record():
    found = rows("regimes-cpu", "regimes")
    alone = found["alone, simple, 64 new", True]
    slow = found["gamma 10, simple, 64 new, model", True]
    counts, n_blocks = slow.counts, slow.counts["blocks"] / slow.counts["runs"]
    assert slow.time_s > alone.time_s
    shown = table_of("q15")
    for number in (
        f"{1e3 * alone.counts['target_step_s']:.1f} ms",
        f"{1e3 * counts['target_step_s']:.1f} ms",
        f"{1e3 * counts['draft_step_s']:.2f} ms",
        f"{1e3 * (slow.time_s - counts['prefill_s']) / n_blocks:.1f} ms",
        f"{counts['drafted'] / counts['blocks']:.1f} drafts",
        f" {slow.n_new / n_blocks:.1f} |",
    ):
        assert number in shown, number


def test_the_rounds_are_those_of_the_record():
    found, shown = rows("cache-h100", "multi_turn"), table_of("q18")
    for n in range(1, 5):
        kept, plain = found[f"round {n}", True], found[f"round {n}", False]
        for number in (kept.counts["prompt_tokens"], kept.counts["prefill_tokens"]):
            assert f" {number:g}" in shown
        for row in (kept, plain):
            assert f" {1e3 * row.time_s:.0f} ms" in shown


def test_the_edits_are_those_of_the_record_that_is_named():
    name = "cache-h100"
    assert f"our record data/results/{name}.jsonl" in items()["q19"].source
    found, shown = rows(name, "invalidation"), table_of("q19")
    for edit, name in (("same", "none"), ("space before",) * 2, ("space after",) * 2):
        counts = found[edit, True].counts
        numbers = (counts[f"{key}_tokens"] for key in ("prompt", "saved", "prefill"))
        assert " | ".join([f"| {name}", *(f"{number:g}" for number in numbers)]) + " |" in shown


def test_the_offloaded_steps_are_those_of_the_record():
    found, shown = rows("cache-h100", "offload"), table_of("q20")
    for setting in ("none", "half", "all"):
        row = found[setting, True]
        assert f" {1e3 * row.time_s / row.n_new:.0f} ms" in shown
        assert f"{row.counts['offloaded_bytes'] / 1e9:.3g} GB" in shown


# The words.


def test_a_guess_may_earn_nothing(item):
    n_wrong = len(item.options["en"]) - item.n_right
    assert item.kind == "order" or item.n_right <= 2 * n_wrong


def test_no_item_says_what_another_asks():
    """What a student reads elsewhere: neither the correction's formula nor what is read again."""
    texts = {item.name: " ".join([*item.options["en"].values(), *item.options["zh"].values()])
             for item in EVERY.values()}  # fmt: skip
    for words in ("positive part", "正部", "p − q"):
        assert not [name for name, text in texts.items() if name != "q11" and words in text]
    for text in items()["q08"].numbers.text.values():
        assert not re.search("again|再讀|(all|整個) (of )?(Q|K)|logsumexp", text)


def test_what_holds_on_average_is_said_to():
    options = items()["q02"].options
    for name in ("arithmetic", "ceiling"):
        assert "on average" in options["en"][name] and "平均" in options["zh"][name]
    drafts = items()["q03"].options
    assert "kept less often" in drafts["en"]["length"] and "較少被留下" in drafts["zh"]["length"]


def test_both_languages_say_the_same_kinds_of_things(item):
    key = KEYS[item.name]
    for language in LANGUAGES:
        assert set(item.options[language]) == set(key.why[language])
    n_numbers = [re.findall(r"\d[\d,.]*\d|\d", item.question[language]) for language in LANGUAGES]
    in_code = [re.findall(r"`[^`\n]+`", item.question[language]) for language in LANGUAGES]
    assert in_code[0] == in_code[1]
    assert abs(len(n_numbers[0]) - len(n_numbers[1])) <= 2
    if item.numbers:
        for pattern in (r"\{\w+\}", r"`\w+`"):
            both = [sorted(re.findall(pattern, item.numbers.text[name])) for name in LANGUAGES]
            assert both[0] == both[1]
        assert set(re.findall(r"`(\w+)`", item.numbers.text["en"])) >= set(item.numbers.fields)
        assert all(WIDE.search(unit_in(unit, "zh")) for unit in item.numbers.fields.values())


def test_english_is_english_and_chinese_is_traditional_chinese(item):
    key = KEYS[item.name]
    for language in LANGUAGES:
        numbers = [item.numbers.text[language]] if item.numbers else []
        numbers += [key.how[language]] if key.how else []
        said = [*key.why[language].values(), *key.slips[language].values(), *numbers]
        asked = [item.title[language], item.question[language]]
        assert all(bool(WIDE.search(text)) is (language == "zh") for text in said + asked)
        for text in [*said, *asked, *item.options[language].values()]:
            "".join(WIDE.findall(text)).encode("big5")


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_run_of_twelve_words_is_the_homeworks(path):
    """Nor of twelve Chinese characters, a Latin word among them counting as one."""
    for text in texts_of(tomllib.loads(path.read_text(encoding="utf-8"))):
        units = re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.lower())
        for start in range(len(units) - N_UNITS + 1):
            run = " ".join(units[start : start + N_UNITS])
            assert hashlib.sha256(run.encode()).hexdigest()[:10] not in WINDOWS, run


def test_the_tone_is_calm():
    for path in files():
        for text in texts_of(tomllib.loads(path.read_text(encoding="utf-8"))):
            assert not re.search("[—–!\uff01]|\\.\\.\\.\\.", text), (path.name, text)


def test_the_length_of_an_option_does_not_tell_whether_it_is_right(item):
    for language in LANGUAGES if item.kind != "order" else ():
        widths = {name: width(text) for name, text in item.options[language].items()}
        right = fmean(widths.pop(name) for name in KEYS[item.name].right)
        assert 0.8 <= right / fmean(widths.values()) <= 1.25, language


def test_the_order_in_the_file_does_not_tell_either(item):
    for language in LANGUAGES:
        assert list(item.options[language]) == sorted(item.options[language])


def test_reasons_begin_by_saying_whether_an_option_is_right(item):
    first = {"en": ("Right", "New", "One of"), "zh": ("正確", "新的", "答案之一")}
    if item.kind == "audit":
        first = {"en": ("False: ",), "zh": ("這句不對：",)}
    for language in LANGUAGES if item.kind != "order" else ():
        for name, why in KEYS[item.name].why[language].items():
            assert why.startswith(first[language]) is (name in KEYS[item.name].right), (name, why)
