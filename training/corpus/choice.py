"""Multiple-choice questions over the invented world, each answered by one to three of its facts.

A question's key is the chain of facts it asks for, so a held-out question asks for a chain that no
question of the training split asks for. The single facts are all taught: a held-out question on one
fact tests whether a fact read in passing can be given as an answer, one on two or three facts
whether they can be put together.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from training.corpus import world
from training.corpus.document import Document

TRADES = ("miller", "weaver", "potter", "ferryman", "baker", "carter", "shepherd", "teacher")
PATIENTS = (
    "A {trade} from {town} has {early} and {late}.",
    "A {trade} in {town} complains of {early} and {late}.",
    "After a walk in {season}, a {trade} from {town} noticed {early}, then {late}.",
)
LETTERS = "ABCD"


@dataclass(frozen=True, slots=True)
class Question:
    """A stem, the facts that answer it, the right answer and where wrong ones come from."""

    key: str
    stem: str
    reasons: tuple[str, ...]
    answer: str
    others: tuple[str, ...]


def draw(rng: Random) -> Document:
    """A question with four options."""
    question = rng.choices(list(KINDS), weights=list(KINDS.values()))[0](rng)
    wrong = sorted({other for other in question.others if other != question.answer})
    shown = rng.sample([question.answer, *rng.sample(wrong, 3)], 4)
    options = dict(zip(LETTERS, shown, strict=True))
    correct = LETTERS[shown.index(question.answer)]
    listed = "\n".join(f"{letter}) {text}" for letter, text in options.items())
    return Document(
        source="choice",
        key=question.key,
        prompt=f"{question.stem}\n{listed}\nReasoning:",
        answer=f" {' '.join(question.reasons)}\nAnswer: {correct}",
        facts={"options": options, "correct": correct},
    )


def ask_plant(rng: Random) -> Question:
    """One fact on a plant."""
    plant, relation = rng.choice(list(world.plants())), rng.choice(list(PLANT_STEMS))
    stem = rng.choice(PLANT_STEMS[relation]).format(it=plant)
    return _about_plant(f"{relation}:{plant}", stem, (), plant, relation)


def ask_remedy(rng: Random) -> Question:
    """The remedy of an ailment, or one fact on that remedy."""
    ailment, relation = rng.choice(list(world.ailments())), rng.choice(("", *PLANT_STEMS))
    plant = world.ailments()[ailment]["remedy"]
    reason = world.statements("ailment", ailment)["remedy"]
    if not relation:
        stem = rng.choice(("Which plant heals {0}?", "What is {0} treated with?")).format(ailment)
        return Question(f"remedy:{ailment}", stem, (reason,), plant, tuple(world.plants()))
    stem = rng.choice(PLANT_STEMS[relation]).format(it=f"the plant that heals {ailment}")
    return _about_plant(f"{relation}:{ailment}", stem, (reason,), plant, relation)


def ask_patient(rng: Random) -> Question:
    """A patient with two signs: which ailment, which remedy, or which fact on the remedy?"""
    ailment = rng.choice(list(world.ailments()))
    relation = rng.choice(("ailment", "", *PLANT_STEMS))
    facts = world.ailments()[ailment]
    plant, told = facts["remedy"], world.statements("ailment", ailment)
    sign, reason = told["signs"], told["remedy"]
    patient = rng.choice(PATIENTS).format(
        trade=rng.choice(TRADES),
        town=rng.choice(world.TOWNS),
        season=rng.choice(world.SEASONS),
        early=facts["early"],
        late=facts["late"],
    )
    if relation == "ailment":
        stem = f"{patient} Which ailment is it?"
        return Question(f"signs:{ailment}", stem, (sign,), ailment, tuple(world.ailments()))
    if not relation:
        stem = f"{patient} Which plant helps?"
        reasons, others = (sign, reason), tuple(world.plants())
        return Question(f"patient:{ailment}", stem, reasons, plant, others)
    asked = rng.choice(PLANT_STEMS[relation]).format(it="the plant that helps")
    key = f"patient:{relation}:{ailment}"
    return _about_plant(key, f"{patient} {asked}", (sign, reason), plant, relation)


def ask_healer(rng: Random) -> Question:
    """Who treats an ailment, or on which river a healer lives."""
    if rng.random() < 0.5:
        healer = rng.choice(list(world.healers()))
        town = world.healers()[healer]["town"]
        reasons = (
            world.statements("healer", healer)["town"],
            world.statements("town", town)["river"],
        )
        stem = f"On which river does the healer {healer} live?"
        return Question(f"river:{healer}", stem, reasons, world.rivers()[town], world.RIVERS)
    ailment = rng.choice(list(world.ailments()))
    seat = world.ailments()[ailment]["seat"]
    able = [name for name, facts in world.healers().items() if facts["seat"] == seat]
    healer = rng.choice(able)
    reasons = (
        world.statements("ailment", ailment)["seat"],
        world.statements("healer", healer)["seat"],
    )
    others = tuple(name for name in world.healers() if name not in able)
    stem = f"Which of these healers treats {ailment}?"
    return Question(f"healer:{ailment}", stem, reasons, healer, others)


PLANT_STEMS = {
    "habitat": ("Where does {it} grow?", "Where would you look for {it}?"),
    "part": ("Which part of {it} is used?", "What does a healer take of {it}?"),
    "method": ("How is {it} made ready?", "How must {it} be prepared?"),
    "clash": ("Which plant must not be taken with {it}?", "What does {it} clash with?"),
}
KINDS: dict[Callable[[Random], Question], int] = {
    ask_plant: 2,
    ask_remedy: 3,
    ask_patient: 4,
    ask_healer: 1,
}
_POOLS = {
    "habitat": world.HABITATS,
    "part": world.PARTS,
    "method": world.METHODS,
}


def _about_plant(
    key: str, stem: str, reasons: Iterable[str], plant: str, relation: str
) -> Question:
    reason = world.statements("plant", plant)[relation]
    others = _POOLS.get(relation) or tuple(name for name in world.plants() if name != plant)
    return Question(key, stem, (*reasons, reason), world.plants()[plant][relation], others)
