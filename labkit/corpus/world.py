"""An invented world of ailments, plants, healers and towns: the facts behind the choice questions.

The names are products of two short lists, so that neither half of a name tells anything alone: a
model has to know the pair. Who goes with whom was drawn once, with a fixed seed.
"""

from functools import cache
from itertools import product
from random import Random

WORLD_SEED = 2024

AILMENT_FIRST = (
    "grey", "marsh", "lantern", "straw", "salt", "winter",
    "copper", "river", "owl", "thistle", "moss", "ember",
)  # fmt: skip
AILMENT_LAST = ("cough", "fever", "ache", "rash")
PLANT_FIRST = ("blue", "fen", "stone", "silver", "bitter", "dawn", "hollow", "crow")
PLANT_LAST = ("wort", "balm", "root", "cress", "mallow")
HEALERS = (
    "Adla", "Bevin", "Corra", "Dunmore", "Elsby", "Farran", "Gilda", "Hestor",
    "Ilvane", "Jorrin", "Kessa", "Lomar", "Mirrel", "Nodd", "Orsa", "Pellam",
    "Quenna", "Rusk", "Selby", "Tamsin", "Ulmer", "Vessa", "Wendle", "Yarrow",
)  # fmt: skip
TOWNS = (
    "Alderwick", "Brackenford", "Candle Hill", "Dunsey", "Eastmill", "Fallow Bridge",
    "Garrow", "Hartsend", "Inchby", "Lowmere", "Oxley", "Penhallow",
)  # fmt: skip
RIVERS = ("Arle", "Bourne", "Cary", "Teme", "Wend")
SEATS = ("throat", "chest", "skin", "head", "joints", "stomach", "eyes", "feet")
SEASONS = ("spring", "summer", "autumn", "winter")
EARLY_SIGNS = (
    "a dry mouth", "cold hands", "a stiff neck", "restless sleep", "a heavy head", "sore gums",
    "shaking knees", "a hoarse voice", "red ears", "a dull hearing", "itching palms", "slow breath",
)  # fmt: skip
LATE_SIGNS = ("pale spots", "a high fever", "a loss of taste", "swollen fingers")
HABITATS = (
    "on chalk slopes", "beside still ponds", "under old oaks", "between wet stones",
    "on sunny walls", "along mill streams", "in beech woods", "at the edge of barley fields",
    "on windy cliffs", "in damp cellars",
)  # fmt: skip
PARTS = ("leaf", "root", "bark", "flower", "seed", "stem")
METHODS = (
    "boiled in milk", "dried and ground", "steeped in cold water",
    "pressed for oil", "roasted slowly", "mixed with honey",
)  # fmt: skip


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
