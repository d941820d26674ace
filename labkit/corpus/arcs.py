"""Fourteen arcs that a story can follow, each beat in several wordings (`grammar` has the marks).

An arc comes after the opening, which names the hero, the trade and the village. Later beats refer
to what earlier ones set: the thing and its mark, the place, the weather, what was promised. A beat
that may be left out is one that no later beat needs.
"""

from typing import NamedTuple

from labkit.corpus.grammar import Beat, beats, phrases


class Arc(NamedTuple):
    """`who` follows the trade in a prompt; `gist` is the whole story in one sentence.

    `subjects` are the choices that make it another story: rows of values for the slots `needs`.
    `things` are those that fit, if not all do.
    """

    name: str
    who: str
    gist: str
    needs: tuple[str, ...]
    subjects: tuple[tuple[str, ...], ...]
    beats: tuple[Beat, ...]
    endings: tuple[str, ...]
    questions: tuple[str, ...]
    things: tuple[str, ...] = ()
    in_winter: bool = True


OPENINGS = phrases("""
- In {village} there lived {a_trait} {trade} named {name}, who {work}.
- There was once {a_trait} {trade} in {village} whose name was {name}.
- {name} of {village} was {a_trait} {trade} who {work}.
- Everyone in {village} knew {name}, the {trait} {trade} who {work}.
- Long ago, {a_trait} {trade} called {name} lived in {village}, not far from {place}.
- On the edge of {village}, close to {place}, lived {name}, {a_trait} {trade}.
- Not far from {place} in {village}, {a_trait} {trade} named {name} {work}.
- For many years {name}, {a_trait} {trade}, {work} in {village}.
- Whoever came to {village} soon met {name}, {a_trait} {trade} who {work}.
""")

LOST = Arc(
    name="lost",
    who="who loses {a_thing}",
    gist="{name}, {a_trade} from {village}, loses {a_thing} with {mark}, and finds it again "
    "{at_place} with the help of {f_name}, the {f_trade}.",
    needs=(),
    subjects=(),
    beats=beats("""
- One {season} morning {his} {thing} was missing, the good old {thing} with {mark}.
- {he} owned one thing that {he} would not have sold for any price, {a_thing} with {mark}, and one
  {season} evening it was gone.
- One {season} day {he} reached for {his} {thing}, the one with {mark}, and found nothing there.
- One {season} day {he} noticed that {his} {thing} was gone, the one with {mark}, which {he} had
  always kept in the same place.

~ {he} looked under the table, behind the door and in every corner, and then {he} looked again.
~ First {he} searched {shop} from one end to the other, and then {he} searched it backwards.
~ A visitor might have laughed to see how often {he} looked into the same empty corner.

~ It had belonged to {his} grandmother, and no other {thing} would do.
~ It was worth little at the market, but {he} had used it since {he} was a child.

- Although {sky_came}, {he} went out and walked slowly down the lane with {his} eyes on the ground.
- Outside, {sky_came}, but {he} put on a coat and went out to search.
- {sky_came}, and still {he} went from door to door and asked.
- {he} took {his} coat and went out to search, and it did not help that {sky_came}.

~ Nobody at the inn had seen it, and nobody at the well had seen it either.
~ The children promised to help, but they soon forgot the search and played a game.
~ By noon {he} had found two buttons, a horseshoe and somebody's left glove, and nothing else.

- Then {f_name}, the {f_trade}, put down {f_his} work and said, "Tell me where you went yesterday,
  step by step."
- At last {he} met {f_name}, {f_a_trade}, who asked what was wrong and listened to the end.
- It was {f_name}, the {f_trade}, who said, "Let us not look everywhere, but only where you have
  been."
- On the way {he} met {f_name}, the {f_trade}, who said, "Two people see more than one, so let me
  come along."

~ Together they followed every step of the day before, from {shop} to the market and back.
~ So they walked the way of the day before once more, and talked as they went.

- And there, {at_place}, lay the {thing}, dusty but whole.
- {f_name} stopped {at_place}, bent down and lifted something up, and it was the
  {thing} with {the_mark}.
- Something caught the light {at_place}, and {name} knew the {thing} at once by {the_mark}.
- It was lying {at_place}, half hidden under leaves, and nothing had happened to it.

~ As they walked home, {sky_went}.
~ By the time they were back at {shop}, {sky_went}, and nobody minded being tired.
"""),
    endings=phrases("""
- {name} had gone out to look for {a_thing}, and {he} came home with a friend as well.
- From then on the {thing} had its own place beside the door, and {name} touched {the_mark} each
  evening, just to be sure.
- The {trait} {trade} of {village} still tells the story, and it always ends with the name of
  {f_name}.
- {name} learned that a calm question finds more than a hurried hand.
"""),
    questions=phrases("""
- Is {a_thing} really lost when the search for it brings you a friend?
- Who would have thought that {a_thing} with {mark} could teach {a_trade} to ask for help?
"""),
)

ERRAND = Arc(
    name="errand",
    who="who must bring {subject} to a friend before dark",
    gist="Although the {sky} makes the way hard, {name}, {a_trade} from {village}, brings "
    "{subject} to {f_name} before dark, and gets {a_thing} as a gift.",
    needs=("subject", "the_subject"),
    subjects=(
        ("a jar of medicine", "the jar"),
        ("a pot of soup", "the pot"),
        ("a basket of eggs", "the basket"),
        ("a sack of seed", "the sack"),
        ("a bundle of dry wood", "the bundle"),
        ("a letter with good news", "the letter"),
        ("a round cheese", "the cheese"),
        ("a warm blanket", "the blanket"),
    ),
    beats=beats("""
- One {season} day {he} had to bring {subject} to {f_name}, {f_a_trade}, who was waiting
  {at_other_place}.
- One {season} morning word came that {f_name}, the {f_trade}, was waiting {at_other_place} for
  {subject}, and must have it before dark.
- {f_name}, the {f_trade}, was waiting {at_other_place} for {subject}, and one {season} afternoon
  {name} offered to bring it before dark.

~ It was not far on a good day, but this was not a good day.
~ "It is only an hour on foot," said {name}, and put on {his} thickest boots.

- {he} had hardly left {shop} when {sky_came}, and the road could no longer be trusted.
- {he} was halfway there when {sky_came}, and {he} had to slow down.
- Just as {he} reached {place}, {sky_came}.
- The first mile was easy, but then {sky_came}, and every step took twice as long.

~ Twice {he} slipped, and twice {he} held {the_subject} high so that nothing would happen to it.
~ {he} wrapped {the_subject} in {his} own coat and went on in {his} shirt.
~ {he} talked to {the_subject} as if it were a small animal that had to be kept calm.

- At {place} {he} found the way closed, for a fallen tree lay across it.
- Then {he} saw that the stream had carried off the planks near {place}.
- Near {place} {he} took the wrong turn, and it was a long time before {he} noticed.
- Near {place} the way was under water, and nobody was there to ask.

~ {he} sat down on a stone and thought of turning back.
~ For a moment {he} wanted to cry, and then {he} wanted to laugh.

- So {he} followed the sound of the village bell, one careful step after another, until {he} came to
  a path that {he} knew.
- A shepherd's dog came out of nowhere, looked at {him}, and walked ahead as if to say that there
  was another way.
- Then {he} remembered the narrow path behind the hedge that {his} father had shown {him} long ago.
- Far away {he} saw a small light, and {he} walked toward it as straight as {he} could.

- It was almost dark when {he} knocked, and {f_name} opened the door and saw {him} standing there
  with {the_subject} safe in {his} arms.
- {f_name} was standing {at_other_place} with a lamp, and the first thing that {f_he} saw was
  {the_subject}.
- The last light was fading when {he} laid {the_subject} into the hands of {f_name}, who could
  hardly believe it.

- As a thank-you {f_name} gave {him} {a_thing} with {mark}.
- {f_name} had no money in the house, and so {f_he} gave {him} {a_thing} with {mark}.
- "Then you must take this," said {f_name}, and gave {him} {a_thing} with {mark}.

~ They ate bread and cheese by the fire until {sky_went}.
~ "Stay until morning," said {f_name}, and they sat by the stove and listened until {sky_went}.
"""),
    endings=phrases("""
- {name} has other things that are worth more, but when {he} sees the {thing} with {the_mark}, {he}
  thinks of the {sky} and smiles.
- Since that day {he} has kept the {thing} {at_shop}, and when someone calls a road too long, {name}
  points to it.
- A short way can be long, thought the {trait} {trade}, but nobody walks it alone who is awaited.
"""),
    questions=phrases("""
- Would you have gone on through the {sky} with {subject} in your arms?
- When {name} looks at the {thing} with {the_mark} today, do you think that {he} remembers the cold
  or the welcome?
"""),
)

GIFT = Arc(
    name="gift",
    who="who wants to make {subject} for a friend",
    gist="{name}, {a_trade} from {village}, spoils the first try at making {subject} for {f_name}, "
    "but the second one, made in secret and not quite perfect, is loved.",
    needs=("subject", "it_was"),
    subjects=(
        ("a birdhouse", "a little crooked"),
        ("a wind chime", "a little out of tune"),
        ("a toy boat", "heavier on one side"),
        ("a small stool", "a finger too low"),
        ("a weather vane", "slow to turn"),
        ("a picture of the valley", "too green in one corner"),
        ("a cushion", "rounder than planned"),
        ("a puppet", "longer in one arm"),
        ("a tray for tea", "a little uneven"),
        ("a toy mill", "noisy when it turned"),
    ),
    beats=beats("""
- In {season}, when the birthday of {f_name}, the {f_trade}, came near, {name} decided to make
  {subject} for {f_him}.
- One {season} evening {he} decided to make {subject} for {f_name}, the {f_trade} next door.
- {f_name}, the {f_trade}, had always been good to {him}, and one {season} {he} wanted to give
  something back and decided to make {subject}.

~ There was only one difficulty, for it had to be a secret.
~ "How hard can it be for {a_trade}," {he} said to {himself}, and rolled up {his} sleeves.

~ {he} worked {at_shop} late at night, when nobody could see the light.
~ {he} drew it first on the back of an old bill, and the drawing looked very fine.

- The first try went wrong, because {he} was in a hurry and did not measure.
- The first one broke in {his} hands just when it was almost finished.
- On the third evening {he} saw that everything was spoiled, for {he} had begun with the wrong end.
- But the first try was so bad that {he} hid it under a sack.

~ Outside, {sky_came}, and it seemed to {him} that even the weather was shaking its head.
~ {he} swept the pieces into a box and did not look at them for two days.

- Then {he} saw {a_thing} with {mark} on the shelf, and thought how many tries it must have taken
  somebody to learn to make such a thing.
- It was {a_thing} that helped {him}, an old one with {mark}, for {he} saw that it was not perfect
  either and that {he} loved it all the same.
- While {he} was sitting there, {he} turned {a_thing} with {mark} in {his} hands, and {he} wondered
  how often its maker had failed before it was done.

- So {he} began again, and this time {he} measured twice and did not count the hours.
- {he} began again from the beginning, slowly, and hummed a tune while {he} worked.
- The next morning {he} took new material and started once more, and now {he} let every step take
  its time.

~ When it was finished at last, {sky_went}, and {he} carried it across the lane under a cloth.
~ {he} finished it on the last night and slept for only an hour.

- {f_name} turned it round and round, saw that it was {it_was}, and said that {f_he} would not
  change it for any other.
- It was {it_was}, but {f_name} laughed for joy and put it where everyone could see it.
- "It is {it_was}," said {name}, but {f_name} held it close and would not give it back.
"""),
    endings=phrases("""
- The spoiled one still stands {at_shop}, next to the {thing} with {the_mark}, and {name} would not
  part with either.
- "The first one was for me, and the second one was for you," said the {trait} {trade}.
- What is made with time, thought {name}, carries the time inside it.
"""),
    questions=phrases("""
- Which of the two do you think taught {name} more, the one that was spoiled or the one that was
  given away?
- Who needs a perfect gift, if a true one is at hand?
"""),
)

MEND = Arc(
    name="mend",
    who="who has to mend {subject}",
    gist="{name}, {a_trade} from {village}, tries in vain to mend {subject} by force, until "
    "{f_name} gets {him} to listen first and they find {cause} inside.",
    needs=("subject", "cause"),
    subjects=(
        ("the village clock", "a small dry leaf"),
        ("the mill wheel", "a short piece of driftwood"),
        ("the pump on the square", "a round white pebble"),
        ("the lock gate", "a smooth grey stone"),
        ("the ferry winch", "a twist of old net"),
        ("the weather vane", "an empty snail shell"),
        ("the well crank", "a lost glove"),
        ("the great market scale", "a single dried pea"),
        ("the school organ", "a child's paper bird"),
        ("the crane at the harbour", "a knot of fishing line"),
    ),
    beats=beats("""
- One {season} morning {subject} stood still, and because nobody else had time, {name} was asked to
  mend it.
- Then, one {season} day, {subject} stopped working, and the whole village came to {name} for help.
- One {season} day there was bad news in {village}, for {subject} would not work, and {name} was the
  first to be asked.

~ "I can promise nothing," {he} said, but {he} fetched {his} tools.
~ It did not look easy, but {he} was not one to say no.

- First {he} pushed, and then {he} pulled, and in the end {he} hit it with a mallet, but nothing
  moved.
- {he} oiled every joint and tightened every screw, and still nothing moved.
- {he} tried it with a hammer, with a bar and with loud words, but nothing helped.

~ While {he} worked, {sky_came}, and people stood around {him} and gave advice.
~ Meanwhile {sky_came}, and one after another the people who had been watching went home.

~ Toward evening {he} had taken apart so much that {he} was no longer sure where everything
  belonged.
~ {he} went to bed with black hands and got up with new courage, but the second day was like the
  first.

- Then {f_name}, {f_a_trade} with much time and few words, sat down beside {him} and asked,
  "What does it sound like when it tries to move?"
- In the end it was {f_name}, the {f_trade}, who said, "Stop for a moment, and listen to it."
- On the third day {f_name}, the {f_trade}, came by, watched for a while and said, "You have not yet
  asked it what is wrong."

- {name} held {his} breath, turned it very gently and heard a tiny click, deep inside.
- So {he} laid an ear against it, moved it by the width of a finger, and heard something rub where
  nothing should.
- {name} put down the tools, closed {his} eyes and listened, and there was a faint scratching from
  within.

- {he} reached in with two fingers and brought out {cause}, and that was all.
- There, between two parts that should have touched, sat {cause}.
- With a bent wire {he} drew out {cause}, and both of them had to laugh.

~ At that moment {sky_went}, and someone began to clap.
~ It had taken two days and no strength at all.

- {he} let go, and {subject} moved as if nothing had ever been wrong.
- A moment later {subject} was working again, and the news ran through {village} from door to door.
- After that it took no more than a gentle push, and {subject} worked as it had always done.
"""),
    endings=phrases("""
- What had been found inside lay in a small dish {at_shop} from then on, to remind {name} to listen
  first.
- "The strong hand was mine," {name} used to say, "but the good question came from {f_name}."
- Since then, when something goes wrong in {village}, people first sit down and ask what it sounds
  like.
"""),
    questions=phrases("""
- How often do we push where we should only listen?
- Would you have thought that something as small as {cause} could stop so much?
"""),
)

GUEST = Arc(
    name="guest",
    who="who gives shelter to {subject}",
    gist="{name}, {a_trade} from {village}, takes in {subject} during bad weather, asks for "
    "nothing in return, and a year later gets back {a_thing} that {he} had lent.",
    needs=("subject", "the_subject"),
    subjects=(
        ("a lost traveller", "the traveller"),
        ("a wandering musician", "the musician"),
        ("an old sailor", "the sailor"),
        ("a young student", "the student"),
        ("a seller of maps", "the map seller"),
        ("a salt merchant", "the merchant"),
        ("a puppet player", "the puppet player"),
        ("a watcher of birds", "the bird watcher"),
    ),
    beats=beats("""
- One {season} night, when {sky_came}, there was a knock, and before the door stood {subject}.
- One {season} evening, when {sky_came}, {subject} came up the lane and asked for a roof until
  morning.
- It was a dark {season} evening, and just when {sky_came}, somebody knocked, and it was {subject}.

~ "I can pay only with thanks," said {the_subject}.
~ A second coat hung beside {his} own that night, and two pairs of boots stood by the stove.

- {name} did not ask many questions, but put another log on the fire and another bowl on the table.
- "There is soup, and there is a dry corner," said {name}, and that was the end of the matter.
- "Come in before the cold does," said {name}, and moved a chair close to the stove.

~ There was only one bed, and so {name} slept on the floor and said that {he} liked it.
~ They talked until the fire was low, about far roads and about the price of flour.

~ {f_name}, the {f_trade}, had warned {him} about strangers, but {name} thought that a stranger was
  only somebody whose name one did not know yet.

- In the morning {sky_went}, and {name} lent {the_subject} {a_thing} with {mark} for the road.
- Before they parted, {name} took {a_thing} with {mark} from its hook and said, "Bring it back when
  you pass this way again."
- When {sky_went} at last, {the_subject} had to go on, but not without {a_thing} with
  {mark}, which {name} lent for the road.

~ People in {village} laughed and said that {he} would never see it again.
~ "You have given your {thing} to the wind," said {f_name}, the {f_trade} next door.

- Spring came and went, and the hook beside the door stayed empty.
- A whole year passed, and {name} almost forgot about it.
- Month after month went by, and there was no word from {the_subject}.

- Then, on a day when the {sky} had just come back, there was a knock, and outside stood
  {the_subject} with the {thing} in one hand and a loaf of good bread in the other.
- Then one morning the {thing} with {the_mark} lay on the doorstep, cleaned and oiled and wrapped in
  a letter from {the_subject}.
- And then, exactly one year later, {the_subject} came up the lane again, waved from afar, and held
  up the {thing}.
"""),
    endings=phrases("""
- The {thing} hangs on its hook again, but {name} lends it to anyone who asks.
- "A door that opens once is easier to open the next time," says the {trait} {trade} of {village}.
- Half of {village} came to look at the {thing} with {the_mark}, and after that nobody warned anyone
  about strangers again.
"""),
    questions=phrases("""
- If {subject} knocked at your door tonight, what would you lend for the road?
- Was it the {thing} that came back to {name}, or was it trust?
"""),
    things=(
        *("lantern", "umbrella", "walking stick", "satchel", "scarf", "compass"),
        *("cup", "kettle", "basket"),
    ),
)

QUARREL = Arc(
    name="quarrel",
    who="who quarrels with a neighbour over {subject}",
    gist="{name}, {a_trade} from {village}, and {f_name}, {f_a_trade}, stop speaking because of "
    "{subject}, and make peace when the {sky} forces them to share one roof.",
    needs=("subject", "the_subject", "peace"),
    subjects=(
        ("a pear tree", "the pear tree", "pick the pears together"),
        ("a fence", "the fence", "paint the fence together"),
        ("a rain barrel", "the rain barrel", "fill their cans in turns"),
        ("a noisy rooster", "the rooster", "share the eggs of its hens"),
        ("a borrowed ladder", "the ladder", "keep the ladder in the lane between them"),
        ("a tall hedge", "the hedge", "cut the hedge on the same day"),
        ("a bench in the sun", "the bench", "sit on the bench side by side"),
        ("a hungry goat", "the goat", "drink its milk from two cups"),
        ("a narrow path", "the path", "sweep the path each from one end"),
    ),
    beats=beats("""
- On the other side of the lane lived {f_name}, the {f_trade}, and one {season} the two began to
  quarrel over {subject}.
- {name} and {f_name}, the {f_trade} next door, had been friends for years, until one {season} they
  fell out over {subject}.
- Next door lived {f_name}, {f_a_trade}, and all went well until one {season} the two of them could
  not agree about {subject}.

~ It began with a joke, and it ended with two closed doors.
~ Neither could have said afterwards who had spoken the first sharp word.

- {name} said that {the_subject} was {hers}, and {f_name} said that it had always been {f_hers}.
- Each told the whole village about {the_subject}, and each told it a little differently.
- Both were right in some way, and so neither wanted to give in about {the_subject}.

- From then on they no longer greeted each other, not even {at_place}, where the way is so narrow
  that sleeves touch.
- For weeks they did not speak, and when they met at {place}, each of them studied the sky.
- Soon each of them took the long way round past {place}, so as not to meet the other.

~ {name} missed the talk over the wall, but {he} was too proud to say so.
~ {f_name} missed {his} laugh, but {f_he} would not be the first to knock.

~ Friends tried to help, and soon they were quarrelling too.

- Then, on the way home from the market, {sky_came}, and both of them ended up in the same shed.
- One afternoon {sky_came} so quickly that both took shelter in the same doorway.
- But one evening, when both were far from home, {sky_came}, and there was only one roof for the two
  of them.

~ At first they stood back to back and said nothing.
~ There was room for one and a half people, and so they stood very close.

- After a while {name} took half a loaf out of {his} bag, broke it and held out the larger piece.
- In the end {f_name} sneezed, {name} laughed, and then both of them laughed until they had to hold
  on to the wall.
- After an hour {name} said that it was cold, {f_name} said that it was, and with that the worst was
  over.

~ "I do not even like to think about {the_subject}," said {f_name}, and {name} nodded.

- When {sky_went}, they walked home side by side and agreed to {peace}.
- They waited until {sky_went}, and by then it was settled that they would {peace}.
- Then {sky_went}, but they stayed and talked, and before they left they had agreed to {peace}.
"""),
    endings=phrases("""
- People say that {the_subject} never saw better days than in the years that followed.
- Since then there is a gap in the wall between {shop} and {f_shop}, just wide enough for one
  person with a pot of tea.
- {name} learned that being right can be a very lonely thing.
"""),
    questions=phrases("""
- What is {subject} worth, if it costs a friend?
- Who was right, {name} or {f_name}, and does anybody in {village} still care?
"""),
    in_winter=False,
)

RACE = Arc(
    name="race",
    who="who wants to win {subject}",
    gist="{name}, {a_trade} from {village}, is close to winning {subject}, but turns round to help "
    "{f_name}, comes in last, and is cheered by all.",
    needs=("subject", "trouble", "rescue"),
    subjects=(
        ("the rowing race", "an oar had broken", "pulled the other boat along on a rope"),
        ("the raft race", "two logs had come apart", "tied the two rafts together"),
        ("the cart race", "a wheel had come off", "held up the cart until the wheel was on again"),
        ("the sailing race", "the sail had torn", "took the other boat in tow"),
        ("the wheelbarrow race", "a handle had split", "took the second load into one barrow"),
        ("the hill run", "an ankle was badly twisted", "offered a shoulder to lean on"),
        ("the swimming race", "a cramp had struck", "offered an arm to hold on to"),
    ),
    beats=beats("""
- Every {season} {village} held {subject}, and this time {name} wanted to win it more than anything.
- {name} had come second in {subject} three years in a row, and this {season} {he} meant to win it.
- There was one thing that {name} had wished for since childhood, and that was to win {subject},
  which {village} held every {season}.

~ {he} trained before work and after work, and once even in {his} sleep.
~ All month long {he} got up before the birds and practised near {place}.

~ The prize was {a_thing} with {mark}, and everyone had come to look at it.
~ On a table in the square stood the prize, {a_thing} with {mark}.

- The strongest rival was {f_name}, {f_a_trade}, who had won the year before.
- Only {f_name}, the {f_trade}, was said to be faster.
- Everyone expected {f_name}, the {f_trade}, to win, for {f_he} trained all year round.

- On the day of the race {sky_came}, but nobody wanted to go home.
- The morning of the race arrived, and although {sky_came}, the whole village stood along the way.
- Just before the start {sky_came}, but the drum was beaten all the same, and off they went.

~ {name} started well and did not look back.
~ At the first turn {name} was third, and at the second {he} was ahead.

- {he} could already see the finish when {he} heard a cry behind {him}, for {trouble}, and {f_name}
  could not go on.
- Near {place}, with the end in sight, {he} heard {f_name} call out, and saw that {trouble}.
- In the last bend {he} looked back and saw that {trouble}, and that {f_name} was waving for help.

~ For one breath {name} stood between the finish and the cry.
~ Nobody would have blamed {him} for going on.

- Then {he} turned round and {rescue}.
- {he} sighed and turned back, and then {he} {rescue}.
- It took {him} one moment to decide, and then {he} went back and {rescue}.

- They came in last, long after all the others, and the cheering could be heard in the next
  village.
- When the two of them reached the end together, {sky_went}, and people threw their hats in the air.
- It was almost evening when they reached the end together, and nobody had gone home, and everybody
  cheered.
"""),
    endings=phrases("""
- The prize went to somebody else that year, and {name} cannot even remember to whom.
- {f_name} said, "Next year I shall try to beat you, and I hope that I can."
- One can win a race and be forgotten by winter, but {village} still speaks of the {trait} {trade}
  who turned round.
"""),
    questions=phrases("""
- Can one come in last and still win?
- What would you have done in {his} place, with the finish so close?
"""),
    in_winter=False,
)

APPRENTICE = Arc(
    name="apprentice",
    who="whose apprentice breaks {subject}",
    gist="When the apprentice {f_name} breaks {subject}, {name}, {a_trade} from {village}, is not "
    "angry, but shows {a_thing} with {flaw} as proof of an old mistake.",
    needs=("subject", "the_subject"),
    subjects=(
        ("a blue bowl", "the bowl"),
        ("a tall jar", "the jar"),
        ("a pane of glass", "the pane"),
        ("an old lamp", "the lamp"),
        ("a carved chair", "the chair"),
        ("a painted plate", "the plate"),
        ("a new wheel", "the wheel"),
        ("a music box", "the music box"),
        ("a long ladder", "the ladder"),
    ),
    beats=beats("""
- {he} had a young apprentice named {f_name}, who was eager to do everything at once.
- In {season} a new apprentice came to {him}, a lively young person named {f_name}.
- That {season} {he} was teaching the trade to {f_name}, who had quick hands and even quicker feet.

~ {f_name} swept the floor, carried the water and asked a hundred questions a day.
~ "Slowly," said {name} ten times a day, and {f_name} nodded and ran off.

- One day, just when {sky_came} and {name} was at the market, {f_name} turned round too fast and
  broke {subject}.
- One afternoon, when {sky_came} and the light was poor, {f_name} stumbled and broke {subject}.
- Then, on a day when {sky_came} and nobody else was in the house, {f_name} broke {subject}.

~ It was the finest piece in {shop}, and it had already been paid for.
~ There was a loud crash, and then there was a silence that was worse.

- {f_name} gathered up every piece, wrapped {the_subject} in a cloth and hid it {at_place}.
- First {f_name} thought of running away, and {f_he} got as far as {place} before {f_he} turned
  round.
- {f_name} swept up the pieces with a beating heart and told {f_himself} that nobody need ever know.

~ That evening {f_he} could not eat, and {name} saw it but asked nothing.
~ All night long {f_he} practised the words that {f_he} would have to say.

- In the morning {f_he} said in a very small voice, "I broke {the_subject}, and I am sorry."
- The next day {f_he} stood before {name} and told the truth, from the first word to the last.
- But when {name} came in and asked about {the_subject}, {f_name} took a deep breath and said, "It
  was my fault."

- {name} was silent for a while, and then {he} took {a_thing} with {flaw} down from a shelf.
- Instead of scolding, {name} opened a chest and took out {a_thing} with {flaw}.
- {name} only nodded, went to the back of the room and returned with {a_thing} with {flaw}.

- "When I was as old as you are, I did this," {he} said, and pointed to {the_flaw}, "and my teacher
  gave it to me so that I would remember to go slowly."
- {he} laid a finger on {the_flaw} and said, "That was my own hurry, thirty years ago, and I have
  been careful ever since."
- "Look at {the_flaw}," {he} said, "for I made that mistake in my first year, and nobody sent me
  away for it."

~ Then {sky_went}, and the two of them began to work on a new piece together.
~ They spent the whole day mending what could be mended.
"""),
    endings=phrases("""
- Today {f_name} has an apprentice too, and on a shelf behind {f_him} lies {a_thing} with {flaw}.
- "Things break," said the {trait} {trade}, "but the truth must stay in one piece."
- {f_name} never forgot that day, and {the_subject}, glued in seven places, still has its place
  {at_shop}.
"""),
    questions=phrases("""
- Is there anyone who has learned a trade without breaking something?
- What do you think {f_name} remembers better, the noise of {the_subject} or the kindness of {name}?
"""),
)

JOURNEY = Arc(
    name="journey",
    who="who sets out to see {subject}",
    gist="{name}, {a_trade} from {village}, sets out to see {subject}, loses the way in the {sky}, "
    "gets there with the help of {f_name}, and comes home content.",
    needs=("subject", "sight"),
    subjects=(
        ("the source of the river", "a thread of clear water between two stones"),
        ("the top of the grey mountain", "the whole valley, no larger than a carpet"),
        ("the great market of the plain", "more colours than there are names for"),
        ("the forest behind the hills", "trees that five people could not reach around"),
        ("the salt fields", "white hills that shone like snow in summer"),
        ("the high waterfall", "a river that jumped and turned into a cloud"),
        ("the hot springs", "steam that rose between ferns as tall as a person"),
        ("the island of birds", "a thousand white wings above one small rock"),
    ),
    beats=beats("""
- {he} had never seen {subject}, and one {season} {he} closed the door behind {him} and set out.
- All {his} life {he} had heard stories about {subject}, and one {season} {he} decided to go and
  look.
- People who had seen {subject} spoke of it with shining eyes, and one {season} {he} packed a bag
  and went to see for {himself}.

~ {he} packed bread, cheese and {a_thing} with {mark}.
~ In {his} bag were two shirts, an onion and {a_thing} with {mark}.

~ "What do you want there," asked the neighbours, "when everything that one needs is here?"
~ Nobody understood it, not even the cat.

- For two days the road was easy, and then, behind {place}, it divided into three.
- The first day was pleasant, the second was long, and on the third the path came to an end at
  {place}.
- The road led past {place} and then over the hills, and after two days there was no road any more.

- There {sky_came}, and soon {he} did not know any more where {he} had come from.
- {he} chose the wrong way, and when {he} noticed it, {sky_came}.
- Then {sky_came}, and one hill began to look like another.

~ {he} slept under a cart and dreamed of {his} own bed.
~ {his} feet hurt, the bread was gone, and {subject} seemed farther away than ever.

- In the morning {he} met {f_name}, {f_a_trade}, who was going the same way and knew every stone of
  it.
- It was {f_name}, {f_a_trade} on the way to a customer, who found {him} and drew a map in the dust.
- Just when {he} was about to give up, {f_name}, {f_a_trade}, came along the way and offered to walk
  with {him}.

~ They shared an apple and a long story, and meanwhile {sky_went}.
~ {f_name} would take no money, but {f_he} was glad to have company until {sky_went}.

- On the fifth day {he} stood there at last and saw {sight}.
- And then, behind the last bend, {he} saw it, {sight}.
- Toward evening of the sixth day {he} stood still and saw {sight}.

~ {he} stayed for an hour and did not say a word.
~ {he} laughed out loud, although there was nobody to hear it.
"""),
    endings=phrases("""
- When {he} came home to {village}, the neighbours asked what {he} had brought, and {he} said,
  "A longer road than I had before."
- {he} {work} as before, but sometimes {he} stopped in the middle and looked toward the hills.
- Now it is {name} whom strangers ask for the way to {subject}.
"""),
    questions=phrases("""
- Does one travel to see {subject}, or to see one's own door again with new eyes?
- Which was the best part, {sight}, or the stranger who shared the way?
"""),
    things=(
        *("compass", "spyglass", "notebook", "lantern", "flute", "cup", "kettle", "scarf"),
        *("pocket watch", "whistle", "umbrella"),
    ),
)

NOISE = Arc(
    name="noise",
    who="who hears {subject} every night",
    gist="{name}, {a_trade} from {village}, is kept awake by {subject}, goes out into the "
    "night to see what it is, although {sky_came}, and finds {cause}.",
    needs=("subject", "the_subject", "cause", "cure"),
    subjects=(
        (
            *("a soft knocking", "the knocking", "an empty boat that bumped against a post"),
            "tied the boat up with a second rope",
        ),
        (
            *("a low humming", "the humming", "an old bottle with air blowing across its mouth"),
            "laid the bottle down in the grass",
        ),
        (
            *("a quiet scratching", "the scratching", "a hedgehog that was building its bed"),
            "brought it an armful of dry leaves",
        ),
        (
            *("a slow tapping", "the tapping", "a leaking pipe that dripped into a tin pail"),
            "put a sponge into the pail",
        ),
        (
            *("a faint ringing", "the ringing", "a goat with a bell that had lost its way"),
            "led the goat back to its stable",
        ),
        (
            *("a thin squeaking", "the squeaking", "a garden gate that nobody had closed"),
            "put three drops of oil on the hinge",
        ),
        (
            *("a sad whimper", "the whimper", "a young dog whose collar was caught on a nail"),
            "set the dog free and gave it some milk",
        ),
    ),
    beats=beats("""
- Then, one {season}, {he} began to hear {subject}, every night at the same hour.
- One {season} night {he} woke up because of {subject}, and the next night it came again.
- All was well until, one {season} night, {subject} woke {him}, and from then on it came every
  night.

~ {he} pulled the blanket over {his} ears, but it did not help.
~ {he} counted sheep, and then {he} counted the beams of the roof, but sleep did not come.

- By day {he} was so tired that {he} put salt into {his} tea.
- After a week {he} was so tired that {he} fell asleep at work, with {his} head on a sack.
- By the end of the week {he} yawned so often that everyone around {him} began to yawn as
  well.

~ {f_name}, the {f_trade}, said that it must be a ghost, and others said that it was the moon.
~ In the village everyone had an idea, and no two of them were the same.

~ "There is always a reason," said {name}, who did not believe in ghosts.

- So the next night, although {sky_came}, {he} took {a_thing} with {mark} under {his} arm for
  courage and went out.
- The following night {he} sat up with {his} old {thing}, the one with {mark}, and when it began,
  {he} went out, although {sky_came}.
- At last {he} could bear it no longer, and although {sky_came}, {he} put on {his} boots, took
  {a_thing} with {mark} along, and opened the door.

~ Only the {sky} was out that night, and one cat on its way home.
~ {his} heart beat so loudly that {he} could hardly hear anything else.

- {he} walked toward {the_subject}, stopped, listened and walked on, until {he} stood {at_place}.
- {the_subject} grew louder with every step, and it was loudest {at_place}.
- Step by step {he} followed {the_subject}, and it led {him} to a dark corner {at_place}.

- There {he} held {his} breath, looked, and saw {cause}.
- And what {he} found there was only {cause}.
- Then {he} bent down, and what {he} saw was {cause}.

~ First {he} felt foolish, and then {he} had to laugh.

- {he} {cure}, and all at once the night was quiet.
- It took no more than a minute, for {he} {cure}, and then there was nothing to hear but the river.
- So {he} {cure}, and went home through the quiet night.
"""),
    endings=phrases("""
- That night {name} slept so well that {he} was late for work, and nobody minded.
- "It was a ghost after all," {he} told the neighbours the next day, "a small one, and we get on
  well."
- Most things that are frightening from a bed, thought the {trait} {trade}, are small from close by.
"""),
    questions=phrases("""
- Would you have stayed in bed, or would you have gone out to look?
- How many ghosts are nothing more than {cause}?
"""),
    things=(
        *("lantern", "umbrella", "oar", "hammer", "hand bell", "drum", "walking stick"),
        *("spyglass", "spoon"),
    ),
    in_winter=False,
)

PROMISE = Arc(
    name="promise",
    who="who promises to {subject} by nightfall",
    gist="{name}, {a_trade} from {village}, promises to {subject} by nightfall, stops to help "
    "{f_name} on the way, and keeps the promise because {f_name} helps in turn.",
    needs=("subject", "done"),
    subjects=(
        ("light the lamps on the pier", "the last lamp on the pier was burning"),
        ("bring back a borrowed cart", "the cart stood in its shed again"),
        ("deliver a wedding cake", "the cake stood on the table, with every cherry in its place"),
        ("close the sluice", "the sluice was shut and the meadow stayed dry"),
        ("bring the sheep home", "the last sheep was in the fold"),
        ("bring the doctor", "the doctor was at the door with a black bag"),
        ("stack the firewood", "the last log was under the roof"),
        ("carry the post to the island", "the mail bag lay on the island jetty"),
    ),
    beats=beats("""
- One {season} morning {he} promised to {subject} by nightfall, and a promise was a promise.
- "I will {subject} by nightfall," {he} said one {season} day, and gave {his} hand on it.
- Early one {season} morning {he} promised to {subject} by nightfall, and all of {village} heard
  it.

~ There was plenty of time, and so {he} even stopped to look at the ducks.
~ {he} whistled on the way, for the day was long and the work was short.

- But near {place} {he} met {f_name}, {f_a_trade}, whose wagon was stuck in the mud up to the axle.
- But {at_place} sat {f_name}, {f_a_trade}, who had lost {a_thing} with {mark} and was close to
  tears.
- But before {he} had gone far, {he} heard someone calling from {place}, and it was {f_name},
  {f_a_trade}, who needed help with a heavy load.

~ {name} looked at the sun, and then {he} looked at {f_name}.
~ {he} could have walked past, for it was already noon.

- {he} stayed and helped until everything was in order, and by then the sun stood low.
- "It will only take a moment," said {name}, but it took half the afternoon.
- {he} could not say no, and when everything was done, the shadows were already long.

- To make things worse, {sky_came} when {he} hurried on.
- And then {sky_came}, so that it grew dark an hour too soon.
- Then {sky_came} as well, and {he} began to count the minutes.

~ "I shall never manage it alone," {he} said aloud.
~ {he} ran until {his} side hurt, and then {he} walked, and then {he} ran again.

- Then {he} heard steps behind {him}, and it was {f_name}, out of breath, who said, "Four hands are
  faster than two."
- But {f_name} had not gone home, and called, "You had time for me, and now I have time for you."
- It was then that {f_name} came running after {him} and called, "Now it is my turn to help."

~ They did not talk much after that, but worked side by side.
~ One held the light, and the other did the work, and then they changed places.

- The bell of {village} struck the hour of nightfall, and at that very moment {done}.
- Just as night fell, {done}.
- Together they were quick, and when the night came, {done}.

~ A little later {sky_went}, as if nothing had happened.
"""),
    endings=phrases("""
- A promise weighs less, thought {name}, when two people carry it.
- That night the {trait} {trade} tied a knot in {his} handkerchief, so as never to forget {f_name}.
- Since then, when {name} gives {his} word, all of {village} goes to bed without worry.
"""),
    questions=phrases("""
- If {name} had walked past, would {he} have been on time, or too late?
- Was the time that {he} gave to {f_name} really lost?
"""),
)

SWAP = Arc(
    name="swap",
    who="who changes places with {f_a_trade} for a day",
    gist="{name}, {a_trade}, and {f_name}, {f_a_trade}, change places for a day, make a mess of "
    "each other's work, and respect each other from then on.",
    needs=(),
    subjects=(),
    beats=beats("""
- {his} best friend was {f_name}, the {f_trade}, and each of them was sure that the other had the
  easier work.
- "You have an easy life," {he} used to say to {f_name}, the {f_trade}, and {f_name} always gave
  the same answer.
- On Sundays {he} liked to sit with {f_name}, the {f_trade}, and they always argued about whose work
  was harder.

- So one {season} evening they shook hands and agreed to change places for a day.
- One {season} day they had argued long enough, and they decided to change places until sunset.
- One {season} morning they made a bet, and for one whole day each was to do the work of the other.

~ {name} went to {f_shop}, {f_name} went to {shop}, and both of them were whistling.
~ The whole village heard about it, and many people found a reason to walk past.

- In the first hour {name} broke a handle, spilled a bucket and forgot what {he} had come for.
- By ten in the morning {name} had broken a handle and dropped everything that
  could be dropped.
- {name} soon found out that everything was heavier than it looked, and before noon {he} had broken
  a handle.

~ Then {sky_came}, and nobody had told {him} what {f_a_trade} does in such weather.
~ "It cannot always be like this," {he} said to a customer, who only smiled.

- {f_name} was no better off {at_shop}, where {f_he} had put everything in the wrong place and hurt
  a thumb.
- At the same time {f_name} was standing {at_shop} with a red face, for nothing there would do what
  {f_he} wanted.
- Meanwhile {f_name} stood {at_shop} and did not know where to put {f_his} hands.

~ At noon they saw each other from far away, near {place}, and both of them waved as if all were
  well.
~ Both would have liked to stop at noon, but neither wanted to be the first.

- When the sun went down, they met {at_place}, dirty, tired and very quiet.
- In the evening they sat down together {at_place}, and for a long time neither spoke.
- At sunset they met {at_place}, and each saw at once how the other had fared.

- "I did not know how much you know," said {name}, and {f_name} answered, "I was about to say the
  same."
- Then both of them began to tell what had gone wrong, and they laughed until {sky_went}.
- "I take back what I said," said {name}, and {f_name} held out a sore hand and said, "So do I."

~ The next morning each was back at the old work, and was glad of it.
"""),
    endings=phrases("""
- From that day, whenever {name} passed {f_shop}, {he} took off {his} hat.
- What looks easy from outside, thought the {trait} {trade}, is a thing that somebody has done ten
  thousand times.
- They have kept one habit from that day, and every {season} each brings the other a cake and asks
  no questions about the broken handle.
"""),
    questions=phrases("""
- With whom would you change places for a day?
- Whose work was harder, that of {a_trade} or that of {f_a_trade}?
"""),
)

SEED = Arc(
    name="seed",
    who="who plants {subject} and waits",
    gist="{name}, {a_trade} from {village}, plants {subject} and waits for years while others "
    "shake their heads, until there is {fruit} for everyone.",
    needs=("subject", "the_subject", "fruit"),
    subjects=(
        ("a pear seed", "the seed", "a tree full of pears"),
        ("a walnut", "the walnut", "a tree with nuts and deep shade"),
        ("a cherry stone", "the cherry stone", "a tree full of cherries"),
        ("an acorn", "the acorn", "an oak with room for a swing"),
        ("a bare rose twig", "the twig", "a wall of white roses"),
        ("a dry vine", "the vine", "a roof of green leaves and grapes"),
        ("a fig cutting", "the cutting", "a tree heavy with figs"),
        ("a plum stone", "the plum stone", "a tree blue with plums"),
    ),
    beats=beats("""
- One {season} day {he} put {subject} into the earth near {place}, where everyone had said that
  nothing would grow.
- A traveller once gave {him} {subject}, and one {season} {he} planted it near {place}.
- {he} brought {subject} home from a walk, and the next {season} {he} planted it near {place}
  and told people to walk round it.

~ {he} put {a_thing} with {mark} beside it, so that nobody would step on the spot.
~ {he} marked the spot with a ring of pebbles and told nobody but the dog.

- {he} brought it water every evening, and for a long time nothing happened at all.
- The first year passed, and there was nothing to see but bare ground.
- Week after week {he} watered the bare spot, and the bare spot stayed bare.

- "You are watering a stone," said {f_name}, the {f_trade}, and shook {f_his} head.
- {f_name}, the {f_trade}, offered {him} a bag of turnip seed, which at least would be turnips by
  autumn.
- "It will never grow," said {f_name}, the {f_trade}, who came by every evening just to say so.

- One night {sky_came}, and {name} went out with a lamp and covered the spot with {his} own coat.
- Whenever {sky_came}, {he} went out at night to see whether {the_subject} was safe.
- Once, when {sky_came}, {he} sat up half the night beside it with a lamp.

~ Another spring came, and the children who had laughed about it had already forgotten it.
~ {he} {work} as always, and waited, and did not complain.

- In the third spring there was a green tip, no longer than a fingernail.
- And then, one morning, two small leaves stood near {place}, folded like hands.
- But one spring day the earth had a crack, and in the crack there was something green.

~ {name} did not shout, but {he} sat beside it until noon.
~ {he} ran to fetch {f_name}, and {f_he} put on {f_his} glasses and looked for a long time.

- Years went by, and from {subject} came {fruit}.
- It took more summers than {he} had counted on, but in the end there was {fruit}.
- It grew as slowly as a child does, and when many years had passed, there was {fruit}.

~ {f_name} came to look at it and said, "I was wrong, and I have seldom been so glad about it."
"""),
    endings=phrases("""
- {name} is old now, and when someone asks how it was done, {he} says, "I did not do it, I only
  waited."
- Today nobody in {village} can imagine {place} without it.
- There are things that cannot be hurried, thought the {trait} {trade}, and they are the ones that
  stay.
"""),
    questions=phrases("""
- Would you water a bare spot for three years?
- Who has more joy of a tree, the one who plants it, or everyone who comes after?
"""),
    things=(
        *("lantern", "basket", "bucket", "jug", "oar", "umbrella", "walking stick", "hand bell"),
        "straw hat",
    ),
    in_winter=False,
)

MESSAGE = Arc(
    name="message",
    who="who finds a message in {subject}",
    gist="{name}, {a_trade} from {village}, finds an old message in {subject} that asks the finder "
    "to {wish}, does so, and meets {f_name}, whose grandmother wrote it.",
    needs=("subject", "place", "wish", "wished"),
    subjects=tuple(
        (subject, *deed)
        for subject in (
            *("an old bottle", "a hollow tree", "a forgotten drawer", "the lining of a coat"),
            *("a crack in the wall", "the case of a clock", "a dusty book", "the foot of a lamp"),
        )
        for deed in (
            ("the mill pond", "feed the swans", "fed the swans"),
            ("the orchard wall", "water the white rose", "watered the white rose"),
            ("the ferry landing", "ring the little bell", "rang the little bell"),
            ("the stone well", "plant a row of bluebells", "planted a row of bluebells"),
            ("the boathouse", "clean the small window", "cleaned the small window"),
            ("the fishing pier", "sit on the bench for a while", "sat on the bench for a while"),
            ("the lower gate", "leave a loaf on the sill", "left a loaf on the sill"),
            ("the empty tower", "light a candle", "lit a candle"),
        )
    ),
    beats=beats("""
- One {season} day {he} found a folded paper, yellow with age, in {subject}.
- One {season} evening, by pure chance, {he} found a message in {subject}.
- One {season} day, when {he} was putting things in order, a slip of paper came out of {subject}.

~ {he} took it to the window, for the ink was as pale as tea.
~ The writing was small and round, and it took {him} an hour to read it.

- It said, "Whoever finds this, please go to {place} and {wish}."
- There was only one line on it, and it said, "Please {wish} at {place}, for I no longer can."
- On it was written in round letters, "If you have a moment, please {wish} at {place}, and think of
  me."

~ There was no name under it, only a small drawing of {a_thing} with {mark}.
~ In one corner somebody had drawn {a_thing} with {mark}.

~ {he} laid it aside, but all day long {he} could think of nothing else.
~ "It must be fifty years old," said the people at the inn, and ordered another cup of tea.

- The next morning, although {sky_came}, {he} set out for {place}.
- {he} waited until Sunday, and then {he} went, even though {sky_came}.
- {he} could not get it out of {his} head, and so {he} set out for {place}, although {sky_came} on
  the way.

~ The path was overgrown, and the {sky} did not make it shorter.

- Nobody was there, and feeling a little foolish, {he} {wished}.
- {he} looked to the left and to the right, and then {he} {wished}, just as the message had asked.
- {place} lay quiet, and {he} did as the message had asked and {wished}.

- When {he} turned round, there stood {f_name}, {f_a_trade}, with eyes full of wonder.
- Then a voice asked {him} why {he} was doing that, and it was {f_name}, the {f_trade} from across
  the river.
- {he} was not alone, for {f_name}, {f_a_trade}, had been watching {him} and came closer.

- {name} showed the paper, and {f_name} grew pale, for it was the hand of {f_his} grandmother.
- {f_name} read the message twice and said that only one person had ever written such a round hand,
  and that was {f_his} grandmother.
- {f_name} knew the writing at once, for it was from {f_his} grandmother that {f_he} had
  learned to write.

~ They sat there until {sky_went}, and {f_name} told about the old days by the river.
"""),
    endings=phrases("""
- Now the two of them go to {place} together, once every {season}.
- {name} put the paper back in its place, and under the old line {he} wrote, "It has been done, and
  it will be done again."
- Some letters take a long way, thought the {trait} {trade}, but they arrive.
"""),
    questions=phrases("""
- What would you ask of a person who finds your message in fifty years?
- Was it chance that {name} found it, or had the paper waited for {him}?
"""),
    in_winter=False,
)

ARCS = (
    *(LOST, ERRAND, GIFT, MEND, GUEST, QUARREL, RACE),
    *(APPRENTICE, JOURNEY, NOISE, PROMISE, SWAP, SEED, MESSAGE),
)
