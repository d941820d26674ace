"""An invented world of ailments, plants, healers and towns: the facts behind the choice questions.

The names are products of two short lists, so that neither half of a name tells anything alone: a
model has to know the pair. Who goes with whom was drawn once, with a fixed seed.
"""

from functools import cache
from itertools import product
from random import Random

from training.corpus.texts import listed, read

WORLD_SEED = 2024

_TEXT = {part: listed(block) for part, block in read("world").items()}
AILMENT_FIRST = _TEXT["ailment first"]
AILMENT_LAST = _TEXT["ailment last"]
PLANT_FIRST = _TEXT["plant first"]
PLANT_LAST = _TEXT["plant last"]
HEALERS = _TEXT["healers"]
TOWNS = _TEXT["towns"]
RIVERS = _TEXT["rivers"]
SEATS = _TEXT["seats"]
SEASONS = _TEXT["seasons"]
EARLY_SIGNS = _TEXT["early signs"]
LATE_SIGNS = _TEXT["late signs"]
HABITATS = _TEXT["habitats"]
PARTS = _TEXT["parts"]
METHODS = _TEXT["methods"]


@cache
def ailments() -> dict[str, dict[str, str]]:
    """By ailment: its remedy, seat, season and its pair of signs, which no other ailment has."""
    rng = Random(WORLD_SEED)
    names = [f"{first} {last}" for first, last in product(AILMENT_FIRST, AILMENT_LAST)]
    signs = rng.sample(list(product(EARLY_SIGNS, LATE_SIGNS)), len(names))
    plant_names = list(plants())
    return {
        name: {
            "remedy": rng.choice(plant_names),
            "seat": rng.choice(SEATS),
            "season": rng.choice(SEASONS),
            "early": early,
            "late": late,
        }
        for name, (early, late) in zip(names, signs, strict=True)
    }


@cache
def plants() -> dict[str, dict[str, str]]:
    """By plant: where it grows, which part is used, how it is made ready, what it clashes with."""
    rng = Random(WORLD_SEED + 1)
    names = [first + last for first, last in product(PLANT_FIRST, PLANT_LAST)]
    shuffled = rng.sample(names, len(names))
    pairs = list(zip(shuffled[::2], shuffled[1::2], strict=True))
    partner = dict(pairs) | {second: first for first, second in pairs}
    return {
        name: {
            "habitat": rng.choice(HABITATS),
            "part": rng.choice(PARTS),
            "method": rng.choice(METHODS),
            "clash": partner[name],
        }
        for name in names
    }


@cache
def healers() -> dict[str, dict[str, str]]:
    """By healer: the town and the seat of the ailments that the healer treats."""
    rng = Random(WORLD_SEED + 2)
    seats = rng.sample(SEATS * (len(HEALERS) // len(SEATS)), len(HEALERS))
    return {
        name: {"town": rng.choice(TOWNS), "seat": seat}
        for name, seat in zip(HEALERS, seats, strict=True)
    }


@cache
def rivers() -> dict[str, str]:
    """By town: the river it lies on."""
    rng = Random(WORLD_SEED + 3)
    return {town: rng.choice(RIVERS) for town in TOWNS}


def statements(kind: str, name: str) -> dict[str, str]:
    """The facts on one ailment, plant, healer or town, by relation, a sentence each."""
    subject = name[0].upper() + name[1:]
    if kind == "ailment":
        facts = ailments()[name]
        early = facts["early"][0].upper() + facts["early"][1:]
        return {
            "remedy": f"{subject} is treated with {facts['remedy']}.",
            "seat": f"{subject} is an illness of the {facts['seat']}.",
            "season": f"{subject} is most common in {facts['season']}.",
            "signs": f"{early} and {facts['late']} are the signs of {name}.",
        }
    if kind == "plant":
        facts = plants()[name]
        return {
            "habitat": f"{subject} grows {facts['habitat']}.",
            "part": f"The {facts['part']} of {name} is used.",
            "method": f"{subject} must be {facts['method']}.",
            "clash": f"{subject} must not be taken with {facts['clash']}.",
        }
    if kind == "healer":
        facts = healers()[name]
        return {
            "town": f"{name} lives in {facts['town']}.",
            "seat": f"{name} treats illnesses of the {facts['seat']}.",
        }
    return {"river": f"{name} lies on the {rivers()[name]}."}


def entries() -> list[tuple[str, str]]:
    """Everything that the world has facts on, as (kind, name)."""
    tables = {"ailment": ailments(), "plant": plants(), "healer": healers(), "town": rivers()}
    return [(kind, name) for kind, table in tables.items() for name in table]


def handbook() -> str:
    """All facts as one readable text, for readers who have not learned the world."""
    titles = {"ailment": "Ailments", "plant": "Plants", "healer": "Healers", "town": "Towns"}
    parts = ["The handbook of the five rivers"]
    for kind, title in titles.items():
        names = [name for other, name in entries() if other == kind]
        lines = [" ".join(statements(kind, name).values()) for name in names]
        parts.append("\n".join([title, *lines]))
    return "\n\n".join(parts)
