"""Short dialogues: a script is a row of exchanges, each a line and the reply to it.

In a wording, " | " parts the two lines of an exchange.
"""

import random
from typing import NamedTuple

from labkit.corpus import demands
from labkit.corpus.demands import Demand
from labkit.corpus.document import Document
from labkit.corpus.grammar import NUMBERS, Beat, beats, phrases, say, tell
from labkit.corpus.lexicon import cast


class Script(NamedTuple):
    """`about` goes on after "a dialogue in which": the second speaker has the trade at hand."""

    name: str
    about: str
    subjects: tuple[str, ...]
    exchanges: tuple[Beat, ...]


LEADS = phrases("""
- Write a short dialogue in which {about}.
- Write a dialogue of {n} lines in which {about}.
- Invent a conversation in which {about}.
- Two people talk, and {about}. Write down what they say.
- I need a small scene for the school play, in which {about}. Write only what the two say.
""")

SCRIPTS = (
    Script(
        "way",
        "{name} asks {f_name}, the {f_trade}, for the way to {place}",
        (),
        beats("""
- Good morning, is this the way to {place}? | Good morning, it is the way to many places, and one of
  them is {place}.
- Excuse me, how do I get to {place}? | You are almost there, but the last part is the hardest.

- Which turn should I take? | Go as far as {other_place}, and then keep to the left.
- Should I follow the river? | Follow it as far as {other_place}, and then turn away from it.

~ Is it far on foot? | That depends on the {sky}, but most people need half an hour.
~ Shall I be there before noon? | If you do not stop to talk with everyone, you will.

~ You seem to know the country well. | I am {f_a_trade}, and people come to me from all sides.
~ How do you know all this? | One learns it by being asked every day.

~ And if I lose my way? | Then wait for the bell of {village} and walk toward the sound.
~ What if the {sky} comes? | Then knock at any door, for people here are kind.

- Thank you, you have helped me a great deal. | Greet {place} from me, and have a good day.
- Many thanks, I shall try to remember it. | If you forget it, just ask the next person.
"""),
    ),
    Script(
        "market",
        "{name} buys {a_thing} from {f_name} at the market",
        (),
        beats("""
- How much do you want for this {thing}? | For this one, the one with {mark}, I ask eight coins.
- That is a fine {thing}, is it for sale? | It is, and it costs eight coins, {mark} included.

- Eight coins is a lot for {a_thing} with {mark}. | It is made of {material}, and it will outlive us
  both.
- Is {the_mark} not a reason to ask for less? | I would call it a reason to recognise it anywhere.

~ What is it good for? | It {use}, and it has never failed me.
~ Has it been used much? | My grandmother used it every day, and she was a careful woman.

~ May I hold it for a moment? | Of course, and notice that it {feel}.
~ Can I look at it more closely? | Please do, and you will see that it {feel}.

- I could give you six coins. | Give me seven, and I shall wrap it for you.
- I have only seven coins with me. | Then seven is the price, because you have looked at it so
  kindly.

- Here they are, and thank you. | Take good care of it, and come again.
- It is a bargain, then. | It is, and I wish you much joy of it.
"""),
    ),
    Script(
        "ferry",
        "{name} and {f_name} wait for the ferry in the {sky}",
        (),
        beats("""
- Have you been waiting long? | Since the bell struck nine, and I have not seen a sail yet.
- Is the ferry late again? | In this {sky} it is always late.

- Perhaps it does not run because of the {sky}. | It always runs, but in the {sky} it runs slowly.
- Do you think that it will come at all? | It came last year in worse weather, so I am hopeful.

~ What takes you across the river? | I am {f_a_trade}, and I have to bring {a_thing} to a customer.
~ Are you going far? | Only to the other side, where someone is waiting for {a_thing} with {mark}.

~ I am {a_trade}, and my work is waiting too. | Then we both have a reason to be patient.
~ My name is {name}, by the way. | And mine is {f_name}, and now the time will pass more quickly.

- Would you like half of my bread? | Gladly, if you take half of my apple.
- I have some tea left, if you are cold. | That is kind, and I have two cups.

- Listen, is that the bell of the boat? | It is, so let us go down to the landing.
- Look, there is a light on the water. | At last, and I had almost begun to enjoy the wait.
"""),
    ),
    Script(
        "broken",
        "{name} tells {f_name}, the {f_trade}, that {subject} is broken",
        ("the jug", "the ladder", "the window", "the cart", "the old chair", "the lamp", "the saw"),
        beats("""
- I have to tell you something, and you will not like it. | Then tell me quickly, before I begin to
  guess.
- Do you have a moment for bad news? | For you I have a moment, even for that.

- It is about {subject}, for it is broken. | Broken a little, or broken for good?
- I have broken {subject}. | You mean the one that I lent you on Monday?

~ It is in three pieces, but I have kept them all. | Three is better than thirty.
~ It happened near {place}, because of the {sky}. | Nobody can command the {sky}.

- I am truly sorry. | I can see that you are, and that is worth something.
- Are you angry with me? | I was, for as long as it takes to draw a breath.

- May I pay for it? | I would rather have you help me to mend it.
- What can I do to make it good? | Come tomorrow, bring glue, and we shall see.

- I shall be there as soon as it is light. | Come a little later, for I like to sleep.
- Thank you for being so kind. | Once I broke something too, and somebody was kind to me.
"""),
    ),
    Script(
        "lesson",
        "{name} asks {f_name}, the {f_trade}, to teach {him} {subject}",
        (
            *("to tie a good knot", "to row in a straight line", "to sharpen a knife"),
            *("to bake flat bread", "to whistle with two fingers", "to read the clouds"),
            *("to sew on a button", "to climb a tree safely"),
        ),
        beats("""
- Could you teach me {subject}? | I could, if you have time and do not mind failing at first.
- They say that nobody is better able {subject} than you. | They say too much, but I can show you
  what I know.

- How long does it take to learn? | An hour to understand it, and a year to do it without thinking.
- Is it difficult? | It is easy for those who are not in a hurry.

~ I am {a_trade}, and my hands are not used to such things. | Hands learn faster than heads do.
~ I tried it once near {place}, and people laughed. | Then they had forgotten their own first try.

- What should I do first? | First you watch me three times and say nothing.
- Where do we begin? | We begin slowly, so slowly that it seems silly.

~ Like this? | Almost, but do it once more, and breathe.
~ Did I do it right? | It was wrong in an interesting way, so try again.

- I think that I have got it now. | So have you, and tomorrow you can teach it to me.
- It worked! | It did, and now do it a hundred times.
"""),
    ),
    Script(
        "weather",
        "{name} and {f_name} talk about the {sky} and about {subject}",
        (
            *("the harvest", "a leaking roof", "the regatta", "a wedding in the open air"),
            *("the washing on the line", "the hay", "the young lambs", "the market stalls"),
        ),
        beats("""
- What do you say to this {sky}? | I say that we have seen worse and will see better.
- Did you expect the {sky} today? | My knee expected it, and my knee is seldom wrong.

- I am worried about {subject}. | So is everyone, and yet it has always turned out well.
- What will become of {subject} now? | We shall see tomorrow, when it is light.

~ Last {season} it lasted for nine days. | And on the tenth we had forgotten all about it.
~ At {place} one can hardly stand. | Then let us stay here and talk until it is over.

~ How is the work {f_at_shop}? | Quiet, because in such weather nobody leaves the house.
~ Are there any customers today? | Only you, and you have not bought anything yet.

- Shall we go and look after {subject} together? | Two pairs of eyes are better than one.
- Could you help me with {subject} later? | If you help me first to close the shutters.

- Look, it is getting brighter over the hills. | I told you so, or rather my knee did.
- I believe that it will be over soon. | Then the paths will smell good, and we shall go out.
"""),
    ),
    Script(
        "lost",
        "{name} asks {f_name}, the {f_trade}, about a lost {thing}",
        (),
        beats("""
- Have you seen {a_thing} with {mark}? | I see many things in a day, so tell me more about it.
- I have lost my {thing}. | I am sorry to hear it, so tell me what it looks like.

- It is made of {material}, and everybody knows it by {the_mark}. | Then it should not be hard to
  recognise.
- It {feel}, and it has {mark} that one cannot miss. | That sounds like something that I have seen.

- When I left {shop}, I still had it. | And where did you go after that?
- I had it in my hand this morning. | And in which direction did your feet carry you?

~ First to {place}, and then to the baker. | Did you put it down to count your coins?
~ I stood at {place} for a while and watched the clouds. | Then it was a good day all the same.

~ I have asked ten people already. | Then I am the eleventh, and eleven is a lucky number.
~ I am almost ready to give up. | Do not give up before you have had a cup of tea.

- Wait, what is that in the corner? | A child brought it in, and I think that it is yours.
- Is that not it, over there by the door? | So it is, and I had been sitting next to it all day.
"""),
    ),
    Script(
        "plan",
        "{name} and {f_name} plan {subject}",
        (
            *("a supper for the whole lane", "a trip by boat", "a new bench for the square"),
            *("a surprise for the teacher", "a small theatre", "a lantern walk", "a kite day"),
        ),
        beats("""
- I have been thinking about {subject}. | So have I, and I have even made a list.
- What do you think of {subject}? | I think that we should have done it long ago.

- Where should it be? | At {place}, because everybody can find it.
- Is {place} a good spot for it? | It is, unless the {sky} comes.

- Who could help us? | My sister has two good hands, and so has her husband.
- Shall we ask the others? | Let us first know what we want, and then ask them.

~ What do we need for it? | Some rope, some lamps and {a_thing}.
~ Do we have enough money? | We have eleven coins and a good deal of courage.

~ And if nobody comes? | Then it will be just for the two of us, and I should like that as well.
~ Is it not too much work? | Not if we begin today.

- Then let us meet again on Friday. | On Friday, and bring a pencil.
- When do we start? | Tomorrow, before one of us has a better idea.
"""),
    ),
)


def converse(rng: random.Random) -> tuple[Script, dict[str, str], list[str]]:
    """A script, its slots, and its lines: each begins with the name of its speaker."""
    script, slots = rng.choice(SCRIPTS), cast(rng)
    if script.subjects:
        slots["subject"] = rng.choice(script.subjects)
    lines = [
        f"{speaker}: {line}"
        for exchange in tell(rng, script.exchanges, slots)
        for speaker, line in zip(
            (slots["name"], slots["f_name"]), exchange.split(" | "), strict=True
        )
    ]
    return script, slots, lines


def draw(rng: random.Random) -> Document:
    """An instruction to write a dialogue between two people, and the dialogue."""
    script, slots, lines = converse(rng)
    name, n = slots["name"], NUMBERS[len(lines)]
    about = script.about.format_map(slots)
    lead = say(rng, LEADS, {"about": about, "n": n})
    count = Demand(f"It should have exactly {n} lines.", f"Does it have exactly {n} lines?")
    first = Demand(f"Let {name} speak first.", f"Does {name} speak first?")
    questions = [
        "Is the text a dialogue?",
        f"Do {name} and {slots['f_name']} take turns?",
        f"Is it one in which {about}?",
    ]
    if f" {n} lines" in lead:
        questions.append(count.question)
        made = [first]
    else:
        made = [count, rng.choice((first, demands.without(rng, "\n".join(lines))))]
    parts = script.about.format_map({**slots, "name": "A", "f_name": "B", "him": "A"})
    return demands.document(
        key=f"dialogue:{parts}",
        lead=lead,
        answer="\n".join(lines),
        questions=questions,
        demands=made[: rng.choice((1, 2))],
        cue=rng.choice(("", "Dialogue:")),
    )
