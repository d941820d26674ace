"""Traffic like that of two services: it has what was measured of them, and queues as they do."""

import json
import random
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, median, pstdev, pvariance

import pytest

from labkit.batching import DecodeLoop, PrefillLoop
from labkit.labs.batching.driver import serve
from labkit.labs.batching.metrics import summarize
from labkit.labs.batching.traces import read_trace
from labkit.labs.batching.traffic import chat_like, code_like, fitted
from labkit.labs.batching.workload import RooflineCosts, Setup, poisson
from labkit.measuring.roofline import ModelWork, Roofline

SEEDS = range(3)
TRAFFIC = {"code": code_like, "chat": chat_like}


def statistics_of(jobs, seconds):
    arrivals = [job.arrival_s for job in jobs]
    gaps = sorted(b - a for a, b in pairwise(arrivals))
    by_width = {}
    for width in (1, 10):
        counts = [0] * (seconds // width)
        for at_s in arrivals:
            if at_s < len(counts) * width:
                counts[int(at_s / width)] += 1
        by_width[width] = counts
    return {
        "requests": len(jobs),
        "prompt_mean": fmean(job.n_input for job in jobs),
        "answer_mean": fmean(job.stops_after for job in jobs),
        "gap_cv": pstdev(gaps) / fmean(gaps),
        "empty_seconds": by_width[1].count(0) / seconds,
        "dispersion_1_s": pvariance(by_width[1]) / fmean(by_width[1]),
        "dispersion_10_s": pvariance(by_width[10]) / fmean(by_width[10]),
        "most_in_1_s": max(by_width[1]),
        "gap_median_s": median(gaps),
        "gap_95_s": gaps[int(0.95 * len(gaps))],
    }


@pytest.mark.parametrize("name", TRAFFIC)
def test_it_has_what_was_measured_of_the_trace(name):
    trace = dict(fitted()[name]["trace"])
    seconds = trace.pop("seconds")
    runs = [statistics_of(TRAFFIC[name](seconds, random.Random(seed)), seconds) for seed in SEEDS]
    means = {key: fmean(run[key] for run in runs) for key in trace}
    assert means == pytest.approx(trace, rel=0.3, abs=0.03)


@pytest.mark.parametrize("name", TRAFFIC)
def test_a_seed_gives_the_same_and_a_speed_only_shorter_gaps(name):
    usual, fast = (TRAFFIC[name](60, random.Random(7), speed) for speed in (1.0, 4.0))
    assert usual == TRAFFIC[name](60, random.Random(7))
    assert [replace(job, arrival_s=job.arrival_s * 4) for job in fast] == usual
    assert [job.id for job in usual] == list(range(len(usual)))
    assert usual[0].arrival_s >= 0 and usual[-1].arrival_s < 60


def test_the_answer_of_a_chat_depends_on_its_prompt():
    jobs = chat_like(3600, random.Random(0))
    middle = [job.stops_after for job in jobs if 720 < job.n_input < 1050]
    long = [job.stops_after for job in jobs if job.n_input > 1600]
    assert median(middle) > 2 * median(long)


def test_bursts_wait_where_poisson_arrivals_of_the_same_requests_do_not():
    costs = RooflineCosts(Roofline.of("H200-SXM"), ModelWork.of("meta-llama/Llama-3.1-8B"))
    setup = Setup(20_000, 400_000, decode_batch=128, max_length=16_384, prefill_budget=4096)
    bursts = code_like(600, random.Random(1), speed=4)
    rate = len(bursts) / bursts[-1].arrival_s
    even = poisson(len(bursts), rate, random.Random(1))
    even = [replace(job, arrival_s=one.arrival_s) for job, one in zip(bursts, even, strict=True)]
    in_time = [
        summarize(serve(jobs, setup, PrefillLoop(), DecodeLoop(), costs=costs), (0.5, 0.02))
        for jobs in (bursts, even)
    ]
    served = [each.goodput * each.seconds / each.n_requests for each in in_time]
    assert served[0] < 0.7 and served[1] > 0.99


@pytest.mark.parametrize(("seconds", "speed"), [(0, 1), (-1, 1), (60, 0), (float("inf"), 1)])
def test_no_time_and_no_speed_are_refused(seconds, speed):
    with pytest.raises(ValueError, match="wanted seconds and speed above 0"):
        code_like(seconds, random.Random(0), speed)


AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
FIRST = "2023-11-16 18:17:03.9799600,4808,10\n"


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def test_both_public_formats_are_read(tmp_path):
    later = "2023-11-16 18:17:05.4799600,110,27\n"
    (first, second) = read_trace(written(tmp_path, "code.csv", AZURE + FIRST + later))
    assert (first.arrival_s, first.n_input, first.stops_after) == (0.0, 4808, 10)
    assert (second.arrival_s, second.n_input, second.stops_after) == (1.5, 110, 27)
    rows = [
        {"timestamp": at, "input_length": 6758, "output_length": 500, "hash_ids": [0]}
        for at in (3000, 3000, 6001)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    jobs = read_trace(written(tmp_path, "mooncake.jsonl", text))
    assert [job.arrival_s for job in jobs] == pytest.approx([0.0, 0.0, 3.001])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "TIMESTAMP,ContextTokens\n2023-11-16 18:17:03,4808\n", "no GeneratedTokens"),
        ("a.csv", AZURE + FIRST + "2023-11-16 18:17:02,1,1\n", "line 3: it is earlier than"),
        ("a.csv", AZURE + "1700158623.97,4808,10\n", "wanted a date and time"),
        ("a.csv", AZURE + "2023-11-16 18:17:03,4808,-1\n", "GeneratedTokens is '-1'"),
        ("a.csv", AZURE + "2023-11-16 18:17:03,0,1\n", "1 or more"),
        ("a.csv", AZURE, "has no requests"),
        ("a.jsonl", '{"timestamp": 0.5, "input_length": 1, "output_length": 1}', "milliseconds"),
        ("a.jsonl", "[1]\n", "line 1: no timestamp"),
        ("a.jsonl", "nothing\n", "line 1: no timestamp"),
        ("a.parquet", "", "wanted a .csv file or a .jsonl file"),
    ],
)
def test_another_format_is_refused_in_a_sentence(tmp_path, name, text, says):
    with pytest.raises(ValueError, match=says):
        read_trace(written(tmp_path, name, text))
