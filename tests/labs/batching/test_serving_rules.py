"""Rules read off a log: right loops keep them all, and each fault breaks its own rule alone."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

from labkit.batching import DecodeLoop, PrefillLoop
from labkit.labs.batching.driver import ORDERS, serve
from labkit.labs.batching.log import DECODE, PREFILL, WORDS, Event, Run, jobs_by_id
from labkit.labs.batching.replay import in_words
from labkit.labs.batching.rules import RULES, faults
from labkit.labs.batching.workload import FixedCosts, Job, Setup

SETUP = Setup(prefill_capacity=60, decode_capacity=60, prefill_batch=2, decode_batch=2)


def random_workload(rng: random.Random) -> dict:
    setup = Setup(
        prefill_capacity=rng.choice((40, 80, 200)),
        decode_capacity=rng.choice((40, 80, 300)),
        prefill_batch=rng.choice((1, 2, 4)),
        decode_batch=rng.choice((1, 2, 4, 8)),
        prefill_budget=rng.choice((9, 30, 100)),
        max_length=rng.choice((24, 40)),
        storage=rng.choice((None, 30, 60)),
    )
    jobs = [
        Job(
            id=i,
            n_input=rng.randint(1, 30),
            max_new=rng.choice((None, 0, 1, 2, rng.randint(1, 12), rng.randint(1, 12))),
            stops_after=rng.choice((None, None, 1, rng.randint(1, 9))),
            arrival_s=rng.choice((0.0, 0.0, rng.uniform(0, 20))),
        )
        for i in range(rng.randint(0, 20))
    ]
    costs = FixedCosts(rng.choice((0.1, 1, 3)), rng.choice((0.1, 1)), rng.choice((0, 0.5)))
    return {"jobs": jobs, "setup": setup, "costs": costs}


def right_run(**changed) -> Run:
    """Equal and other prompts; one that ends at once, one that is refused; two wait for slots."""
    lengths = [(10, 4), (10, 6), (10, 4), (10, 4), (13, 1), (10, 0), (14, 5)]
    jobs = [Job(i, *each) for i, each in enumerate(lengths)]
    return serve(jobs, replace(SETUP, **changed), PrefillLoop(), DecodeLoop())


@pytest.mark.parametrize("order", ORDERS)
def test_the_reference_keeps_every_rule_on_random_workloads(order):
    for seed in range(300):
        workload = random_workload(random.Random(seed))
        run = serve(
            **workload, prefill_loop=PrefillLoop(), decode_loop=DecodeLoop(), order=order, seed=seed
        )
        found = faults(run)
        assert not found, (seed, {name: in_words(run, fault) for name, fault in found.items()})


# --------------------------------------------------------------- one fault each, made by hand


def place_of(run: Run, what: str, *, server: str = "", i: int | None = None, n_th: int = 0) -> int:
    """Where the n-th event of a kind stands, on a server, with request i."""
    places = [
        place
        for place, event in enumerate(run.log)
        if event.what == what and server in ("", event.server) and (i is None or i in event.ids)
    ]
    return places[n_th]


def again(run: Run, what: str, **where) -> None:
    """An event happens twice."""
    place = place_of(run, what, **where)
    run.log.insert(place, run.log[place])


def change(run: Run, what: str, *, i: int | None = None, **fields) -> None:
    """An event was otherwise."""
    place = place_of(run, what, i=i)
    run.log[place] = replace(run.log[place], **fields)


def set_up(run: Run, **fields) -> None:
    """The servers had other limits."""
    run.setup = replace(run.setup, **fields)


def swap(run: Run, a: int, b: int) -> None:
    """Two requests changed places, from the prefill on."""
    other = {a: b, b: a}
    for place, event in enumerate(run.log):
        if not (event.what == "ready" and event.server == PREFILL):
            run.log[place] = replace(event, ids=tuple(other.get(i, i) for i in event.ids))


def split(run: Run, n_th: int) -> None:
    """A decode step became one for each of its requests, each in a call of its own."""
    place = place_of(run, "decode", n_th=n_th)
    call, event = run.log[place_of(run, "step", server=DECODE)], run.log[place]
    each = [(replace(event, ids=(i,)), call) for i in event.ids]
    run.log[place : place + 1] = [one for pair in each for one in pair][:-1]


def join_calls(run: Run) -> None:
    """The second decode step was made in the call of the first."""
    first, second = (place_of(run, "decode", n_th=n_th) for n_th in (0, 1))
    run.log[first:second] = [event for event in run.log[first:second] if event.what != "step"]


def send_late(run: Run, i: int) -> None:
    """A request of the first batch was saved and freed when the second had been computed."""
    sent = [run.log.pop(place_of(run, what, server=PREFILL, i=i)) for what in ("save", "free")]
    place = place_of(run, "prefill", n_th=1) + 1
    run.log[place:place] = sent


def delay_free(run: Run, i: int) -> None:
    """A request gives its memory back one decode step late."""
    place = place_of(run, "free", server=DECODE, i=i)
    event = run.log.pop(place)
    later = next(at for at in range(place, len(run.log)) if run.log[at].what == "decode")
    run.log.insert(later + 1, event)


def longer(run: Run, i: int) -> None:
    """A request had asked for one token more."""
    run.jobs[i] = replace(run.jobs[i], max_new=run.jobs[i].max_new + 1)


def starve(run: Run, i: int) -> None:
    """A request could be loaded from the beginning, and nobody may go before the oldest."""
    place = place_of(run, "ready", server=DECODE)
    run.log.insert(place, replace(run.log[place], ids=(i,)))
    set_up(run, patience=0)


def stop(run: Run) -> None:
    run.stopped = "nothing more is done"


DOCTORED = {
    "prefilled once": lambda run: again(run, "prefill", i=6),
    "refused only what cannot run": lambda run: change(run, "refuse", note=" "),
    "prefill memory": lambda run: set_up(run, storage=15),
    "prefill budget": lambda run: set_up(run, prefill_budget=19),
    "batches are filled": lambda run: set_up(run, prefill_batch=3),
    "sent before the next": lambda run: send_late(run, 0),
    "no idle prefill": lambda run: again(run, "step", server=PREFILL, n_th=1),
    "no request is passed over": lambda run: swap(run, 0, 3),
    "finished once": lambda run: again(run, "finish", server=DECODE),
    "ends at its limit": lambda run: longer(run, 1),
    "decode memory": lambda run: set_up(run, decode_capacity=25),
    "reservation covers growth": lambda run: change(run, "load", i=6, tokens=12),
    "moved once, freed once": lambda run: run.log.pop(place_of(run, "free stored")),
    "decode batch size": lambda run: set_up(run, decode_batch=1),
    "everybody runs": lambda run: split(run, 1),
    "done leave at once": lambda run: delay_free(run, 0),
    "a request that fits joins": lambda run: set_up(run, decode_batch=3),
    "no request starves": lambda run: starve(run, 2),
    "one step in a call": join_calls,
    "no idle decode": lambda run: again(run, "step", server=DECODE, n_th=2),
    "all is served": stop,
}


def test_every_rule_has_a_doctored_log():
    assert DOCTORED.keys() == RULES.keys()
    assert faults(right_run()) == {}


@pytest.mark.parametrize("rule", DOCTORED)
def test_a_doctored_log_breaks_this_rule_alone(rule):
    run = right_run()
    DOCTORED[rule](run)
    found = faults(run)
    assert list(found) == [rule], {name: in_words(run, fault) for name, fault in found.items()}


# --------------------------------------------------------------- the many ways to break a rule


def broken(events: list[tuple], jobs: list[Job], setup: Setup = SETUP) -> dict[str, str]:
    """What is said of a log of (server, what, ids, tokens)."""
    log = [Event(0.0, 0.0, *each[:3], *each[3:]) for each in events]
    run = Run(jobs_by_id(jobs), setup, log)
    return {name: fault.sentence for name, fault in faults(run).items()}


TWO = [Job(1, 10, 3), Job(2, 10, 1)]
HERE = (PREFILL, "ready", (1, 2))


def test_what_a_log_lacks_is_found_at_its_end():
    found = broken([HERE, (PREFILL, "prefill", (2,), 10)], TWO)
    assert found["prefilled once"] == "request 1 was never prefilled"
    assert found["sent before the next"] == "request 2 had all its tokens, and was never finished"


def test_the_oldest_that_fits_may_be_left_out_three_times():
    jobs = [Job(i, 10 + i, 3) for i in range(6)]
    begun = [(PREFILL, "ready", tuple(range(6)))]
    for i in range(1, 6):
        one = [(PREFILL, "prefill", (i,), 10 + i), (PREFILL, "free", (i,))]
        begun += one
        assert ("no request is passed over" in broken(begun, jobs)) == (i > SETUP.patience)


def test_newer_requests_may_join_before_the_oldest_that_fits_at_three_steps():
    jobs = [Job(i, 10, 2) for i in range(6)]
    begun = [(DECODE, "ready", tuple(range(6)))]
    for i in range(1, 6):
        begun += [(DECODE, "load", (i,), 12), (DECODE, "decode", (i,), 11), (DECODE, "free", (i,))]
        assert ("no request starves" in broken(begun, jobs)) == (i > SETUP.patience)


def test_who_stays_in_the_batch_with_all_its_tokens_holds_no_slot():
    jobs, setup = [Job(1, 10, 2), Job(2, 10, 9), Job(3, 10, 3)], replace(SETUP, decode_batch=2)
    begun = [(DECODE, "ready", (1, 2, 3)), (DECODE, "load", (1,), 12), (DECODE, "load", (2,), 19)]
    steps = [(DECODE, "decode", (2,), 12)] * 2
    late = [*begun, (DECODE, "decode", (1, 2), 22), *steps[:1]]
    assert "a request that fits joins" not in broken(
        late, jobs, setup
    )  # it leaves too late: another rule
    assert "without request 3" in broken([*late, *steps], jobs, setup)["a request that fits joins"]


def test_a_full_store_is_no_reason_to_prefill():
    jobs, setup = [Job(1, 10, 3), Job(2, 10, 3)], replace(SETUP, storage=15)
    begun = [
        (PREFILL, "ready", (1, 2)),
        (PREFILL, "step", ()),
        (PREFILL, "prefill", (1,), 10),
        (PREFILL, "save", (1,), 10),
        (PREFILL, "free", (1,)),
        (PREFILL, "step", ()),
    ]
    assert "no idle prefill" not in broken(begun, jobs, setup)
    freed = [*begun, (DECODE, "load", (1,), 13), (DECODE, "free stored", (1,)), begun[-1]]
    assert (
        "although request 2 with 10 tokens waits" in broken(freed, jobs, setup)["no idle prefill"]
    )


JOBS = [*TWO, Job(3, 61, 3), Job(4, 10, 0)]
COME = [(PREFILL, "ready", (1, 2, 3, 4))]
BEGUN = [*COME, (PREFILL, "prefill", (1, 2), 20)]
SAVE, REFUSE = (PREFILL, "save", (1,), 10), (PREFILL, "refuse", (3,), 0, "large")
READY = [*COME, (PREFILL, "prefill", (1,), 10), SAVE, (DECODE, "ready", (1,))]
LOAD, STEP = (DECODE, "load", (1,), 13), (DECODE, "decode", (1,), 11)
LOADED, FREE, FREE_STORED = [*READY, LOAD], (DECODE, "free", (1,)), (DECODE, "free stored", (1,))
SECOND = [(DECODE, "ready", (2,)), (DECODE, "load", (2,), 11), (DECODE, "decode", (2,), 11)]


@pytest.mark.parametrize(
    ("rule", "events", "words"),
    [
        ("sent before the next", [*COME, SAVE], "has no memory"),
        ("sent before the next", [*BEGUN, (PREFILL, "free", (1,))], "before it was saved"),
        ("sent before the next", [*BEGUN, SAVE, SAVE], "a second time"),
        (
            "sent before the next",
            [*BEGUN, (PREFILL, "finish", (1,))],
            "request 1 is finished with one token, but has to get 3",
        ),
        (
            "sent before the next",
            [*BEGUN, (PREFILL, "save", (2,), 10)],
            "request 2 is saved for the decode server, but its first token is all that it may",
        ),
        ("sent before the next", [*COME, (PREFILL, "finish", (2,))], "before its prefill"),
        ("refused only what cannot run", [(PREFILL, "refuse", (1,), 0, "no")], "could be served"),
        ("refused only what cannot run", COME, "does not fit, even alone"),
        ("refused only what cannot run", [(PREFILL, "prefill", (4,), 10)], "asks for no token"),
        ("refused only what cannot run", [*COME, REFUSE, REFUSE], "a second time"),
        ("moved once, freed once", [*READY[:-1], LOAD], "before its KV cache has arrived"),
        ("moved once, freed once", [*LOADED, LOAD], "loaded a second time"),
        ("moved once, freed once", [*READY, FREE_STORED], "before it was loaded"),
        ("moved once, freed once", [*LOADED, *[FREE_STORED] * 2], "in the store a second time"),
        ("moved once, freed once", [*READY, FREE], "has no memory on this server"),
        ("moved once, freed once", [*LOADED, FREE, STEP], "its memory was freed"),
        ("moved once, freed once", [*LOADED, (DECODE, "finish", (1,))], "never freed on the dec"),
        (
            "ends at its limit",
            [*LOADED, *[STEP] * 3],
            "all its 3 tokens, with that of the prefill, and gets one more",
        ),
        ("everybody runs", [*READY, STEP], "without having been loaded"),
        ("everybody runs", [*LOADED, (DECODE, "decode", (1, 1), 22)], "2 times in one decode step"),
        ("done leave at once", [*LOADED, *[STEP] * 2, *SECOND], "request 1 has all its tokens"),
    ],
)
def test_what_is_wrong_is_said(rule, events, words):
    assert words in broken(events, JOBS)[rule]


def test_no_log_is_too_odd_to_be_read():
    rng = random.Random(0)
    jobs = [Job(i, rng.randint(1, 80), rng.choice((None, 0, 1, 4))) for i in range(5)]
    kinds = list(product((PREFILL, DECODE), WORDS))
    for _ in range(400):
        log = []
        for _ in range(rng.randint(0, 30)):
            server, what = rng.choice(kinds)
            n_ids = {"step": 0, "error": 0, "ready": 2, "prefill": 3, "decode": 3}.get(what, 1)
            ids = tuple(rng.randrange(5) for _ in range(n_ids))
            log.append(Event(0.0, 0.0, server, what, ids, rng.randrange(90)))
        run = Run(jobs_by_id(jobs), SETUP, log)
        for name, fault in faults(run).items():
            assert in_words(run, fault), name


def test_a_fault_comes_with_its_time_and_the_last_ten_lines():
    run = right_run()
    delay_free(run, 0)
    fault = faults(run)["done leave at once"]
    words = in_words(run, fault).splitlines()
    assert words[0].startswith("at 4.0000 s, request 0 is finished, and still in memory.")
    assert len(words) == 11
    assert words[-1].endswith("a decode step for requests 1, 2")


def test_at_the_end_the_log_of_the_request_is_shown():
    run = Run(jobs_by_id(TWO), SETUP, [Event(0.5, 0.5, *HERE)], "the loop raised an error")
    words = in_words(run, faults(run)["prefilled once"])
    assert words.startswith("at the end, request 1 was never prefilled (the run ended early: the l")
    assert words.endswith("0.5000 s, prefill server: can be taken: requests 1, 2")


def test_without_requests_there_is_nothing_to_break():
    assert faults(serve([], SETUP, PrefillLoop(), DecodeLoop())) == {}
