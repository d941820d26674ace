"""The stock of the valleys: people and their trades, things, places, weather."""

import random
from collections.abc import Sequence
from typing import NamedTuple

from labkit.corpus.grammar import a, the

WOMEN = tuple(
    "Ada Edda Hanne Ilsa Juna Kaya Lina Mara Mira Nela Orla Pella Runa Sanna Tessa Vera".split()
)
MEN = tuple(
    "Aldo Ansel Berin Bram Ivo Joren Karel Luka Milo Niko Oren Pavo Remy Simo Tobin Toma".split()
)
TRAITS = tuple(
    "patient careful cheerful curious gentle honest quiet modest thoughtful kind steady".split()
)
VILLAGES = (
    *("Willow End", "Stonewater", "Upper Ferry", "Alder Bridge", "Millbank", "Pear Hill"),
    *("Long Meadow", "Reed Harbour", "Sandy Lock", "Old Orchard", "Lantern Bay", "Five Wells"),
)


class Trade(NamedTuple):
    """What someone does for a living; `work` goes on after "who"."""

    name: str
    shop: str
    at_shop: str
    work: str


class Thing(NamedTuple):
    """Something that one can carry, lose and find; `use` and `feel` go on after "it".

    The first of its marks is a flaw, such as a hurried hand may leave.
    """

    name: str
    material: str
    marks: tuple[str, ...]
    use: str
    feel: str


class Place(NamedTuple):
    name: str
    at: str


class Sky(NamedTuple):
    """A weather: clauses of how it came and how it went, and the seasons it belongs to."""

    name: str
    came: tuple[str, ...]
    went: tuple[str, ...]
    seasons: tuple[str, ...]


TRADES = tuple(
    Trade(*row)
    for row in (
        ("baker", "the bakery", "in the bakery", "baked the bread of the village"),
        ("basket maker", "the willow shed", "in the willow shed", "made baskets out of willow"),
        ("beekeeper", "the bee garden", "in the bee garden", "looked after twenty hives of bees"),
        ("bell ringer", "the bell tower", "in the bell tower", "rang the hours for the village"),
        ("boat builder", "the boatyard", "in the boatyard", "built small boats of oak and pine"),
        ("bookbinder", "the bindery", "in the bindery", "sewed loose pages into strong books"),
        ("candle maker", "the candle shop", "in the candle shop", "poured candles of yellow wax"),
        ("carpenter", "the workshop", "in the workshop", "made tables, doors and ladders"),
        ("clockmaker", "the clock shop", "in the clock shop", "repaired the clocks of the village"),
        ("cobbler", "the shoe shop", "in the shoe shop", "put new soles under old shoes"),
        ("cook", "the inn kitchen", "in the inn kitchen", "cooked soup for hungry travellers"),
        ("dyer", "the dye house", "in the dye house", "dyed wool red, yellow and blue"),
        ("ferry keeper", "the ferry house", "at the ferry house", "took carts across the river"),
        ("gardener", "the garden", "in the garden", "grew beans and herbs behind a high wall"),
        ("glassblower", "the glassworks", "at the glassworks", "made bottles and window glass"),
        ("innkeeper", "the inn", "at the inn", "kept a warm room for every traveller"),
        ("letter carrier", "the post house", "at the post house", "brought letters to every door"),
        ("lighthouse keeper", "the lighthouse", "in the lighthouse", "kept the great lamp burning"),
        ("lock keeper", "the lock house", "at the lock house", "opened the gates for every boat"),
        ("map maker", "the map room", "in the map room", "drew maps of the hills and the river"),
        ("mason", "the stone yard", "in the stone yard", "cut stones for walls and bridges"),
        ("miller", "the mill", "at the mill", "ground wheat for the whole valley"),
        ("net maker", "the net loft", "in the net loft", "tied nets for the fishing boats"),
        ("orchard keeper", "the orchard", "in the orchard", "grew apples, plums and pears"),
        ("painter", "the paint room", "in the paint room", "painted signs for shops and boats"),
        ("potter", "the pottery", "in the pottery", "turned bowls and jugs from river clay"),
        ("rope maker", "the rope yard", "in the rope yard", "twisted strong ropes out of hemp"),
        ("shepherd", "the sheepfold", "at the sheepfold", "led the sheep to the high meadow"),
        ("smith", "the forge", "at the forge", "made hinges, hooks and horseshoes"),
        ("tailor", "the sewing room", "in the sewing room", "sewed coats for cold mornings"),
        ("teacher", "the school", "at the school", "taught the children to read and count"),
        ("weaver", "the weaving room", "in the weaving room", "wove blankets of grey wool"),
    )
)

THINGS = tuple(
    Thing(*row)
    for row in (
        (
            *("lantern", "brass", ("a dent in its side", "a pane of blue glass")),
            *("lights the path on dark evenings", "smells of oil and warm metal"),
        ),
        (
            *("key", "iron", ("a bend in its stem", "a blue thread on its ring")),
            *("opens a door that nobody else can open", "is cold and heavy in the hand"),
        ),
        (
            *("hand bell", "bronze", ("a crack near its rim", "a leaf cut into its handle")),
            *("calls people in for supper", "hums for a moment after it is struck"),
        ),
        (
            *("whistle", "tin", ("a dent near its ring", "a bird scratched on its side")),
            *("calls the dog home across two fields", "is light and smooth"),
        ),
        (
            *("compass", "brass", ("a scratch across its glass", "a green lid")),
            *("shows the way in thick fog", "fits into a closed hand"),
        ),
        (
            *("kettle", "copper", ("a bent spout", "a patch of solder on its lid")),
            *("boils water for tea", "sings softly when it is hot"),
        ),
        (
            *("pocket watch", "silver", ("a crack in its glass", "a small sun on its lid")),
            *("shows the hour to a person far from any tower", "ticks quietly like a beetle"),
        ),
        (
            *("basket", "willow", ("a gap in its rim", "a blue ribbon around its handle")),
            *("carries eggs safely to the market", "creaks a little and smells of hay"),
        ),
        (
            *("scarf", "wool", ("a hole in one corner", "a yellow border")),
            *("keeps the wind out of a collar", "is soft and smells of wood smoke"),
        ),
        (
            *("notebook", "paper", ("a stain of ink on its cover", "a ribbon between its pages")),
            *("keeps the small thoughts of many days", "smells of ink and glue"),
        ),
        (
            *("spoon", "pear wood", ("a burn on its edge", "a heart cut into its handle")),
            *("stirs the soup on cold evenings", "is smooth from years of use"),
        ),
        (
            *("umbrella", "black cloth", ("a bent rib", "a carved duck for a handle")),
            *("keeps two people dry if they walk close together", "opens with a soft clap"),
        ),
        (
            *("oar", "ash wood", ("a split in its blade", "a ring of red paint")),
            *("moves a small boat against the stream", "is lighter than it looks"),
        ),
        (
            *("apron", "linen", ("a crooked pocket", "a row of white buttons")),
            *("keeps flour and dust off good clothes", "is stiff and clean after washing"),
        ),
        (
            *("straw hat", "straw", ("a hole in its brim", "a green band")),
            *("gives a little shade in the hottest hour", "smells of summer and dry fields"),
        ),
        (
            *("jug", "clay", ("a chip in its lip", "a line of blue dots")),
            *("brings cool water from the well", "is round and pleasant to hold"),
        ),
        (
            *("drum", "goatskin and oak", ("a tear along its edge", "a painted star")),
            *("keeps dancers in step", "answers the lightest finger"),
        ),
        (
            *("flute", "elder wood", ("a crack sealed with wax", "a ring of copper")),
            *("plays a tune that everyone seems to know", "weighs no more than a bird"),
        ),
        (
            *("mirror", "polished steel", ("a dark spot in one corner", "a frame of walnut")),
            *("sends a flash of sunlight across the valley", "is cool and smooth"),
        ),
        (
            *("hammer", "steel and ash wood", ("a crooked handle", "a letter on its head")),
            *("drives a nail home in three strokes", "lies well in the hand"),
        ),
        (
            *("purse", "leather", ("a crooked seam", "a button of horn")),
            *("keeps a few coins from getting lost", "is soft like an old glove"),
        ),
        (
            *("cup", "pewter", ("a dent below its rim", "a name scratched under its foot")),
            *("holds just enough for one thirsty person", "grows warm with the tea"),
        ),
        (
            *("kite", "paper and cane", ("a patch on one wing", "a tail of seven bows")),
            *("climbs higher than the poplars", "rustles when it is touched"),
        ),
        (
            *("thimble", "silver", ("a flat place on one side", "a ring of tiny stars")),
            *("saves a finger from the needle", "is smaller than an acorn"),
        ),
        (
            *("spyglass", "brass and glass", ("a dent in its tube", "a leather strap")),
            *("brings far boats close", "slides open with a click"),
        ),
        (
            *("walking stick", "hazel wood", ("a split near its tip", "a knob like an apple")),
            *("helps on steep paths", "is worn dark where the hand goes"),
        ),
        (
            *("wooden box", "cherry wood", ("a lid that sticks", "a flower carved on its front")),
            *("keeps letters dry", "smells of wax and old paper"),
        ),
        (
            *("satchel", "leather", ("a buckle that does not match", "a painted fish on its flap")),
            *("carries bread, a book and a spare pair of socks", "creaks at every step"),
        ),
        (
            *("bucket", "oak", ("a stave that leaks", "a rope for a handle")),
            *("carries water to the beans", "smells of wet wood"),
        ),
        (
            *("needle case", "bone", ("a chip at one end", "a line of tiny fish")),
            *("keeps sharp needles in one place", "rattles when it is shaken"),
        ),
    )
)

PLACES = tuple(
    Place(*row)
    for row in (
        ("the old bridge", "under the old bridge"),
        ("the mill pond", "beside the mill pond"),
        ("the stone well", "behind the stone well"),
        ("the ferry landing", "at the ferry landing"),
        ("the market square", "at the edge of the market square"),
        ("the tall poplar", "below the tall poplar"),
        ("the boathouse", "behind the boathouse"),
        ("the willow bank", "on the willow bank"),
        ("the hay barn", "beside the hay barn"),
        ("the orchard wall", "beside the orchard wall"),
        ("the lower gate", "by the lower gate"),
        ("the empty tower", "inside the empty tower"),
        ("the fishing pier", "at the end of the fishing pier"),
        ("the hill path", "halfway up the hill path"),
        ("the old quarry", "at the mouth of the old quarry"),
        ("the wooden footbridge", "next to the wooden footbridge"),
    )
)

SKIES = tuple(
    Sky(*row)
    for row in (
        (
            *("fog", ("thick fog came up", "fog rolled in"), ("the fog lifted", "the fog thinned")),
            ("spring", "autumn", "winter"),
        ),
        (
            *("mist", ("mist rose from the ground", "a cold mist spread"), ("the mist cleared",)),
            ("spring", "autumn"),
        ),
        (
            *("rain", ("rain began to fall", "it began to rain hard"), ("the rain stopped",)),
            ("spring", "summer", "autumn"),
        ),
        (
            *("drizzle", ("a thin drizzle set in", "it began to drizzle"), ("the drizzle ended",)),
            ("spring", "autumn"),
        ),
        (
            *("hail", ("hail began to fall", "hail came down"), ("the hail turned to rain",)),
            ("spring", "summer"),
        ),
        (
            *("wind", ("a strong wind rose", "the wind grew wild"), ("the wind dropped",)),
            ("spring", "autumn"),
        ),
        (
            *("storm", ("a storm broke", "a storm came over the hills"), ("the storm passed",)),
            ("summer", "autumn"),
        ),
        (
            *("snow", ("snow began to fall", "it began to snow"), ("the snow stopped falling",)),
            ("winter",),
        ),
        (
            *("sleet", ("sleet began to fall", "wind and sleet set in"), ("the sleet ended",)),
            ("winter",),
        ),
    )
)

MILD_SKIES = tuple(sky for sky in SKIES if sky.seasons != ("winter",))
BY_NAME = {thing.name: thing for thing in THINGS}

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
    seasons = [season for season in sky.seasons if in_winter or season != "winter"]
    thing = BY_NAME[rng.choice(things)] if things else rng.choice(THINGS)
    return {
        **_person(rng, lead, trade),
        **{f"f_{slot}": value for slot, value in _person(rng, helper, other_trade).items()},
        **_thing(thing, rng.choice(thing.marks)),
        **{"village": rng.choice(VILLAGES), "season": rng.choice(seasons)},
        **{"place": place.name, "at_place": place.at},
        **{"other_place": other_place.name, "at_other_place": other_place.at},
        **{"sky": sky.name, "sky_came": rng.choice(sky.came), "sky_went": rng.choice(sky.went)},
    }


def _person(rng: random.Random, pronoun: str, trade: Trade) -> dict[str, str]:
    """Someone's slots. Pronouns are called {he} {him} {his} {hers} {himself} for women too.

    A helper's slots begin with "f_", and hero and helper are a woman and a man: so "she" and "he"
    are never in doubt.
    """
    trait = rng.choice(TRAITS)
    return {
        **{"name": rng.choice(WOMEN if pronoun == "she" else MEN), **PRONOUNS[pronoun]},
        **{"trait": trait, "a_trait": a(trait), "trade": trade.name, "a_trade": a(trade.name)},
        **{"shop": trade.shop, "at_shop": trade.at_shop, "work": trade.work},
    }


def _thing(thing: Thing, mark: str) -> dict[str, str]:
    return {
        **{"thing": thing.name, "a_thing": a(thing.name), "material": thing.material},
        **{"mark": mark, "the_mark": the(mark)},
        **{"flaw": thing.marks[0], "the_flaw": the(thing.marks[0])},
        **{"use": thing.use, "feel": thing.feel},
    }
