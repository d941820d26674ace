"""The audits of lab 8: every number in bold is computed anew, and one of each item is wrong."""

import re
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import ceil, isclose, log10
from statistics import fmean

import pytest

from autograder.builder.source import find_lab
from autograder.labs.papers.attention import moved_by_first, moved_by_standard
from autograder.labs.papers.numbers import acceptance, residual_entry, tokens_per_step
from autograder.labs.papers.rotation import DEFAULT, rotating_names
from labkit.labs.papers.checks.marks import OF_AUDITS
from labkit.labs.papers.items import BOLD, INSTEAD, items, read_item, rotating_item
from labkit.measuring.records import read_record
from labkit.models.facts import data_path
from tests.known.papers import every_item, every_key
from tests.known.papers.newer import NEWER

BLIND_AT_MOST = 0.15
GAMMAS = (1, 2, 3, 5, 7, 10)
EVERY = every_item()


def of_record(name, experiment):
    rows = read_record(data_path("results") / f"{name}.jsonl").of(experiment)
    return {(row.setting, row.use_cache): row for row in rows}


def what_flash_saves():
    """Source: arXiv:2205.14135, the table in Figure 2."""
    flops, moved, ms = (66.6, 75.2), (40.3, 4.4), (41.7, 7.3)
    return {
        "recompute": flops[1] / flops[0],
        "traffic": moved[0] / moved[1],
        "proportion": ms[0] / ms[1],
        "rate": 1e3 * moved[1] / ms[1],
        "intensity": flops[1] / moved[1],
    }


def in_general():
    """Sources: arXiv:2407.08608, section 3.1; 2205.14135, Figure 2; 2211.17192, equation 1."""
    kept = acceptance((0.3, 0.7), (0.6, 0.4))["top_kept"]
    return {
        "idle-units": 989 / 3.9,
        "compatible": 1 / (0.8 + 0.2 * 7.3 / 41.7),
        "quality": 0.6 * kept,  # and after a rejection it has no gap
        "bigram": tokens_per_step(0.2, 3),
        "memory-too": 2 * 8192**2 / 1e6,
    }


def ratio():
    target, draft = (0.4, 0.3, 0.2, 0.1), (0.2, 0.5, 0.1, 0.2)
    return {
        "verdict": target[1] / draft[1],
        "certain": min(1, target[0] / draft[0]),
        "on-average": acceptance(target, draft)["any_kept"],
        "both": draft[3] * min(1, target[3] / draft[3]),
        "again": residual_entry(target, draft, "w")["residual"],
    }


def speedups():
    """The entries as the table rounds them: the sentences are about these."""
    found = {
        setting: row.time_s for (setting, _), row in of_record("regimes-cpu", "regimes").items()
    }
    return {
        (kind, draft): [
            round(found[f"alone, {kind}, 64 new"]
                  / found[f"gamma {gamma}, {kind}, 64 new, {draft}"], 2)
            for gamma in GAMMAS
        ]
        for kind in ("simple", "normal") for draft in ("model", "n-gram")
    }  # fmt: skip


def two_drafts():
    table = speedups()
    best = max(table["normal", "model"])
    assert best == table["normal", "model"][2]
    return {
        "doubling": table["simple", "n-gram"][2] / table["normal", "n-gram"][2],
        "free-drafts": fmean(table["simple", "n-gram"]),
        "model-drafts": fmean(table["normal", "model"]),
        "sure-gain": sum(entry < 1 for row in table.values() for entry in row),
        "share": 1 / best,
    }


def slower():
    """Of the entries as the table rounds them."""
    found = of_record("regimes-cpu", "regimes")
    step_ms = round(1e3 * found["alone, simple, 64 new", True].counts["target_step_s"], 1)
    row = found["gamma 10, simple, 64 new, model", True]
    counts = row.counts
    n_blocks = counts["blocks"] / counts["runs"]
    block_ms = round(1e3 * (row.time_s - counts["prefill_s"]) / n_blocks, 1)
    check_ms = round(1e3 * counts["target_step_s"], 1)
    draft_ms = round(1e3 * counts["draft_step_s"], 2)
    drafts_ms = draft_ms * round(counts["drafted"] / counts["blocks"], 1)
    assert row.n_new / n_blocks < block_ms / step_ms and drafts_ms > step_ms / 2
    return {
        "bookkeeping": block_ms - check_ms - drafts_ms,
        "checking": check_ms - step_ms,
        "drafting": drafts_ms,
        "saturated": 1e6 * 0.6 / 160_000,
        "break-even": block_ms / step_ms,
    }


def reads():
    n, d, tile = 1024, 64, 250
    n_tiles = ceil(n / tile)
    return {
        "keys": 2 * n * d,
        "queries": n_tiles * n * d,
        "statistics": n_tiles * 2 * n,
        "per-key-tile": moved_by_first(n, d, tile).reads,
        "square": moved_by_standard(n, d).reads,
    }


def prefix():
    found = of_record("cache-h100", "multi_turn")
    kept, plain = ([found[f"round {n}", use] for n in range(2, 5)] for use in (True, False))
    assert sum(row.counts["prompt_tokens"] for row in kept) == 17_466
    n_found = kept[0].counts["prompt_tokens"] - kept[0].counts["prefill_tokens"]
    ms = [[round(1e3 * row.time_s) for row in rows] for rows in (kept, plain)]
    return {
        "prefill": sum(row.counts["prefill_tokens"] for row in kept),
        "found": n_found,
        "ratio": ms[1][0] / ms[0][0],
        "saved": sum(ms[1]) - sum(ms[0]),
        "arithmetic": 2 * 3.2e9 * n_found / 1e12,
    }


def one_space():
    found = of_record("cache-h100", "invalidation")
    same, before, after = (
        found[edit, True].counts for edit in ("same", "space before", "space after")
    )
    return {
        "full-blocks": same["prompt_tokens"] % 16,
        "whole-text": after["saved_tokens"] / 16,
        "tokenizer": same["prompt_tokens"] - before["prompt_tokens"],
        "dependence": before["prefill_tokens"],
        "factor": before["prefill_tokens"] / same["prefill_tokens"],
    }


def on_the_host():
    found = of_record("cache-h100", "offload")
    half, whole = (found[setting, True] for setting in ("half", "all"))
    gb = [round(row.counts["offloaded_bytes"] / 1e9, 2) for row in (half, whole)]
    ms = [round(1e3 * row.time_s / row.n_new) for row in (half, whole)]
    return {
        "once": 10 * gb[1],
        "every-step": 1e3 * gb[0] / 54,
        "format": ms[1] - ms[0],
        "rate": 1e3 * gb[1] / ms[1],
        "batch": 8e3 / ms[1],
    }


COMPUTED = {
    "q07": what_flash_saves,
    "q14": two_drafts,
    "q15": slower,
    "q16": reads,
    "q18": prefix,
    "q19": one_space,
    "q20": on_the_host,
    "in_general": in_general,
    "the_ratio": ratio,
    **NEWER,
}


def rounded_as(value, written):
    """A value with as many digits as a text has: after the point, or in all."""
    digits = written.replace(",", "")
    if "." in digits:
        return round(value, len(digits.partition(".")[2]))
    n_zeros = len(digits) - len(digits.rstrip("0"))
    return round(value, -n_zeros) if log10(max(1, abs(value))) > 3 else round(value)


def test_every_audit_is_computed_here():
    assert set(COMPUTED) == {name for name, item in EVERY.items() if item.kind == "audit"}


@pytest.mark.parametrize("name", COMPUTED)
def test_one_sentence_is_false_and_its_number_is_the_keys(name):
    item, key, computed = EVERY[name], every_key()[name], COMPUTED[name]()
    assert set(computed) == set(item.options["en"])
    for option, value in computed.items():
        (written,) = BOLD.findall(item.options["en"][option])
        if option in key.right:
            assert isclose(key.instead, value, rel_tol=OF_AUDITS / 4)
            assert isinstance(key.instead, int) is float(value).is_integer()
            assert not isclose(item.number_in_bold(option), value, rel_tol=0.1)
        else:
            assert rounded_as(value, written) == item.number_in_bold(option), option


@pytest.mark.parametrize("name", COMPUTED)
def test_no_number_that_is_shown_is_the_one_that_is_asked_for(name):
    """A student has to compute it: it stands neither in the question nor in a sentence."""
    item, right = EVERY[name], every_key()[name].instead
    sentences = [text for option, text in item.options["en"].items()]
    for text in sentences:
        assert not isclose(float(BOLD.findall(text)[0].replace(",", "")), right, rel_tol=OF_AUDITS)


def test_an_audit_without_its_numbers_in_bold_is_refused_by_its_files_name(tmp_path):
    good = next(data_path("papers").glob("q07_*.toml")).read_text(encoding="utf-8")
    path = tmp_path / "q07_bad.toml"
    for old, new in (("**1.13**", "1.13"), ("**1.13**", "**1.14**"), ("**1.13**", "**more**")):
        path.write_text(good.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(ValueError, match=r"q07_bad.toml.*recompute needs one number in bold"):
            read_item(path)


# Blind guessing.


def blind_share(item):
    """The expected part of an item's letters: all choices, or all orders, are equally likely."""
    n, n_right = len(item.options["en"]), item.n_right
    if item.kind == "order":
        pairs = [list(pairwise(order)) for order in permutations(range(n))]
        right = list(pairwise(range(n)))
        return fmean(sum(pair in found for pair in right) / (n - 1) for found in pairs)
    n_found = [len(set(chosen) & set(range(n_right))) for chosen in combinations(range(n), n_right)]
    return fmean(max(0, Fraction(2 * found - n_right, n_right)) for found in n_found)


@pytest.mark.parametrize("chosen", list(permutations(rotating_names(), 2)), ids="-".join)
def test_blind_guessing_earns_at_most_fifteen_percent(chosen):
    """In every term. Letters by chance; a number is never guessed: it has hundreds of values."""
    points = {cell.name: cell.points for cell in find_lab("papers").marked}
    places = zip(DEFAULT, chosen, strict=True)
    term = items() | {place: rotating_item(name, place) for place, name in places}
    letters = sum(points[place] * blind_share(item) for place, item in term.items())
    assert len(term) == 20 and sum(points.values()) == 10
    assert all(points[f"{place}_numbers"] == 0.25 and term[place].numbers for place in DEFAULT)
    assert 0 < letters / 10 <= BLIND_AT_MOST


def test_an_audit_earns_half_for_the_sentence_and_half_for_numbers():
    points = {cell.name: cell.points for cell in find_lab("papers").marked}
    for name in COMPUTED:
        place = EVERY[name].id
        assert points[place] == points[f"{place}_numbers"] == 0.25
        assert INSTEAD in EVERY[name].numbers.fields


def test_the_instructions_have_at_most_120_words():
    (text,) = (c.text for c in find_lab("papers").cells if "## How to answer" in c.text)
    assert len(re.findall(r"[A-Za-z][\w'.]*", re.sub(r"```.*?```", "", text, flags=re.S))) <= 120
