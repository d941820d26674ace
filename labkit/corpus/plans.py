"""Recipes and plans: a title, what is needed, and numbered steps."""

import random
from typing import NamedTuple

from labkit.corpus import demands
from labkit.corpus.demands import Demand
from labkit.corpus.document import Document
from labkit.corpus.grammar import (
    NUMBERS,
    Beat,
    beats,
    capital,
    numbered,
    phrases,
    say,
    series,
    tell,
)


class Plan(NamedTuple):
    """`goal` names it after "a recipe for" or "a plan for"; each slot of `choices` has options.

    `needs` are the things to have at hand, to be filled like the steps.
    """

    kind: str
    goal: str
    choices: dict[str, tuple[str, ...]]
    needs: tuple[str, ...]
    steps: tuple[Beat, ...]


LEADS = phrases("""
- Write a {kind} for {goal}, with {n} numbered steps.
- Give me a {kind} for {goal} in exactly {n} numbered steps.
- I need a {kind} for {goal}. Number the steps, and make it exactly {n}.
- Please write down a {kind} for {goal}, with a numbered list of {n} steps.
- Tomorrow I want to try something new, so write a {kind} for {goal} in {n} numbered steps.
""")

ROOTS = ("carrots", "turnips", "leeks", "onions", "potatoes", "beets", "parsnips")
FRUITS = ("plums", "pears", "apples", "cherries", "apricots", "figs", "quinces", "blackberries")
HERBS = ("parsley", "thyme", "sage", "chives", "dill", "mint", "rosemary")

PLANS = (
    Plan(
        "recipe",
        "a soup of {root} and {other}",
        {
            "root": ROOTS,
            "other": ("lentils", "white beans", "peas", "chickpeas", "brown beans"),
            "herb": HERBS,
        },
        ("a pound of {root}", "two cups of {other}", "a handful of {herb}", "butter", "salt"),
        beats("""
- Wash the {other} and leave them in warm water while you do the rest.
- Put the {other} into a bowl of water, and let them soak while you work.

- Clean the {root} and cut them into small pieces.
- Peel or clean the {root}, and slice them as thinly as you can.

- Melt the butter in a large pot and turn the {root} in it until they smell sweet.
- Fry the {root} gently in butter, and do not let them turn brown.

- Add the {other} and enough water to cover everything by the width of a hand.
- Pour in the {other} with plenty of fresh water, and stir.

- Let the soup simmer with the lid on until all is soft.
- Cook it on a small fire until the {other} are soft, and stir now and then.

~ If it is too thick, add some water, and if it is too thin, leave the lid off.

- Salt it, chop the {herb}, and scatter it over the bowls.
- At the end add salt and the chopped {herb}, and serve it hot.
"""),
    ),
    Plan(
        "recipe",
        "a cake with {fruit}",
        {
            "fruit": FRUITS,
            "extra": ("walnuts", "hazelnuts", "almonds", "oats"),
            "spice": ("cinnamon", "ginger", "cloves", "nutmeg", "aniseed"),
        },
        ("three cups of flour", "one cup of sugar", "four eggs", "{fruit}", "{extra}", "{spice}"),
        beats("""
- Heat the oven, and butter a round tin.
- Butter the tin well and light the oven, so that it is hot in time.

- Wash the {fruit}, and remove all stones and stalks.
- Clean the {fruit} and cut the larger ones in half.

- Beat the eggs with the sugar until they are pale and thick.
- Stir eggs and sugar together for as long as your arm allows.

- Fold in the flour and a pinch of {spice}, with a light hand.
- Sift the flour with a little {spice} over it, and mix gently.

~ Taste the dough, for that is the right of every cook.

- Spoon the dough into the tin and press the {fruit} into the top.
- Pour the dough into the tin and lay the {fruit} on it in a ring.

- Scatter the {extra} over it.
- Cover it with the {extra}.

- Bake it for about forty minutes, until a straw comes out clean.
- Leave it in the oven until it is golden and a straw comes out dry.

- Let it cool before you cut it, however hard that may be.
- Wait until it is cool, and share it with somebody.
"""),
    ),
    Plan(
        "recipe",
        "jam made of {fruit}",
        {
            "fruit": FRUITS,
            "spice": ("cinnamon", "vanilla", "ginger", "cloves"),
        },
        ("two pounds of {fruit}", "one pound of sugar", "the juice of a lemon", "{spice}", "jars"),
        beats("""
- Boil the jars and their lids, and let them dry on a clean cloth.
- Clean the jars with boiling water and stand them upside down.

- Wash the {fruit}, remove what you would not eat, and cut up the rest.
- Sort the {fruit}, and chop the good ones into small pieces.

- Stir in the sugar, and leave the pot standing until juice appears.
- Mix them with the sugar in a large pot, and wait for an hour.

- Bring it slowly to the boil, and stir all the time.
- Heat the pot gently, and keep the spoon moving along the bottom.

~ Skim off the foam and give it to the children on a slice of bread.

- Add the juice of a lemon and a little {spice}, and cook it until it is thick.
- When it thickens, stir in the lemon juice and a pinch of {spice}.

- Put a drop on a cold plate, and if it does not run, the jam is done.
- Test a drop on a cold saucer, and go on cooking if it runs.

- Pour it into the jars while it is hot, close them, and write the year on each.
- Fill the jars with the hot jam and shut the lids at once.
"""),
    ),
    Plan(
        "recipe",
        "flat bread with {herb}",
        {"herb": HERBS, "extra": ("seeds", "olives", "soft cheese", "roasted onions", "garlic")},
        ("four cups of flour", "one cup of warm water", "{herb}", "{extra}", "oil", "salt"),
        beats("""
- Mix the flour with a little salt in a wide bowl.
- Put flour and salt into a bowl and make a hollow in the middle.

- Pour in the water and a spoonful of oil, and stir until a ball forms.
- Add warm water and some oil, and work it into a dough.

- Knead the dough until it is smooth.
- Press and fold the dough for ten minutes, until it no longer sticks.

- Cover it with a cloth and let it rest for half an hour.
- Let the dough rest under a cloth while you drink a cup of tea.

- Chop the {herb}, and knead it in.
- Cut the {herb} finely and work it into the dough.

~ Divide the dough into eight balls and roll them out thinly.

- Bake each piece in a hot pan, first on one side and then on the other.
- Bake the flat pieces in a dry pan until they have brown spots on both sides.

- Serve it warm, with {extra}.
- Bring it to the table in a cloth, and put the {extra} beside it.
"""),
    ),
    Plan(
        "plan",
        "planting {a_tree} {where}",
        {
            "a_tree": ("a pear tree", "an apple tree", "a walnut tree", "a cherry tree"),
            "where": ("behind the house", "beside the school", "near the well", "on the square"),
            "day": ("a cloudy day", "a mild autumn day", "a damp spring day"),
        },
        ("{a_tree}", "a spade", "a strong stake", "a rope", "three buckets of water", "compost"),
        beats("""
- Choose {day}, because sun and wind dry out bare roots.
- Wait for {day}, when the roots will not dry out.

- Stand the roots in a bucket of water while you dig.
- Put the young tree into a bucket, so that the roots can drink.

- Dig a hole twice as wide as the roots.
- Dig a wide hole, and loosen the ground below it.

- Drive the stake into the ground before the tree goes in.
- Set the stake first, so that no root is hurt later.

- Hold the tree straight and fill the hole with earth and compost.
- Let one person hold the tree while another fills in the soil.

~ Press the earth down with your feet, but do it gently.

- Tie the trunk loosely to the stake and pour water around it.
- Fasten the tree to its stake with a loose rope, and water it well.

~ Bring it a bucket of water every week in the first summer.
"""),
    ),
    Plan(
        "plan",
        "mending {a_thing} that leaks",
        {
            "a_thing": ("a small boat", "a wooden bucket", "a barrel", "a water trough", "a raft"),
            "day": ("a dry morning", "two dry days", "a warm afternoon", "a free weekend"),
        },
        ("hemp", "warm pitch", "a blunt chisel", "a mallet", "a brush", "old rags"),
        beats("""
- Take {day} for it, since pitch does not hold on wet wood.
- Plan {day} for the work, because the wood must not be wet.

- Empty it, turn it over and let it dry.
- Let all the water out, and leave it upside down in the shade.

- Look for the gap, and mark it with chalk.
- Hold it against the light, find the leak and draw a line beside it.

- Scrape out whatever is old and loose.
- Clean the gap with the chisel until you see sound wood.

- Twist the hemp into a cord and drive it into the gap with the mallet.
- Press a cord of hemp into the gap, and tap it firm.

- Brush warm pitch over it, and keep away from the fire while you do so.
- Cover the place with warm pitch, in two thin layers.

~ Wait until the next day, however much you would like to see the result.

- Fill it or float it, and look for drops.
- Test it with water, and praise yourself if it stays dry.
"""),
    ),
    Plan(
        "plan",
        "a {party} {where}",
        {
            "party": ("lantern walk", "kite day", "song evening", "soup supper", "story night"),
            "where": ("by the river", "on the meadow", "in the barn", "at the mill", "on the pier"),
            "helper": ("the school", "the bakers", "the choir", "the oldest neighbours"),
        },
        ("a list of names", "paper and paint", "lamps", "benches", "tea", "a bell"),
        beats("""
- Choose a day when nobody has to work late.
- Find an evening that suits most people, and keep to it.

- Ask for leave to meet {where}, and look at the place beforehand.
- Go there once at the same hour, and see where the sun and the wind come from.

- Paint a notice with the day and the hour, and hang it on the market board.
- Tell people early, and hang a notice where everybody passes.

- Ask {helper} to help, and give each helper just one task.
- Share the work with {helper}, so that nobody does it all.

~ Think about rain, and agree on a roof in case it comes.

- Carry benches, lamps and tea to the place in the afternoon.
- Set everything up two hours before the guests arrive.

- Ring the bell, welcome the guests, and begin without a long speech.
- Begin with a short greeting, and ring the bell.

~ Clean up together at the end, and thank everyone by name.
"""),
    ),
    Plan(
        "plan",
        "a day trip to {goal_place} with {group}",
        {
            "goal_place": ("the waterfall", "the lighthouse", "the old mill", "the salt ponds"),
            "group": ("six children", "two old friends", "a school class", "your grandparents"),
            "food": ("bread and cheese", "pears and nuts", "cold pancakes", "boiled eggs"),
        },
        ("a map", "{food}", "water bottles", "a whistle", "rain coats", "a first aid box"),
        beats("""
- Look at the map the evening before, and choose a way without steep parts.
- Study the map in good time and mark the places where one can rest.

- Ask somebody who has been there how long the way takes.
- Find out when the last ferry goes back, and write it down.

- Pack {food}, enough water and a coat for each person.
- Put {food} into one bag, and coats and water into another.

- Leave early, when it is cool and everyone is still cheerful.
- Set out soon after breakfast, so that there is time to dawdle.

~ Let the slowest walk in front, and then nobody is left behind.

- Rest every hour, and count everyone before you go on.
- Stop often, drink something, and make sure that nobody is missing.

- At {goal_place}, eat first and look around afterwards.
- When you reach {goal_place}, sit down, eat, and only then explore.

~ Start for home an hour sooner than you must.
"""),
    ),
)


def draw(rng: random.Random) -> Document:
    """An instruction to write a recipe or a plan, and the steps, with what is needed for them."""
    plan = rng.choice(PLANS)
    slots = {slot: rng.choice(options) for slot, options in plan.choices.items()}
    goal = plan.goal.format_map(slots)
    steps = tell(rng, plan.steps, slots)
    n = NUMBERS[len(steps)]
    lead = say(rng, LEADS, {"kind": plan.kind, "goal": goal, "n": n})
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
