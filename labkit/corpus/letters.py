"""Short letters between neighbours: a greeting, a reason, a request, a close."""

import random
from typing import NamedTuple

from labkit.corpus import demands
from labkit.corpus.demands import Demand
from labkit.corpus.document import Document
from labkit.corpus.grammar import NUMBERS, Beat, beats, n_sentences, paragraph, phrases, say, tell
from labkit.corpus.lexicon import cast


class Letter(NamedTuple):
    """`aim` goes on after the name of the reader; `request` is asked about in the requirements.

    `subjects` are choices for the slot {subject}, if the letter has one.
    """

    name: str
    aim: str
    question: str
    subjects: tuple[str, ...]
    beats: tuple[Beat, ...]


LEADS = phrases("""
- Write a short letter from {name} to {f_name}, the {f_trade}, {aim}.
- {name}, {a_trade} in {village}, writes to {f_name}, the {f_trade}, {aim}. Write the letter.
- Please write a friendly letter to {f_name}, the {f_trade}, {aim}, and sign it {name}.
- Help {name}, {a_trade}, with a letter to {f_name}, the {f_trade}, {aim}.
- I need a letter that {name} can send to {f_name}, the {f_trade}, {aim}.
""")
CLOSES = phrases("""
- Your neighbour,
- With kind greetings,
- Warm greetings,
- Your friend,
- Until soon,
""")
SHORTEST = 5  # sentences between greeting and close
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

LETTERS = (
    Letter(
        name="borrow",
        aim="to ask for the loan of {a_thing}",
        question="Does it ask for the loan of {a_thing}?",
        subjects=(),
        beats=beats("""
~ I hope that you are well and that the {sky} has not kept you indoors.
~ It was good to see you at the market last week, even if only from far away.

- My own {thing} has come to the end of its days, and the new one will not be ready until {day}.
- Last night I lost my {thing} near {place}, and I cannot finish my work without one.

- May I borrow yours, the one with {mark}?
- Would you lend me yours, the one with {mark}, for a few days?

- I shall treat it with care and bring it back on {day}, as clean as it was.
- You will have it back on {day}, and I promise that {the_mark} will be the only mark on it.

~ In return I shall gladly help you {f_at_shop} for an afternoon.
~ If you ever need {a_trade}, you know which door to knock at.

~ A short answer is enough, and a nod across the lane will do as well.
"""),
    ),
    Letter(
        name="thanks",
        aim="to say thank you for {subject}",
        question="Does it give thanks for {subject}?",
        subjects=(
            *("a basket of plums", "a jar of honey", "a warm loaf", "a bunch of herbs"),
            *("a bag of walnuts", "a dozen eggs", "a round cheese", "a pot of jam"),
        ),
        beats=beats("""
- When I opened my door on {day}, I found {subject} on the step and knew at once who had been there.
- Thank you with all my heart for {subject} that you left at my door on {day}.

~ It came at the right moment, for I had been working since dawn and had forgotten to eat.
~ I had been in low spirits because of the {sky}, and all at once the day looked brighter.

- We shared it among four people at supper, and everybody asked where it came from.
- I meant to keep some of it for Sunday, but I must confess that nothing is left.

~ You have always had a kind eye for what other people need.
~ You did not even leave a note, but the {f_trade} of {village} cannot hide so easily.

- Please come and see me {at_shop} soon, so that I can give you something too.
- Will you come by {at_shop} one of these days, so that I can thank you properly?

~ Until then I send back the cloth in which it was wrapped, washed and ironed.
"""),
    ),
    Letter(
        name="apology",
        aim="to apologise for breaking {subject}",
        question="Does it apologise for breaking {subject}?",
        subjects=(
            *("a window", "a flower pot", "a garden gate", "a blue bowl"),
            *("a good chair", "a lamp", "a saw", "a glass jug"),
        ),
        beats=beats("""
- I am writing because I must tell you something, and I would rather tell you myself than let you
  find it.
- There is something that I have to tell you, and it is better to say it at once.

- On {day}, while you were away, I broke {subject} of yours.
- It was I who broke {subject} of yours on {day}, and nobody else.

~ I was in a hurry because of the {sky}, and I did not look where I was going.
~ I was carrying far too much at once, as I so often do.

- I am truly sorry, because I know that you were fond of it.
- I am sorry, and I have thought of little else since then.

- May I pay for a new one, or would you prefer me to mend it?
- Please tell me what it cost, so that I can pay for it.

~ I have kept all the pieces, and {a_trade} learns to be good with glue.
~ Until then I leave you {a_thing} with {mark}, so that you have something of mine as well.
"""),
    ),
    Letter(
        name="invitation",
        aim="to invite {f_him} to {subject}",
        question="Does it invite {f_name} to {subject}?",
        subjects=(
            *("a supper of soup and bread", "a boat trip", "an evening of songs", "a walk"),
            *("a birthday party", "a day in the orchard", "a picnic", "a game of cards"),
        ),
        beats=beats("""
- On {day} I am planning {subject}, and it would not be the same without you.
- I should like to invite you to {subject} on {day}.

- We meet at {place} when the bell strikes four.
- Come to {place} at four, or a little later if your work keeps you.

~ If the {sky} comes back, we shall simply stay {at_shop}, where it is warm.
~ There will be about ten of us, and you know almost everyone.

~ You need not bring anything but a good mood.
~ If you like, bring {a_thing}, for mine has gone missing.

- Please let me know by the day before whether you can come.
- Could you tell me soon whether we may count on you?

~ I still remember how we laughed the last time.
~ It has been too long since we sat at one table.
"""),
    ),
    Letter(
        name="lesson",
        aim="to ask for a lesson in the work of {f_a_trade}",
        question="Does it ask for a lesson in the work of {f_a_trade}?",
        subjects=(),
        beats=beats("""
- For a long time I have admired your work, and lately I stop at your window almost every day.
- Ever since I saw you at work last {season}, I have wanted to ask you something.

- Would you give me a lesson in what {f_a_trade} does?
- Could I come to you one day and learn the first steps of your trade?

~ I am only {a_trade}, but my hands are patient and I do not mind sweeping the floor.
~ I know that one cannot learn such a thing in a day, but one has to begin somewhere.

- Any {day} would suit me, early in the morning or late in the afternoon.
- I am free every {day}, and I could be there as soon as it is light.

~ Of course I shall pay for what I spoil.
~ I would bring my own {thing}, and bread and cheese for both of us.

- In return I could show you how we work {at_shop}, if that interests you.
- Perhaps there is something {at_shop} that you have always wanted to try as well.
"""),
    ),
    Letter(
        name="care",
        aim="to ask {f_him} to look after {subject} for {n} days",
        question="Does it ask {f_name} to look after {subject}?",
        subjects=(
            *("a goat", "a cat", "an old dog", "six hens", "a pot of basil", "a donkey"),
            *("a sick duck", "two rabbits", "a young apple tree", "a box of seedlings"),
        ),
        beats=beats("""
- On {day} I must leave for {n} days, because my sister is moving to another house.
- I have been called away to help my uncle, and I shall be gone for {n} days from {day} on.

- I cannot take {subject} with me on the road, and so I am asking you for a favour.
- There is only one worry, and it is {subject} that cannot stay alone for so long.

- Would you look in each morning and make sure that there is enough water?
- Could you come by once a day with some water and a kind word?

~ The key lies under {a_thing} with {mark}, next to the back door.
~ Nothing else is needed, unless the {sky} gets worse, and then a blanket would be good.

~ There is nobody whom I would rather trust with this.
~ I ask you because I have seen how gently you treat everything that lives.

- When I come home, I shall bring you something nice from the road.
- I shall be in your debt, and you know that {a_trade} pays what is owed.
"""),
    ),
    Letter(
        name="get well",
        aim="to wish {f_him} a quick return to health after {subject}",
        question="Does it wish {f_name} good health?",
        subjects=(
            *("a cold", "a fall from a ladder", "a fever", "a bee sting", "a bad back"),
            *("a twisted ankle", "a sore throat", "a burnt hand"),
        ),
        beats=beats("""
- I heard only yesterday about {subject}, and I am sorry that you have to stay in bed.
- The neighbours told me about {subject}, and now I know why your door has been closed since {day}.

~ It is too quiet here without you, and even the {sky} seems to be waiting.
~ People stand before {f_shop} and do not know what to do with their baskets.

- Please rest for as long as you need, for the work will not run away.
- Do not get up too early, whatever your pride may tell you.

- I have left a pot of soup at your door, and it only has to be made warm.
- With this letter I am sending you some herb tea, which helped my grandmother in such cases.

~ If you are bored, I can lend you {a_thing} that will pass the time in its own way.
~ The children have painted a picture of {place} for you, with yourself in the middle.

- May I come on {day} and sit with you for an hour?
- Would a visit on {day} be welcome?
"""),
    ),
    Letter(
        name="market",
        aim="to ask {f_him} to bring {subject} from the market",
        question="Does it ask {f_name} to bring {subject}?",
        subjects=(
            *("a sack of flour", "a ball of string", "a pound of nails", "a bottle of ink"),
            *("a bunch of onions", "a packet of seeds", "a new broom", "a bar of soap"),
            *("a piece of blue cloth", "a cup of salt"),
        ),
        beats=beats("""
- I hear that you are going to the market on {day}, and I have a small favour to ask.
- When you drive to the market on {day}, could you do something for me?

- I need {subject}, and I cannot leave {shop} this week.
- What I need is {subject}, and here in {village} there is none to be had.

~ My cart has lost a wheel, and because of the {sky} I would rather not go on foot.
~ Since the {sky} came, I have had more work than one person can do.

- Would you bring it along, if there is room in your cart?
- Is there a little room left in your cart for it?

- I enclose five coins, and if it costs more, I shall pay you the rest at once.
- Please pay for it, and I shall give you the money in the evening.

~ Take the best that there is, and do not let anybody talk you into two.
~ If they have none, never mind, for I can wait until next week.

~ For your trouble there is a bowl of soup waiting {at_shop}, with dumplings.
"""),
    ),
    Letter(
        name="news",
        aim="to tell {f_him} about {subject}",
        question="Does it tell {f_name} about {subject}?",
        subjects=(
            *("a trip to the coast", "a new dog", "the first day in a new house"),
            *("the flood in the lane", "a strange bird in the garden", "the spring fair"),
            *("a night on the mountain", "a visit from an old friend"),
        ),
        beats=beats("""
- So much has happened since {day} that I do not know where to begin.
- You asked for news, and now there is some.

- Let me tell you about {subject}, for I can think of nothing else.
- There is one thing above all, {subject}, and everybody here wants to hear about it.

~ It began on {day} with the {sky}, and nobody expected much of it.
~ At first I thought that it would be a day like any other.

- I laughed more than I have laughed in a whole year, and in the evening I could hardly stand.
- I was a little afraid in the beginning, but soon I would not have missed it for anything.

~ If you had been there, you would have seen {a_trade} with wet feet and a happy face.
~ I even lost {a_thing} with {mark}, and did not mind.

- Now I should like to know how you are, and whether you still work so late.
- But enough of me, for I would much rather hear how things are with you.

- Please write soon, and write at length.
- Will you write back before the month is over?
"""),
    ),
    Letter(
        name="quiet",
        aim="to complain politely about {subject}",
        question="Does it complain politely about {subject}?",
        subjects=(
            *("the noise at night", "the smoke from the yard", "the cart before the gate"),
            *("a rooster that crows at three", "a hedge that hides the sun"),
            *("the smell of glue", "a dog that barks at the moon", "a blocked path"),
        ),
        beats=beats("""
- You know that I think highly of you, and so I hope that I may be open.
- We have been good neighbours for years, and I want it to stay so.

- It is about {subject}, which has troubled me since {day}.
- For some days now {subject} has made my life a little harder than it need be.

~ I am sure that you have not noticed it yourself, for {f_a_trade} has enough to think about.
~ At first I put it down to the {sky}, but that has gone, and the trouble has stayed.

- Would it be possible to change this before the end of the week?
- Could you find a way to spare me this, at least on {day}?

~ If I can help with my own hands, I shall come at once.
~ Perhaps we can look at it together and find a simple answer.

- Do not be cross with me, and come to {shop} for a cup of tea.
- Whatever you decide, my door stays open to you.
"""),
    ),
)


def compose(rng: random.Random) -> tuple[Letter, dict[str, str], list[str]]:
    """A letter, its slots, and the sentences between its greeting and its close."""
    letter, slots = rng.choice(LETTERS), cast(rng)
    slots["day"], slots["n"] = rng.choice(DAYS), rng.choice(NUMBERS[3:9])
    if letter.subjects:
        slots["subject"] = rng.choice(letter.subjects)
    n = rng.choice([n for n in n_sentences(letter.beats) if n >= SHORTEST])
    return letter, slots, tell(rng, letter.beats, slots, n)


def sealed(rng: random.Random, slots: dict[str, str], body: list[str]) -> str:
    """The letter as it is sent, with greeting and close."""
    close = f"{rng.choice(CLOSES)}\n{slots['name']}"
    return f"Dear {slots['f_name']},\n\n{paragraph(body)}\n\n{close}"


def draw(rng: random.Random) -> Document:
    """An instruction to write a letter, and the letter."""
    letter, slots, body = compose(rng)
    lead = say(rng, LEADS, {**slots, "aim": letter.aim.format_map(slots)})
    made = _demands(rng, body, slots, lead)
    subject = slots.get("subject", slots["thing"] if letter.name == "borrow" else "")
    return demands.document(
        key=f"letter:{letter.name}:{subject}:{slots['f_trade']}:{made[0].question}",
        lead=lead,
        answer=sealed(rng, slots, body),
        questions=[
            f"Is the text a letter to {slots['f_name']}?",
            letter.question.format_map(slots),
            f"Is it signed by {slots['name']}?",
        ],
        demands=made,
        cue=rng.choice(("", "", "Letter:")),
    )


def _demands(rng: random.Random, body: list[str], slots: dict[str, str], lead: str) -> list[Demand]:
    """One or two demands: on the number of sentences, on a mention, on a question in the letter."""
    text = paragraph(body)
    n = NUMBERS[len(body)]
    possible = [
        Demand(
            f"Between greeting and close there should be exactly {n} sentences.",
            f"Are there exactly {n} sentences between greeting and close?",
        ),
        demands.without(rng, text),
    ]
    if "?" in text:
        possible.append(Demand("It should ask a question.", "Does the letter ask a question?"))
    for slot, article in {"day": "", "place": "", "sky": "the"}.items():
        if demands.names(text, slots[slot]) and slots[slot] not in lead:
            possible.append(demands.mention(rng, slots[slot], article))
    return rng.sample(possible, rng.choice((1, 2)))
