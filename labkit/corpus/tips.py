"""Numbered lists of tips: a topic has more of them than one list needs."""

import random
from typing import NamedTuple

from labkit.corpus import demands
from labkit.corpus.document import Document
from labkit.corpus.grammar import NUMBERS, numbered, phrases, say
from labkit.corpus.lexicon import TRADES, a


class Advice(NamedTuple):
    """`aim` goes on after "tips"; the tips stand in the order in which one needs them."""

    aim: str
    tips: tuple[str, ...]


LEADS = phrases("""
- Give {n} tips {aim}.
- Write down {n} useful tips {aim}.
- {a_trade} asks for {n} tips {aim}.
- What are {n} good tips {aim}?
- For the notice board of the village, write {n} tips {aim}.
- My neighbour, {a_trade}, would like {n} tips {aim}.
""")

ADVICE = (
    Advice(
        "for keeping bread fresh",
        phrases("""
- Let the loaf cool completely before you put it away.
- Keep it in a box of wood or clay, where a little air can move.
- Wrap it in a clean linen cloth and not in anything tight.
- Lay the loaf with its cut side down on the board.
- Keep it away from the stove, because warmth dries it out.
- Wipe out the box with vinegar every week, so that no mould grows.
- Toast the last slices, or cook them in a soup.
"""),
    ),
    Advice(
        "for crossing a river by ferry",
        phrases("""
- Come early, because the boat leaves when it is full.
- Ask the price before you step on board.
- Keep one hand free for the rail.
- Stand in the middle, so that the boat lies level.
- Hold children by the hand and hats by the brim.
- Tie up your dog and calm your donkey before the ropes are cast off.
- Wait until the boat is tied to the landing before you step off.
"""),
    ),
    Advice(
        "for drying herbs",
        phrases("""
- Pick the herbs in the morning, when the dew is gone and the sun is still low.
- Shake them, but do not wash them unless you must.
- Tie only a few stems together, so that air can reach every leaf.
- Hang the bunches upside down in a dry and shady place.
- Keep them out of the sun, which takes away colour and smell.
- Wait until the leaves break between your fingers.
- Store them in closed jars and write the name and the month on each.
"""),
    ),
    Advice(
        "for growing beans",
        phrases("""
- Wait with the sowing until the nights are free of frost.
- Soak the beans in water for a night before you plant them.
- Put them into the earth no deeper than the width of two fingers.
- Give each plant a pole that is taller than you are.
- Water the ground and not the leaves, and do it in the morning.
- Cover the soil with straw, so that it stays damp.
- Pick the pods while they are young, and more will follow.
"""),
    ),
    Advice(
        "for packing a bag for a long walk",
        phrases("""
- Lay everything on the floor first, and put a third of it back.
- Pack the heavy things close to your back.
- Keep the rain coat on top, where you can reach it without looking.
- Take two pairs of socks, one for walking and one for sleeping.
- Fill the water bottle before you leave and at every spring.
- Carry bread, cheese and an apple, even for a short day.
- Tell someone where you are going and when you will be back.
"""),
    ),
    Advice(
        "for a tidy workshop",
        phrases("""
- Give every tool a place of its own, and draw its outline on the wall.
- Put each tool back before you take the next one.
- Sweep the floor at the end of the day, however tired you are.
- Keep nails and screws in glass jars, so that you can see them.
- Sort the wood by length and not by age.
- Oil the blades before the damp months begin.
- Throw away what you have not used for three years, or give it to a neighbour.
"""),
    ),
    Advice(
        "for sleeping well",
        phrases("""
- Go to bed at the same hour every evening.
- Eat a light supper, and eat it early.
- Take a short walk when the sun has gone down.
- Put your work out of sight before you light the lamp.
- Write your worries on a slip of paper and leave it in the kitchen.
- Open the window for a moment, so that the room is cool.
- Read something calm, and stop in the middle of a page.
"""),
    ),
    Advice(
        "for buying apples at the market",
        phrases("""
- Walk past all the stalls once before you buy anything.
- Ask to taste a slice, for a good seller will not refuse.
- Press gently near the stalk, where a fresh apple is firm.
- Do not be afraid of small spots, because they do no harm.
- Smell the apple, since a ripe one has a scent.
- Choose late kinds if you want to store them through the winter.
- Bring your own basket, and lay the apples in it one by one.
"""),
    ),
    Advice(
        "for rowing a small boat",
        phrases("""
- Sit in the middle of the bench and place your feet against the board.
- Lean forward, dip both blades, and pull with a straight back.
- Keep the blades just below the surface, and not deep.
- Pull evenly on both sides, or you will go round in a circle.
- Choose a mark on the shore behind you and keep the boat in line with it.
- Look over your shoulder after every ten strokes.
- Rest before you are tired, for you still have to come back.
"""),
    ),
    Advice(
        "for writing a good letter",
        phrases("""
- Think for a moment of the person who will read it.
- Say in the first lines why you are writing.
- Tell one thing well, and not ten things in haste.
- Ask a question, so that there is something to answer.
- Write as you would speak at a kitchen table.
- Read it aloud before you close it.
- Put the date on it, because letters are often kept for years.
"""),
    ),
    Advice(
        "for looking after wooden tools",
        phrases("""
- Wipe off the mud while it is still wet.
- Let the wood dry in the shade and never next to the stove.
- Rub the handles with linseed oil twice a year.
- Smooth rough places with sand, before they hurt a hand.
- Hang the tools up, so that they do not stand in the damp.
- Tighten loose heads with a thin wedge.
- Replace a cracked handle at once, and not after the harvest.
"""),
    ),
    Advice(
        "for a picnic in windy weather",
        phrases("""
- Choose a place behind a hedge or a wall.
- Spread a heavy blanket and put a stone on each corner.
- Bring food that can be eaten with one hand.
- Leave the paper napkins at home and take cloth ones.
- Pour the tea into cups with lids, or only half full.
- Tie your hat under your chin before you sit down.
- Take a kite along, because then the wind is a guest and not a thief.
"""),
    ),
    Advice(
        "for making friends in a new village",
        phrases("""
- Greet everyone, even those who do not answer at first.
- Learn the names of the children and of the dogs.
- Ask for help with something small.
- Buy your bread where the others buy theirs.
- Listen twice as long as you speak.
- Bring a cake to the first gathering, and take the plate home empty.
- Help when there is work to be done, and leave before you are thanked too much.
"""),
    ),
    Advice(
        "for keeping a cottage warm in winter",
        phrases("""
- Close the shutters as soon as it grows dark.
- Lay a rolled blanket along the foot of the door.
- Heat one room well, and not three of them badly.
- Put a warm stone wrapped in cloth at the foot of the bed.
- Open the windows wide for a few minutes, and then close them tightly.
- Hang a thick curtain before the coldest wall.
- Sit close together, for people are good stoves.
"""),
    ),
    Advice(
        "for learning a trade",
        phrases("""
- Watch for a whole day before you ask your first question.
- Ask your questions when the work is done and not while it is being done.
- Begin with the simplest task, and do it until it is easy.
- Keep a notebook of your mistakes, for it will be your best teacher.
- Take care of the tools as if they were borrowed.
- Do not compare your first week with somebody's tenth year.
- Show what you have learned to someone who is newer than you.
"""),
    ),
    Advice(
        "for walking safely in fog",
        phrases("""
- Stay on the path, even if you think that you know a shorter way.
- Walk slowly, and stop now and then to listen.
- Keep close enough together to hear each other's steps.
- Carry a bell or a whistle, for sound goes where light does not.
- Remember on which side the river should be.
- Turn back at the last place that you knew, if you are in doubt.
- Sit down and wait if you are lost, because fog does not last for ever.
"""),
    ),
)


def draw(rng: random.Random) -> Document:
    """An instruction to write a number of tips, and the numbered list."""
    advice, trade = rng.choice(ADVICE), rng.choice(TRADES).name
    n_tips = rng.randint(4, 6)
    chosen = [advice.tips[i] for i in sorted(rng.sample(range(len(advice.tips)), n_tips))]
    n = NUMBERS[n_tips]
    lead = say(rng, LEADS, {"n": n, "aim": advice.aim, "a_trade": a(trade)})
    is_longer = n_tips < 5 or rng.random() < 0.4
    answer = numbered(chosen)
    if is_longer:
        answer = f"Here are {n} tips {advice.aim}:\n{answer}"
    count = demands.item_count(rng, n_tips, "tips")
    form = demands.short_sentences(rng, chosen) if not is_longer else demands.without(rng, answer)
    return demands.document(
        key=f"tips:{advice.aim}:{n}:{form.question}",
        lead=lead,
        answer=answer,
        questions=[f"Does the text give tips {advice.aim}?", "Is every tip something one can do?"],
        demands=[count, form],
        cue=rng.choice(("", "Tips:")),
    )
