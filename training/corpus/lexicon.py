"""The stock of the valleys: people and their trades, things, places, weather."""

import random
from collections.abc import Sequence

from training.corpus.grammar import a, the
from training.corpus.texts import listed, read, table

_TEXT = read("lexicon")
WOMEN, MEN = listed(_TEXT["women"]), listed(_TEXT["men"])
TRAITS, VILLAGES = listed(_TEXT["traits"]), listed(_TEXT["villages"])
TRADES, THINGS = table(_TEXT["trades"]), table(_TEXT["things"])
PLACES, SKIES = table(_TEXT["places"]), table(_TEXT["skies"])
MILD_SKIES = tuple(sky for sky in SKIES if sky["season"] != "winter")
BY_NAME = {thing["thing"]: thing for thing in THINGS}

PRONOUNS = {
    "she": {"he": "she", "him": "her", "his": "her", "hers": "hers", "himself": "herself"},
    "he": {"he": "he", "him": "him", "his": "his", "hers": "his", "himself": "himself"},
}


def cast(rng: random.Random, things: Sequence[str] = (), in_winter: bool = True) -> dict[str, str]:
    """The slots of a scene: a person, a helper, a thing with its mark, a place, a weather.

    Only these `things`, if any are given; never in winter unless `in_winter`.
    """
    lead, helper = ("she", "he") if rng.random() < 0.5 else ("he", "she")
    trade, other_trade = rng.sample(TRADES, 2)
    place, other_place = rng.sample(PLACES, 2)
    sky = rng.choice(SKIES if in_winter else MILD_SKIES)
    seasons = [s for s in sky["season"].split(" / ") if in_winter or s != "winter"]
    thing = BY_NAME[rng.choice(things)] if things else rng.choice(THINGS)
    return {
        **_person(rng, lead, trade),
        **{f"f_{slot}": value for slot, value in _person(rng, helper, other_trade).items()},
        **_thing(thing, rng.choice((thing["flaw"], thing["ornament"]))),
        **{"village": rng.choice(VILLAGES), "season": rng.choice(seasons)},
        **place,
        **{"other_place": other_place["place"], "at_other_place": other_place["at_place"]},
        "sky": sky["sky"],
        "sky_came": rng.choice(sky["sky_came"].split(" / ")),
        "sky_went": rng.choice(sky["sky_went"].split(" / ")),
    }


def _person(rng: random.Random, pronoun: str, trade: dict[str, str]) -> dict[str, str]:
    """Someone's slots. Pronouns are called {he} {him} {his} {hers} {himself} for women too.

    A helper's slots begin with "f_", and hero and helper are a woman and a man: so "she" and "he"
    are never in doubt.
    """
    trait = rng.choice(TRAITS)
    name = rng.choice(WOMEN if pronoun == "she" else MEN)
    slots = {"name": name, **PRONOUNS[pronoun], "trait": trait, "a_trait": a(trait)}
    return {**slots, **trade, "a_trade": a(trade["trade"])}


def _thing(thing: dict[str, str], mark: str) -> dict[str, str]:
    return {
        **thing,
        **{"a_thing": a(thing["thing"]), "mark": mark, "the_mark": the(mark)},
        "the_flaw": the(thing["flaw"]),
    }
