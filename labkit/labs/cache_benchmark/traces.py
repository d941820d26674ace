"""A trace of conversations and agents, and what a prefix cache finds in it.

How often a conversation goes on, after what pause and with how much text, is that of Mooncake's
trace; first messages and answers have the lengths of Azure's chats; agents and instructions are our
own choice (`data/traffic.json`). Tokens are drawn at random: only where they are equal counts.
"""

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from labkit.models.facts import prices
from labkit.models.traffic import by_shares, fitted

PLACES = ("nowhere", "before the instructions", "after the instructions", "at the end")
ROUTES = ("in turn", "by session", "by beginning")
N_INSTRUCTIONS = {"chat": 1000, "agent": 3000}  # tokens
N_CLOCK = 8  # tokens of the time of day
LONGEST_MESSAGE = 8000  # tokens; the trace has a few that are longer
STEP_S = 0.02  # of an answer's token, while the request is running


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a session: its prompt, and the answer that it will get.

    tokens: the n_prompt tokens of the prompt, and those of the answer.
    """

    at_s: float
    session: int
    tokens: Sequence[int]
    n_prompt: int
    tenant: int = 0

    @property
    def end_s(self) -> float:
        return self.at_s + STEP_S * (len(self.tokens) - self.n_prompt)


def conversations_and_agents(
    rng: random.Random,
    n_chats: int = 60,
    n_agents: int = 8,
    *,
    hours: float = 1.0,
    time_of_day: str = PLACES[0],
    n_applications: int = 4,
    n_tenants: int = 5,
) -> list[Request]:
    """Sessions that begin within these hours; all requests in the order of their arrival.

    Each application has instructions with which all of its prompts begin. time_of_day: the place
    in a prompt of a text that is another one each time.
    Raises: ValueError for a place that is not one of `PLACES`.
    """
    if time_of_day not in PLACES:
        raise ValueError(f"the time of day stands {time_of_day!r}: wanted one of {PLACES}")
    kinds = ["chat"] * n_chats + ["agent"] * n_agents
    written = {
        (kind, i): _text(rng, n)
        for kind, n in N_INSTRUCTIONS.items()
        for i in range(n_applications)
    }
    clock = random.Random(1)  # so that the rest of the trace is the same wherever it stands
    requests = []
    for session, kind in enumerate(kinds):
        instructions = written[kind, rng.randrange(n_applications)]
        at_s, tenant, history = rng.uniform(0, 3600 * hours), rng.randrange(n_tenants), []
        for message, answer, pause_s in _turns(kind, rng):
            now = _text(clock, N_CLOCK)
            parts = [instructions, history, message]
            if time_of_day != PLACES[0]:
                parts.insert({PLACES[1]: 0, PLACES[2]: 1, PLACES[3]: 3}[time_of_day], now)
            prompt = [token for part in parts for token in part]
            request = Request(at_s, session, [*prompt, *answer], len(prompt), tenant)
            requests.append(request)
            history = [*history, *message, *answer]
            at_s = request.end_s + pause_s
    return sorted(requests, key=lambda request: request.at_s)


def _text(rng: random.Random, n_tokens: int) -> list[int]:
    return rng.choices(range(50_000), k=n_tokens)


def _turns(kind: str, rng: random.Random) -> Iterator[tuple[list[int], list[int], float]]:
    """Of each turn the message, the answer, and the pause before the next one."""
    chat, turns, agents = (fitted()[name] for name in ("chat", "turns", "agents"))
    if kind == "agent":
        n_message = by_shares(chat["shares"], chat["prompt"], rng)
        for _ in range(rng.randint(*agents["calls"])):
            texts = _text(rng, round(n_message)), _text(rng, rng.randint(*agents["answer"]))
            yield *texts, rng.uniform(*agents["pause_s"])
            n_message = rng.randint(*agents["result"])
        return
    n_message, p_next = by_shares(chat["shares"], chat["prompt"], rng), turns["p_next_after_first"]
    while True:
        answers = chat["answer_by_prompt"][sum(n_message > n for n in chat["prompt_bounds"])]
        n_answer = round(by_shares(chat["answer_shares"], answers, rng))
        pause = turns["pause_s"]
        pause_s = max(pause["least"], rng.lognormvariate(pause["log_mean"], pause["log_sd"]))
        yield _text(rng, round(min(n_message, LONGEST_MESSAGE))), _text(rng, n_answer), pause_s
        if rng.random() > p_next:
            return
        growth = by_shares(turns["shares"], turns["growth"], rng)
        n_message, p_next = max(1.0, growth - n_answer), turns["p_next_after_later"]


@dataclass(frozen=True, slots=True)
class Found:
    """A request of a trace that was played: where, and the tokens of its prompt that were found."""

    request: Request
    replica: int
    n_found: int


def play(
    requests: Sequence[Request],
    caches: Sequence[Any],
    route: str = ROUTES[1],
    salt_of: Callable[[Request], str] = lambda request: "",
) -> list[Found]:
    """Send each request to one of the caches, one per replica; what each finds there.

    A request is running until its answer is complete. route: replicas take turns, or are chosen by
    the session, or by the prompt's first tokens.
    Raises: ValueError for a trace that is not in the order of arrival, and for another route.
    """
    if any(one.at_s > other.at_s for one, other in pairwise(requests)):
        raise ValueError("the trace is out of order: sort its requests by at_s")
    if route not in ROUTES:
        raise ValueError(f"no route is called {route!r}: wanted one of {ROUTES}")
    found: list[Found] = []
    running: list[tuple[float, int, Any, Request]] = []

    def end_until(at_s: float) -> None:
        while running and running[0][0] <= at_s:
            _, i, cache, request = heapq.heappop(running)
            cache.keep(i, request.tokens, salt_of(request))

    for i, request in enumerate(requests):
        end_until(request.at_s)
        keys = dict(zip(ROUTES, (i, request.session, sum(request.tokens[:16])), strict=True))
        replica = keys[route] % len(caches)
        cache, prompt = caches[replica], request.tokens[: request.n_prompt]
        n_found = int(cache.find(i, prompt, salt_of(request)))
        found.append(Found(request, replica, n_found))
        heapq.heappush(running, (request.end_s, i, cache, request))
    end_until(float("inf"))
    return found


def hit_rate(found: Sequence[Found]) -> float:
    """The part of all prompts' tokens that was found; 0 without requests."""
    n_tokens = sum(one.request.n_prompt for one in found)
    return sum(one.n_found for one in found) / n_tokens if n_tokens else 0.0


def busiest_share(found: Sequence[Found]) -> float:
    """The part of all computed tokens that the busiest replica computes; 0 without requests."""
    computed: Counter[int] = Counter()
    for one in found:
        computed[one.replica] += one.request.n_prompt - one.n_found
    return max(computed.values()) / computed.total() if computed.total() else 0.0


def prompt_prices() -> dict[str, dict]:
    """US dollars per million tokens of a prompt, by model: "fresh", "written" and "read"."""
    table = prices()["prompt_caching"]
    return {name: table[name] for name in table if name != "what"}


def bill_usd(found: Sequence[Found], price: Mapping[str, float], block_size: int = 16) -> float:
    """What all prompts cost: tokens that were found are read, other full blocks are written.

    The tokens after the last full block are fresh. Answers are not counted.
    """
    usd = 0.0
    for one in found:
        n_fresh = one.request.n_prompt % block_size
        n_written = one.request.n_prompt - n_fresh - one.n_found
        counts = {"fresh": n_fresh, "written": n_written, "read": one.n_found}
        usd += sum(price[kind] * n for kind, n in counts.items()) / 1e6
    return usd
