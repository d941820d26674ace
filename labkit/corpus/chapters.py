"""Chapters of a book of the valleys: connected prose, made of what the instructions are made of.

A chapter has one village and one season. A scene opens it and a thought closes it; between them
stand a story and two of four other things: an explanation that somebody gives, a letter that
somebody kept, a talk that somebody overheard, a story within the story.
"""

import random

from labkit.corpus import dialogues, explanations, letters
from labkit.corpus.arcs import ARCS
from labkit.corpus.grammar import beats, n_sentences, paragraph, phrases, say, tell
from labkit.corpus.stories import Story, story
from labkit.corpus.topics import TOPICS

TITLES = phrases("""
- {name} and the {sky}
- {season} in {village}
- The {trade} of {village}
- What happened at {place}
- {name} and {f_name}
- One {season} day in {village}
- The {trade} and the {f_trade}
- From {place} to {other_place}
- A story from {village}
- The {f_trade} next door
- The road to {other_place}
- Two people from {village}
""")
SCENE = beats("""
- {village} lies where the river makes its last bend before the meadows.
- Whoever comes down the hill path sees the roofs of {village} first and the river afterwards.
- In {village} the river is never far away, and in most houses one can hear it at night.
- There is only one street in {village}, but it has so many corners that it seems to be seven.
- {village} is small, and on the map of the valley it is not much more than a dot of ink.
- Between two green hills lies {village}, with its forty chimneys and its crooked lane.

- It was {season}, and people had already grown used to it.
- That year {season} had come early, and with it the {sky}.
- That {season} was like many others, and yet people still speak of it.
- {season} had come to the valley, and the work changed with it, as it does every year.
- It was the time of the year when every {season} begins to look like the one before.

~ In the morning one could smell bread and wood smoke, and from the ferry came the sound of a bell.
~ The hens were the first to be awake, then the bakers, and last of all the school.
~ Carts rolled down to the landing, and on each of them sat somebody with time for a greeting.
~ From {place} one could see everything that went on, and so somebody was always standing there.
~ Boats came and went, and what they brought was sold before noon.

~ On market days the square was so full that one had to carry a goose over one's head.
~ On quiet days one could hear the gate of the lock open and close.
~ Children played at {other_place}, although it was forbidden, or perhaps because of it.
~ At {other_place} the old people sat in a row and knew everything a little better.
~ When two people met at {other_place}, it was never for less than half an hour.

- Nobody expected that anything would happen, and that is how it always begins.
- If you had asked anyone for news, they would have said that there was none.
- On such a day nobody thinks of stories, and then one comes round the corner.
- It is worth telling what happened there, even if it is not a great matter.
- The story that people tell of that time goes like this.
""")
EXPLAINED = phrases("""
- Among the children of {village} there was one who wanted to know {clause}, and {f_name} the
  {f_trade} took the time to explain it.
- At that time people often came to {f_name} the {f_trade} with questions, and one of them was
  {clause}.
- Sitting on an upturned bucket, {f_name} the {f_trade} explained to the children {clause}.
- In the evenings they talked about all sorts of things, and once about {clause}.
- A visitor to {village} once asked {clause}, and the answer was written down.
- In the notebook of the {f_trade} there is a page on {clause}.
- Those who work by the river sooner or later ask {clause}.
- {name} the {trade} had never understood {clause}, until {f_name} the {f_trade} put it into simple
  words.
- The schoolchildren had to write about {clause}, and the best of their pages was read aloud.
""")
WRITTEN = phrases("""
- In those days people wrote to each other even if they lived only a field apart, and one such
  letter has been kept.
- A letter from that {season} was found much later behind a shelf.
- Among the papers of {village} there is a letter that belongs here.
- Somebody had left a letter between the pages of a book, and it may be read now.
- The letter carrier had much to do in that {season}, and this is one of the letters in the bag.
- One of the neighbours showed me a letter, and I was allowed to copy it.
""")
OVERHEARD = phrases("""
- Whoever stood at {place} at that hour could hear two voices.
- Two people were talking at {place}, and the wind carried their words up to the road.
- On the same day somebody overheard the following talk.
- People do not only work in {village}, they also talk, for instance like this.
- A child who was hiding near {other_place} heard this conversation and never forgot it.
- One could often hear conversations of this kind at {place}.
""")
RETOLD = phrases("""
- When the lamps were lit, somebody told another story.
- That reminded {f_name} the {f_trade} of an older story.
- There is another story that belongs here, and it is told more quietly.
- In the same year something happened that is not so well known.
- People who like this story usually ask for a second one.
- {f_name} the {f_trade} knew another story, and liked to tell it when it was late.
- Not everything in {village} ends so soon, as the next story shows.
""")
CLOSING = beats("""
~ In the evening the lamps were lit along the lane, one after another.
~ By then the {sky} was long forgotten, and the river went on as it always does.
~ The bell struck, the shutters were closed, and for a while nothing could be heard but the water.
~ The boats lay side by side at the landing and knocked against each other softly.
~ A late cart rolled over the bridge, and then it was quiet.

- That is how it was in {village}, in that {season}.
- {name} still lives near {place}, and does not like to be asked about it too often.
- If you ever come to {village}, ask for the {trade}, and you will hear the rest.
- Somebody in {village} would tell it differently, but not by much.
- So ended that day, and the next one began as if nothing had happened.

- And if the story has an end, nobody in {village} has noticed it yet.
- But that is how it is with stories: one stops, and the river goes on.
- What one remembers in the end is not the {sky}, but who was there.
- The next {season} had its own worries, and they belong in another chapter.
- The {f_trade} nodded at this, and nodding was as much as one could expect.
- More than this is not known, and more than this is not needed.
""")


def chapter(rng: random.Random) -> str:
    """A chapter of 400 to 900 words: a title line, and paragraphs parted by empty lines."""
    arc = rng.choice(ARCS)
    told = story(rng, arc=arc, n=n_sentences(arc.beats)[-1] + rng.choice((1, 2)))
    slots = told.slots
    parts = [_explanation, _letter, _talk, _second_story]
    middle = [part(rng, told) for part in rng.sample(parts, 2)]
    middle.insert(rng.choice((0, 0, 1)), _in_paragraphs(rng, told))
    scene = paragraph(tell(rng, SCENE, slots))
    closing = paragraph(tell(rng, CLOSING, slots))
    return "\n\n".join([say(rng, TITLES, slots), scene, *middle, closing])


def _in_paragraphs(rng: random.Random, told: Story) -> str:
    """The story, broken into paragraphs of three to five sentences."""
    sentences, paragraphs = list(told.sentences), []
    while len(sentences) > 5:
        n = rng.choice((3, 4))
        paragraphs.append(paragraph(sentences[:n]))
        del sentences[:n]
    return "\n\n".join([*paragraphs, paragraph(sentences)])


def _explanation(rng: random.Random, told: Story) -> str:
    topic = rng.choice(TOPICS)
    opener = say(rng, EXPLAINED, {**told.slots, "clause": topic.clause})
    steps = explanations.chain(rng, topic)
    return f"{opener} {paragraph(steps)} {rng.choice(topic.look)}"


def _letter(rng: random.Random, told: Story) -> str:
    _, slots, body = letters.compose(rng)
    return f"{say(rng, WRITTEN, told.slots)}\n\n{letters.sealed(rng, slots, body)}"


def _talk(rng: random.Random, told: Story) -> str:
    _, _, lines = dialogues.converse(rng)
    return f"{say(rng, OVERHEARD, told.slots)}\n\n" + "\n".join(lines)


def _second_story(rng: random.Random, told: Story) -> str:
    """A story of another arc, and of people whose names the chapter does not know yet."""
    known = {told.slots["name"], told.slots["f_name"]}
    arc = rng.choice([arc for arc in ARCS if arc is not told.arc])
    second = told
    while {second.slots["name"], second.slots["f_name"]} & known:
        second = story(rng, arc=arc, asks=rng.random() < 0.3)
    return f"{say(rng, RETOLD, told.slots)} {_in_paragraphs(rng, second)}"
