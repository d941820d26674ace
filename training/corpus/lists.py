"""Numbered lists: recipes and plans, tips, words sorted by the alphabet or by their length."""

import random
from itertools import pairwise
from typing import NamedTuple

from training.corpus import demands
from training.corpus.demands import Demand
from training.corpus.document import Document
from training.corpus.grammar import NUMBERS, a, capital, numbered, say, series, tell
from training.corpus.lexicon import TRADES
from training.corpus.texts import Beat, beats, listed, phrases, read


class Plan(NamedTuple):
    """`goal` names it after "a recipe for" or "a plan for"; each slot of `choices` has options.

    `needs` are the things to have at hand, to be filled like the steps.
    """

    kind: str
    goal: str
    choices: dict[str, tuple[str, ...]]
    needs: tuple[str, ...]
    steps: tuple[Beat, ...]


_PLANS, _TIPS, _SORTING = read("plans"), read("tips"), read("sorting")
PLAN_LEADS, TIP_LEADS = phrases(_PLANS["leads"]), phrases(_TIPS["leads"])
PLANS = tuple(
    Plan(
        kind,
        goal,
        {slot: listed(options) for slot, options in text["choices"].items()},
        listed(text["needs"]),
        beats(text["steps"]),
    )
    for kind, plans in _PLANS["plans"].items()
    for goal, text in plans.items()
)
TIPS = tuple((aim, phrases(text)) for aim, text in _TIPS["tips"].items())
WORDS = listed(_SORTING["words"])
OF_LENGTH = {length: tuple(word for word in WORDS if len(word) == length) for length in range(3, 9)}
BY_ALPHABET, BY_LENGTH = phrases(_SORTING["by alphabet"]), phrases(_SORTING["by length"])
THEN_WHY = "Then say why one of them comes before the next, and which two stand at the ends."


def draw_plan(rng: random.Random) -> Document:
    """An instruction to write a recipe or a plan, and the steps, with what is needed for them."""
    plan = rng.choice(PLANS)
    slots = {slot: rng.choice(options) for slot, options in plan.choices.items()}
    goal = plan.goal.format_map(slots)
    steps = tell(rng, plan.steps, slots)
    n = NUMBERS[len(steps)]
    lead = say(rng, PLAN_LEADS, {"kind": plan.kind, "goal": goal, "n": n})
    needs = [need.format_map(slots) for need in plan.needs]
    answer = numbered(steps)
    extras = [value for slot, value in slots.items() if f"{{{slot}}}" not in plan.goal]
    mentioned = rng.choice([value for value in extras if demands.names(answer, value)])
    made = [demands.mention(rng, mentioned)]
    if rng.random() < 0.6:
        wish = "Before the steps, say in one sentence what is needed."
        made.append(Demand(wish, "Does a sentence before the steps say what is needed?"))
        answer = f"You need {series(needs)}.\n{answer}"
    if rng.random() < 0.5:
        made.append(Demand("Put a title above it.", "Does the text begin with a title?"))
        answer = f"{capital(goal)}\n\n{answer}"
    return demands.document(
        key=f"{plan.kind}:{goal}:{mentioned}:{n}",
        lead=lead,
        answer=answer,
        questions=[
            f"Is the text a {plan.kind} for {goal}?",
            f"Is there a numbered list of exactly {n} steps?",
        ],
        demands=made,
    )


def draw_tips(rng: random.Random) -> Document:
    """An instruction to write a number of tips, and the numbered list."""
    (aim, tips), trade = rng.choice(TIPS), rng.choice(TRADES)["trade"]
    n_tips = rng.randint(4, 6)
    chosen = [tips[i] for i in sorted(rng.sample(range(len(tips)), n_tips))]
    n = NUMBERS[n_tips]
    lead = say(rng, TIP_LEADS, {"n": n, "aim": aim, "a_trade": a(trade)})
    is_longer = n_tips < 5 or rng.random() < 0.4
    answer = numbered(chosen)
    if is_longer:
        answer = f"Here are {n} tips {aim}:\n{answer}"
    count = demands.item_count(rng, n_tips, "tips")
    form = demands.short_sentences(rng, chosen) if not is_longer else demands.without(rng, answer)
    return demands.document(
        key=f"tips:{aim}:{n}:{form.question}",
        lead=lead,
        answer=answer,
        questions=[f"Does the text give tips {aim}?", "Is every tip something one can do?"],
        demands=[count, form],
        cue=rng.choice(("", "Tips:")),
    )


def draw_sorted(rng: random.Random) -> Document:
    """An instruction to sort words, and the sorted list with a sentence or two about it."""
    if rng.random() < 0.6:
        return _by_alphabet(rng)
    return _by_length(rng)


def _by_alphabet(rng: random.Random) -> Document:
    words = rng.sample(WORDS, rng.randint(7, 10))
    ordered = sorted(words)
    first, second = rng.choice(list(pairwise(ordered)))
    lead = say(rng, BY_ALPHABET, {"n": NUMBERS[len(words)]}) + " " + THEN_WHY
    reason = (
        f'The word "{first}" comes before "{second}", because {_difference(first, second)}. The '
        f'first of all is "{ordered[0]}", and at the end of the list stands "{ordered[-1]}".'
    )
    return _sorted(lead, words, ordered, reason, "alphabet")


def _difference(first: str, second: str) -> str:
    """Why one word comes before another, where neither is the beginning of the other."""
    shared = next(i for i, (x, y) in enumerate(zip(first, second, strict=False)) if x != y)
    letters = f'"{first[shared]}" comes before "{second[shared]}" in the alphabet'
    if shared == 0:
        return letters
    return f'both begin with "{first[:shared]}", and then {letters}'


def _by_length(rng: random.Random) -> Document:
    ordered = [rng.choice(OF_LENGTH[length]) for length in sorted(OF_LENGTH)]
    words = rng.sample(ordered, len(ordered))
    n = NUMBERS[len(words)]
    lead = f"{say(rng, BY_LENGTH, {'n': n})} Then say how many letters each of them has."
    counts = [f'"{word}" has {NUMBERS[len(word)]}' for word in ordered[1:]]
    reason = f'The word "{ordered[0]}" has {NUMBERS[len(ordered[0])]} letters, {series(counts)}.'
    more = NUMBERS[len(ordered[-1]) - len(ordered[0])]
    reason += f" The last has {more} letters more than the first."
    return _sorted(lead, words, ordered, reason, "length")


def _sorted(lead: str, words: list[str], ordered: list[str], reason: str, order: str) -> Document:
    n = NUMBERS[len(words)]
    questions = {
        "alphabet": "Are the words in alphabetical order?",
        "length": "Do the words go from the shortest to the longest?",
    }
    return demands.document(
        key=f"sort:{order}:{','.join(ordered)}",
        lead=f"{lead}\n{', '.join(words)}",
        answer=f"{numbered(ordered)}\n{reason}",
        questions=[
            questions[order],
            f"Is there a numbered list of exactly {n} words?",
            "Is every given word in the list?",
            "Is the order explained after the list?",
        ],
        cue="Answer:",
    )
