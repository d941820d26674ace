"""How everyday things work: each topic a chain of steps from cause to effect, in several wordings.

`clause` goes on after "explain"; `look` is a closing sentence that says where to see it.
"""

from typing import NamedTuple

from labkit.corpus.grammar import Beat, beats, phrases


class Topic(NamedTuple):
    name: str
    question: str
    clause: str
    steps: tuple[Beat, ...]
    look: tuple[str, ...]


def _topic(name: str, question: str, clause: str, steps: str, look: str) -> Topic:
    return Topic(name, question, clause, beats(steps), phrases(look))


TOPICS = (
    _topic(
        "lock",
        "How does a lock lift a boat?",
        "how a lock lifts a boat",
        """
- A lock is a basin with a gate at each end, one toward the lower water and one toward the upper.
- Between the lower and the upper water lies a basin with two gates, and that basin is the lock.

- The boat enters through the lower gate, and the gate is closed behind it.
- First the boat comes in from below, and then the lower gate is shut.

- A small opening lets water flow in from the upper side, without any pump.
- Then a small hatch is opened, and water from above runs into the basin by its own weight.

- The water in the basin rises, and since the boat floats, it rises too.
- As the basin fills, the floating boat is lifted with the water.

~ The inflow stops by itself when the water stands as high inside as it does above.
~ When both levels are the same, nothing flows any more.

- Now the water presses equally on both sides of the upper gate, so it can be opened, and the boat
  moves on.
- With the same level on both sides, the upper gate opens easily, and the boat leaves.
""",
        """
- So the real worker is the water, and the people only open and close the doors.
- Stand beside a lock for a while, and you will see a heavy boat go up without a sound.
""",
    ),
    _topic(
        "bread",
        "Why does bread rise?",
        "why bread rises",
        """
- The baker mixes flour and water with yeast, which is made of tiny living cells.
- In the dough, besides flour and water, there is yeast, a crowd of living cells too small to see.

~ The flour contains a little sugar, and its starch slowly turns into more of it.
~ Some of the starch in the flour changes into sugar, and sugar is food for the yeast.

- The yeast feeds on the sugar and gives off a gas.
- As the yeast eats the sugar, it makes a gas.

- Kneading has turned the dough into a stretchy net, and so the gas cannot escape.
- The kneaded dough is elastic like a net of rubber, and it holds the gas in small bubbles.

- The bubbles grow, and the dough swells until it is about twice as large.
- More and more gas collects, the bubbles stretch, and the dough rises.

- In the hot oven the bubbles expand once more, and then the dough becomes firm around them.
- The heat of the oven makes the gas expand, and then it sets the dough, so that the holes remain.
""",
        """
- Cut a slice, and you will see the bubbles that the yeast has left behind.
- Every hole in a slice of bread is a small room that once was full of gas.
""",
    ),
    _topic(
        "water mill",
        "How does a water mill grind wheat?",
        "how a water mill grinds wheat",
        """
- Water runs down a channel from a pond that lies higher than the wheel.
- A channel leads water from a higher place to the mill.

- It falls on the paddles of the wheel, and its weight and its push turn the wheel.
- The water strikes the wheel and presses it down on one side, and so the wheel begins to turn.

- The wheel turns a shaft, which carries the motion into the mill house.
- Through a strong shaft the motion passes from the wheel into the house.

- There, gears turn the slow motion of the wheel into a faster one for the stone.
- Inside, a large gear drives a small one, so that the millstone turns faster than the wheel.

~ The lower stone lies still, and only the upper stone turns.
~ Of the two round stones, the lower one never moves.

- The grains fall through a hole in the upper stone and are ground between the two.
- Wheat runs into a hole in the middle of the upper stone, and between the stones it is cut and
  crushed to flour.
""",
        """
- So what turns to flour in the end is the weight of falling water at work.
- When the pond is empty, the mill must rest, for no water means no work.
""",
    ),
    _topic(
        "tides",
        "Why does the sea have tides?",
        "why the sea has tides",
        """
- The moon pulls at the earth and at the sea, just as the earth pulls at the moon.
- Like every heavy body, the moon attracts all that is near it, the sea as well.

- Its pull is stronger on the side of the earth that is closer to it, and weaker on the far side.
- The near side of the earth feels this pull a little more, and the far side a little less.

- This difference stretches the sea into two low hills of water, one toward the moon and one on the
  opposite side.
- Because of this difference the water gathers in two bulges, one facing the moon and one facing
  away from it.

- The earth turns once a day, and so each coast passes through both of them.
- As the earth turns, a harbour is carried through one bulge and, about half a day later, through
  the other.

- That is why the water on most coasts rises and falls about twice a day.
- So on most shores there are two high tides and two low tides in about a day.

~ The sun pulls too, and when sun and moon stand in one line, the tides are especially high.
~ At full moon and at new moon the sun helps, and then the tides are larger.
""",
        """
- A fisher who knows the moon also knows when the boat will float.
- Look at the dark line on a harbour wall, and you will see how high the last tide was.
""",
    ),
    _topic(
        "candle",
        "How does a candle burn?",
        "how a candle burns",
        """
- The flame of the match melts a little wax and heats the wick.
- When the wick is lit, the heat melts the wax around it.

- The liquid wax climbs up the wick, as water climbs up a cloth.
- The wick soaks up the melted wax and draws it upward.

- In the heat of the flame the wax turns into vapour, and it is this vapour that burns.
- Near the flame the liquid becomes a vapour, for it is not the wick but the vapour that feeds the
  flame.

- The burning needs air, and fresh air flows in from below while hot gas rises.
- Hot gas rises from the flame, and fresh air streams in from below to take its place.

~ Tiny grains of soot glow in the flame, and they give the yellow light.
~ The yellow light comes from very small pieces of soot that glow in the heat.

- The flame melts more wax, and so it goes on until the wax is used up.
- Its heat melts the next bit of wax, and in this way the candle feeds itself to the end.
""",
        """
- Put a glass over it, and the flame will soon go out, because it lacks fresh air.
- So a candle is a small stove that carries its own fuel.
""",
    ),
    _topic(
        "arch bridge",
        "How does a stone arch carry its load?",
        "how an arch of stone carries its load",
        """
- The stones of an arch are cut like wedges, a little wider at the top than at the bottom.
- Each stone in an arch is a wedge, with its narrow end pointing down.

- When a cart crosses, its weight pushes down on the stones below.
- The weight of a cart presses on the top of the arch.

- A wedge cannot slip down, because its neighbours hold it, and so it pushes against them sideways.
- Since no wedge can fall through the gap, it passes the push on to its neighbours.

- In this way the load travels from stone to stone along the curve, down to the two ends.
- So the push runs along both sides of the curve until it reaches the ground.

- The strong walls at the ends push back, and so the arch cannot spread.
- At both ends heavy blocks hold against the push and keep the arch from opening.

~ Stone breaks easily when it is pulled, but it can bear a great deal when it is pressed.
~ All the stones are pressed together, and pressing is what stone can bear best.
""",
        """
- That is why an arch without mortar can stand for centuries: its own load holds it together.
- The more it carries, the more firmly its stones hold together.
""",
    ),
    _topic(
        "hand pump",
        "How does a hand pump lift water?",
        "how a hand pump lifts water",
        """
- A pipe leads from the pump down into the water of the well.
- Under the pump a long pipe reaches down into the well.

- When you press the handle down, a piston inside the pump goes up.
- The handle is a lever, and as you push it down, it lifts a piston in the cylinder.

- The rising piston leaves more room below it, and so the pressure there drops.
- Below the piston the air grows thin, and there it presses less than the air outside.

- The outer air, which presses on the water in the well, pushes water up the pipe.
- Now the air above the well is stronger, and it pushes the water upward in the pipe.

~ A valve at the bottom lets the water in, and closes when it tries to run back.
~ A small flap keeps the water from falling back into the well.

- When the piston goes down, water passes through a valve to its upper side, and the next stroke
  lifts it out of the spout.
- On the way down the water slips through the piston, and with the next stroke it is lifted and runs
  out.
""",
        """
- Because air can push water only about ten metres high, such a pump does not work on a deep well.
- So it is not the pump that pulls the water, but the air that pushes it.
""",
    ),
    _topic(
        "compass",
        "How does a compass needle find north?",
        "how a compass needle finds north",
        """
- The needle of a compass is a small magnet.
- Inside a compass there is a thin needle, and this needle is a magnet.

- The earth itself is a great magnet, because of the liquid iron that moves deep inside it.
- Deep in the earth, liquid iron flows, and this makes the whole earth a magnet.

- Every magnet tries to line up with a magnet nearby.
- Two magnets act on each other, and a magnet that is free to turn lines up with the other.

- The needle rests on a fine point, so that even a weak force can turn it.
- Since the needle sits on a sharp tip, it turns very easily.

- So it swings to and fro for a moment, and then it stays, with one end toward the north.
- It trembles a little, comes to rest, and points along a line from north to south.

~ Keep iron away from it, for a knife or a nail nearby will mislead it.
~ A piece of iron beside it would draw the needle aside and spoil the answer.
""",
        """
- It works by night and in fog, when neither star nor hill can be seen.
- Turn the box as you like, and the needle will still keep its direction.
""",
    ),
    _topic(
        "floating boat",
        "Why does a heavy boat float?",
        "why a heavy boat floats",
        """
- When a boat is set on the water, it sinks in a little and pushes water aside.
- A boat presses into the water and moves some of it out of the way.

- The water pushes back from below, and the deeper the boat sits, the stronger the push.
- Water presses upward on the hull, and it presses harder the deeper the hull goes.

- The push is exactly as great as the weight of the water that was moved aside.
- This upward force equals the weight of the water whose place the boat has taken.

- A boat is hollow, and so it can push aside much water without being very heavy itself.
- Because the hull is wide and full of air, it takes the place of a great deal of water.

- It sinks only until the water pushed aside weighs as much as the boat, and then it floats.
- When boat and moved water weigh the same, the boat stops sinking and rests.

~ A lump of iron of the same weight is small, moves little water aside, and goes under.
~ If you load it, it sits a little deeper, until the two are equal again.
""",
        """
- Press an empty bowl into a tub, and you will feel the water pushing back.
- So what counts is not the weight alone, but the weight together with the shape.
""",
    ),
    _topic(
        "windmill",
        "How does a windmill use the wind?",
        "how a windmill uses the wind",
        """
- The sails of a windmill are set at a slant, and so they turn the wind a little to one side.
- Each sail stands at an angle to the wind and guides the air to the side.

- When the air is pushed one way, the sail is pushed the other way.
- The wind is turned aside, and in return it pushes the sail in the opposite direction.

- All the sails are slanted alike, and so they turn round together.
- As every sail is pushed the same way round, the whole cross begins to turn.

~ The miller turns the cap of the mill until the sails face the wind.
~ When the wind changes, the upper part of the mill is turned to face it again.

- A thick axle carries the motion inside, and a large gear passes it on to a standing shaft.
- Behind the sails turns an axle, and its gear drives an upright shaft in the middle of the mill.

- At the lower end the shaft turns the millstone.
- This shaft leads down to the stones and turns the upper one of them.
""",
        """
- On a calm day the mill stands still, and the miller has time to mend the sacks.
- In a storm the cloth is taken off the sails, so that they do not turn too fast.
""",
    ),
    _topic(
        "soap",
        "How does soap wash away grease?",
        "how soap washes away grease",
        """
- Water alone cannot remove grease, because water and grease do not mix.
- Grease and water keep apart, and so water by itself just runs over a greasy plate.

- Soap is made of tiny particles that have two different ends.
- Every particle of soap is long and thin, and its two ends are not alike.

- One end likes water, and the other end likes grease.
- With one end it clings to grease, and with the other it clings to water.

- When you rub, many of them stick their greasy ends into the dirt and surround it.
- They gather around each drop of grease, with their water ends on the outside.

- The grease breaks into tiny drops, each wrapped in soap, which can float in the water.
- Wrapped up like this, the drops of grease no longer stick to the plate or to each other.

~ Warm water helps, since it makes the grease soft.
~ Rubbing and warm water make it go faster.

- Then the rinsing water carries everything away.
- Clear water takes hold of the outer ends and rinses it all away.
""",
        """
- So soap is a go-between for two who would never shake hands.
- Try it with a drop of oil in a glass, first without soap and then with it.
""",
    ),
    _topic(
        "sea salt",
        "How is salt won from the sea?",
        "how salt is won from the sea",
        """
- Sea water contains salt, about a cupful in every bucket.
- In each bucket of sea water about a cupful of salt is dissolved.

- People let it flow into wide, shallow ponds near the shore.
- The water is led through small gates into flat basins of clay.

- Sun and wind take the water away as vapour, but the salt cannot leave with it.
- The sun warms it and the wind dries it, and only pure water rises into the air.

- What remains grows saltier from day to day.
- Day by day there is less water and just as much salt.

- In the end there is too little water to hold all the salt, and it forms crystals.
- At last the water can hold no more, and small white crystals appear.

- The workers rake the crystals into heaps and let them dry.
- With long wooden rakes the salt is drawn to the edge and piled up to dry.

~ A rainy summer is bad for salt, because the rain fills up what the sun has emptied.
~ It needs a dry summer, for one heavy shower can undo a week of sun.
""",
        """
- Let a saucer of salt water stand on the window sill, and you can watch it happen.
- So every pinch of it was made by sun, wind and patience.
""",
    ),
    _topic(
        "pendulum clock",
        "How does a pendulum clock keep time?",
        "how a pendulum clock keeps time",
        """
- A weight hangs on a cord and slowly sinks, and this drives the wheels.
- The wheels of the clock are driven by a weight that is pulled down slowly.

- Without a brake the wheels would run faster and faster until the weight hit the floor.
- If nothing held them back, the wheels would race, and the clock would run down at once.

- A pendulum of a given length takes the same time for every swing, whether the swing is a little
  wider or not.
- A pendulum swings evenly, and how long one swing takes depends almost only on its length.

- At each swing it lets one tooth of a wheel pass through a small hook, and that is the tick.
- A hook moves with the pendulum and lets the wheel go on by just one tooth per swing.

- In passing, the tooth gives the pendulum a light push, so that it does not come to rest.
- Each tooth pushes the pendulum a little, and this makes up for what the air takes away.

~ Other wheels then turn the hands at the right speed.
~ The rest of the wheels only count the swings and move the hands.
""",
        """
- If the clock is slow, one makes the pendulum a little shorter, because then it swings faster.
- So the weight gives the strength, and the pendulum gives the measure.
""",
    ),
    _topic(
        "lever",
        "How does a lever make work lighter?",
        "how a lever makes work lighter",
        """
- A lever is a stiff bar that rests on one point and can turn around it.
- All that is needed is a strong bar and a point for it to rest on.

- The load lies on the short side, close to this point, and you push on the long side.
- One side is short, and there the load lies, and on the other, long side is the hand.

- When you press the long end down, the short end goes up.
- The hand pushes its end down, and the load at the other end rises.

- Your hand moves a long way, while the load moves only a short way.
- While the load rises by the width of a finger, the hand may go down by the length of an arm.

- In exchange for the longer way you need less force.
- What you give in distance you save in strength.

~ If the long side is five times as long, one fifth of the force is enough.
~ The longer your side of the bar, the lighter the load feels.
""",
        """
- Oars, scissors and the handle of a pump are levers too.
- Nothing is given for free, but a lever lets us choose how we pay.
""",
    ),
    _topic(
        "pulley",
        "How does a pair of pulleys lift a heavy load?",
        "how a pair of pulleys lifts a heavy load",
        """
- A pulley is a wheel with a groove in which a rope runs.
- In the groove of a small wheel lies a rope, and such a wheel is called a pulley.

- A single wheel under the roof only changes the direction, so that you can pull down instead of up.
- If there is just one wheel, fixed above, the work is not lighter, but you may pull downward.

- Now a second wheel is hung in a loop of the rope, and the load is hung on this wheel.
- So a second wheel is added, which hangs in the rope and carries the load.

- Then two parts of the rope hold the load, and each of them carries half of it.
- Now the weight is shared by two pieces of rope, left and right of the wheel.

- Your hand holds only one of these parts, and so you need only half the force.
- As you pull on one part alone, half the strength is enough.

- In return you must pull in two metres of rope to lift the load by one metre.
- But for every metre that the load rises, two metres of rope pass through your hands.
""",
        """
- With more wheels the pull becomes still lighter, and the rope still longer.
- That is how one person can lift a piano, slowly.
""",
    ),
    _topic(
        "lighthouse",
        "Why can the lamp of a lighthouse be seen from so far away?",
        "why the lamp of a lighthouse can be seen from so far away",
        """
- A lamp alone sends its light in all directions, up to the sky and down to the rocks as well.
- The light of a bare lamp spreads to all sides and is soon thin.

- Therefore a large lens of glass stands around it.
- For this reason the lamp is placed in the middle of a great glass lens.

- Glass bends light, and the rings of the lens are cut so that all the rays leave side by side.
- Each ring of the lens bends the light by just the right amount, so that it goes straight out to
  sea.

- So the light does not spread, but travels in one strong beam.
- What would have spread in all directions is now gathered in a narrow beam.

- The lens turns slowly, and from a ship one sees a flash each time the beam passes.
- As the lens turns, the beam sweeps over the water like the hand of a clock.

~ Every lighthouse has its own rhythm, and from this the sailors know which one it is.
~ Since each tower flashes in its own time, nobody mistakes one for another.

~ The tower is high, because the earth is round and a low light would be hidden behind the curve.
~ It stands on a tall tower, so that the curve of the sea does not hide it.
""",
        """
- The flame need not be large, if none of its light is wasted.
- Count the seconds between two flashes, and you have the name of the tower.
""",
    ),
    _topic(
        "honey",
        "How do bees make honey?",
        "how bees make honey",
        """
- Deep in their blossoms many flowers offer a sweet juice, which is called nectar.
- Flowers make a thin, sweet juice called nectar.

- A bee sucks it up and carries it home in a special stomach.
- The bees collect it and fly home with it in a pouch inside their bodies.

- In the hive it is passed from bee to bee, and each of them changes the sugar a little.
- At home they hand it on from mouth to mouth, and in this way they break the sugar into simpler
  kinds.

- But nectar is mostly water, and so it is spread out in the cells of the comb.
- Since it still contains far too much water, they fill it into small cells of wax.

- Many bees beat their wings, and the draught dries it until it is thick.
- Then they fan with their wings until most of the water is gone.

- When it is ready, they close each cell with a lid of wax.
- The finished honey is sealed with wax, and so it keeps through the winter.

~ They do this for themselves, because in winter there are no flowers.
~ It is their food for the cold months, and a good beekeeper leaves them enough.
""",
        """
- One small spoonful is the life's work of about a dozen bees.
- Listen to a hive on a warm evening, and you will hear the fans at work.
""",
    ),
    _topic(
        "seed",
        "How does a seed become a plant?",
        "how a seed becomes a plant",
        """
- In every seed sleeps a tiny plant with a store of food.
- A seed is a small box with a very young plant and its provisions inside.

- When it lies in damp earth, it soaks up water and swells until its coat bursts.
- Water from the soil enters the dry seed, and the coat splits open.

- The water wakes the plant, and it begins to use its store of food.
- Now the little plant comes to life and feeds on what was packed for it.

- First a root grows downward, holds on and looks for water.
- The root comes first, and it always finds the way down, whichever way the seed lies.

- Then a shoot pushes up toward the light.
- After that the stem grows upward and breaks through the earth.

- In the light it opens green leaves, and from then on it makes its own food from air, water and
  sunlight.
- As soon as the leaves are green, they make food with the help of the sun, and the store is no
  longer needed.
""",
        """
- Put a bean between wet cloths in a glass, and you can watch every step.
- So warmth and water knock at the door, and the seed opens it from inside.
""",
    ),
    _topic(
        "autumn leaves",
        "Why do leaves change colour in autumn?",
        "why leaves change colour in autumn",
        """
- In summer leaves are green because of the stuff with which they catch sunlight.
- The green in a leaf is its tool for making food from light.

~ There is yellow in the leaf as well, but the green is so strong that it hides it.
~ A yellow colour is there all summer long, covered by the green.

- In autumn the days grow short, and the light is no longer worth the effort.
- When the days become shorter and colder, a leaf can make less and less food.

- The tree takes the green apart and draws what is useful back into its branches.
- So the tree breaks down its green and stores the best of it in wood and roots.

- As the green fades, the yellow that was hidden can be seen.
- What is left behind is the yellow, which now shows at last.

- Some trees also make a red colour from the sugar in the leaf.
- In certain trees a red is added, which is made from leftover sugar.

- At the end a thin layer of cork closes the stalk, and the leaf falls.
- Finally a layer like cork grows at the foot of the stalk, and the next wind takes the leaf.
""",
        """
- So the bright colours are what remains when a tree has packed its things for winter.
- Hold a leaf against the sun in autumn, and you can see the green going home along the veins.
""",
    ),
    _topic(
        "fog",
        "How does fog form over a river?",
        "how fog forms over a river",
        """
- Air always holds some water, as a vapour that nobody can see.
- There is invisible water vapour in the air, even on a fine day.

- Over a river there is plenty of it, for the water keeps evaporating.
- Near a river the air is especially damp.

- Warm air can hold much vapour, and cold air can hold only little.
- How much vapour the air can hold depends on its warmth: the colder, the less.

- On a clear night the ground loses its heat, and the air above it cools.
- When the night is clear, the land grows cold and cools the air.

- Then the air can no longer hold all of its vapour, and the rest turns into tiny drops.
- At some point there is too much vapour for such cold air, and a part of it becomes small drops of
  water.

- They are so light that they float, and we call them fog.
- Countless drops hang in the air and scatter the light, so that everything looks white.

~ In the morning the sun warms the air, the drops evaporate, and the fog is gone.
~ As soon as the sun has warmed the air again, the drops turn back into vapour.
""",
        """
- So fog is nothing but a cloud that sits on the ground.
- Breathe on a cold window, and you will make a little of it yourself.
""",
    ),
    _topic(
        "echo",
        "Where does an echo come from?",
        "where an echo comes from",
        """
- When you call, your voice makes the air tremble.
- A call is a trembling of the air.

- The trembling runs outward in all directions, as rings run over a pond.
- It spreads through the air like a ring on the water, only much faster.

- In one second it travels about three hundred and forty metres.
- Sound needs about three seconds for a kilometre.

- If it meets a wall of rock, it cannot go on, and is thrown back like a ball.
- A steep cliff sends it back, much as a wall returns a ball.

- After a while it reaches your ear a second time, and that is the echo.
- What comes back arrives a little later, and so you hear your own words again.

- If the wall is near, the answer comes so soon that it melts into the call.
- In a small room there is an answer too, but it comes too quickly to be heard by itself.
""",
        """
- Count the seconds until the answer, and you can work out how far away the cliff is.
- So nobody is mocking you but the mountain.
""",
    ),
    _topic(
        "moon",
        "Why does the moon change its shape?",
        "why the moon seems to change its shape",
        """
- The moon does not shine by itself, but is lit by the sun.
- All the light of the moon comes from the sun.

- The sun always lights one half of it, and the other half is dark.
- As with a ball beside a lamp, one half is bright and one half lies in shadow.

- The moon travels around the earth in about a month.
- About once a month the moon goes all the way around us.

- On its way we see the bright half from different sides.
- Therefore we look at the bright half sometimes from the front and sometimes from the side.

- When the moon stands opposite the sun, we see the whole bright half, and it is full.
- At full moon the sun is behind us, and the entire bright side faces us.

- When it stands between us and the sun, the dark half faces us, and we call it new.
- At new moon it is on the side of the sun and turns its dark half to us.
""",
        """
- Carry a ball around a lamp in a dark room, and you will see all the shapes.
- So it is not the moon that changes, but the place from which we see its light.
""",
    ),
    _topic(
        "seasons",
        "Why are there summer and winter?",
        "why there are summer and winter",
        """
- The earth travels around the sun once a year, and meanwhile it turns like a top.
- Each year the earth makes one round about the sun, and each day it turns once.

- Its axis is not upright, but leans, and it always leans the same way.
- The axis on which it turns is tilted, and the tilt keeps its direction all year.

- For one half of the year our side leans toward the sun.
- So at one time of the year we are tilted toward the sun.

- Then the sun stands high, and its rays fall steeply and warm the ground well.
- In that time its rays come from high above and bring much warmth to each field.

- The days are long too, and so it is summer.
- Besides, the sun stays in the sky for longer, and we have summer.

- Half a year later we lean away, the sun stays low, the days are short, and it is winter.
- Six months later it is the other way round: low sun, slanting light, short days, and winter.
""",
        """
- Far in the south it is summer while we in the north have winter, because only one half can lean
  toward the sun.
- Look at the shadow of a post at noon: it is short in summer and long in winter.
""",
    ),
    _topic(
        "spring water",
        "Why is the water of a spring so clear?",
        "why the water of a spring is so clear",
        """
- Rain falls on the hill and picks up dust and bits of leaves.
- The water begins as rain, which sinks into the ground together with all kinds of dirt.

- It seeps down through layers of soil, sand and gravel.
- Slowly the water finds its way through earth and sand.

- The gaps between the grains are tiny, and whatever is larger gets stuck.
- The grains of sand lie so close that they hold back the dirt, like a sieve.

- This takes months or years, and with every step the water becomes cleaner.
- The deeper it sinks, the clearer it grows, and it has plenty of time.

- At last it comes to a layer of clay or rock that lets nothing through.
- Farther down lies clay, through which it cannot pass.

- There it collects and flows sideways, until it comes out at the foot of the hill.
- It runs along this layer until, somewhere on the slope, it reaches daylight as a spring.
""",
        """
- So the hill is a great filter that nobody had to build.
- Pour muddy water through a pot of clean sand, and you can see the hill at work.
""",
    ),
    _topic(
        "wool",
        "Why does wool keep us warm?",
        "why wool keeps us warm",
        """
- Our bodies make heat all the time, and the cold air around us carries it away.
- It is the body that makes the warmth, and a coat can only keep it in.

- The hairs of wool are curly, and so they never lie close together.
- Each hair of a sheep is wavy, and between such hairs there are countless small gaps.

- In these gaps sits air that can hardly move.
- They hold a great deal of still air.

- Still air lets heat pass only very slowly.
- Air that does not move is a poor carrier of heat.

- So the warmth stays near the skin, and the cold stays outside.
- In this way the layer of air slows down the loss of heat.

~ Wool can also take up a good deal of damp without feeling wet.
~ Even when it is a little damp, the curls stay open and keep their air.
""",
        """
- That is why two thin sweaters are often warmer than one thick one: there is air between them.
- So in truth it is the sheep's curls and the air inside them that we wear.
""",
    ),
    _topic(
        "thunder",
        "Why does thunder follow lightning?",
        "why thunder follows lightning",
        """
- In a storm cloud, drops and grains of ice rub and knock against each other.
- Inside a storm cloud, strong winds throw ice and water up and down.

- This parts the electric charges, some going up and others down.
- By all this the cloud becomes charged, one way at the top and the other way below.

- When the difference is large enough, a huge spark jumps, and that is the lightning.
- At last the charge breaks through the air as a spark that may be kilometres long.

- The spark makes the air around it hotter than any fire, in less than a blink.
- Along its path the air is heated in an instant.

- Hot air needs more room, and it bursts outward with a bang, which is the thunder.
- The heated air expands so fast that it makes a mighty noise.

- Light reaches us at once, but sound needs about three seconds for each kilometre.
- We see the flash without delay, while the sound comes along on foot, so to speak, at a kilometre
  every three seconds.
""",
        """
- Count the seconds after the flash and divide by three, and you know the distance in kilometres.
- If the pause grows longer each time, the storm is moving away.
""",
    ),
    _topic(
        "rust",
        "Why does iron rust?",
        "why iron rusts",
        """
- Iron is a strong metal, but it does not get along with damp air.
- Bare iron changes when air and water reach it.

- A thin film of water settles on it, from rain or from the air.
- First a little moisture gathers on the metal.

- In the water the iron combines with oxygen, a part of the air.
- With the help of the water, oxygen from the air joins with the iron.

- Together they form a new, red-brown stuff, and this is rust.
- What comes of it is no longer a metal, but a brown crust that we call rust.

- Rust is loose and full of cracks, and so water and air can go deeper.
- As rust is brittle and flakes off, fresh iron is laid bare again and again.

~ Salt makes it faster, and therefore things rust sooner by the sea.
~ Near the sea it happens more quickly, because of the salt.

- Oil or paint helps, since it keeps water and air away from the metal.
- Whoever covers the iron with paint, oil or wax shuts the door to water and air.
""",
        """
- That is why a good smith oils the tools before winter.
- Leave one nail in dry sand and one in damp sand, and compare them after a month.
""",
    ),
    _topic(
        "chimney",
        "Why does a chimney draw?",
        "why a chimney draws the smoke up",
        """
- A fire heats the air, and heated air expands.
- When air becomes hot, it needs more room.

- Hot air is therefore lighter than the same amount of cold air.
- So a bucket full of hot air weighs less than a bucket full of cold air.

- In the chimney stands a tall column of such light air.
- The whole chimney is filled with this light, warm air.

- The heavier cold air of the room presses in at the bottom and pushes it up.
- Cold air, being heavier, flows in below and lifts the warm air out at the top.

- The smoke is carried along, and the fire is given fresh air.
- In this way the smoke leaves the house, and new air feeds the flames.

- The taller the chimney, the greater the difference, and the better it draws.
- A high chimney draws better than a low one, because its column of warm air is taller.
""",
        """
- That is why a cold stove smokes at first: its chimney is not warm yet.
- Hold a feather near the stove door, and you will see which way the air is going.
""",
    ),
    _topic(
        "sundial",
        "How does a sundial show the hour?",
        "how a sundial shows the hour",
        """
- A sundial has a rod that throws a shadow on a plate.
- All that it has is a rod, a plate and some lines.

- As the earth turns, the sun seems to move across the sky from east to west.
- Because the earth turns, we see the sun rise in the east, climb and sink in the west.

- The shadow always falls on the side away from the sun, and so it moves as well.
- The shadow lies opposite the sun, and therefore it wanders round the plate during the day.

- The rod leans, so that it is parallel to the axis of the earth.
- The rod must be set at a slant, just like the axis of the earth.

- Only then does the shadow fall on the same line at the same hour in summer and in winter.
- With this slant the lines are right on every day of the year, and not just on one.

- One reads the hour from the line on which the shadow lies.
- The line that the shadow touches tells the hour.
""",
        """
- At night and under clouds it is silent, and people say that it counts only the bright hours.
- Put a stick into the ground, mark its shadow every hour, and you have made a simple one.
""",
    ),
    _topic(
        "ice",
        "Why does ice float on a pond?",
        "why ice floats on a pond",
        """
- Most things shrink when they grow cold, and water does so too at first.
- Cold water is a little heavier than warm water, and so it sinks to the bottom.

- But below four degrees water begins to expand again.
- At four degrees, however, this comes to an end, and colder water becomes lighter once more.

- When it freezes, its smallest parts form a wide, open pattern.
- In ice the smallest parts of the water stand in a neat order with much room between them.

- Therefore ice takes up more space than the water from which it came.
- So the same amount of water needs about a tenth more room as ice.

- What is as heavy but larger is lighter for its size, and it floats.
- Being lighter for its size than water, the ice stays on top.

- The ice covers the pond like a lid, and the water below stays liquid.
- Like a lid it keeps the cold away from the water underneath, and the fish survive the winter.
""",
        """
- A bottle full of water must not freeze, for the growing ice would break it.
- If ice sank, ponds would freeze from the bottom up, and no fish could live in them.
""",
    ),
    _topic(
        "rainbow",
        "How does a rainbow come about?",
        "how a rainbow comes about",
        """
- Sunlight looks white, but it is a mixture of many colours.
- In white sunlight all the colours are hidden side by side.

- For a rainbow there must be rain in front of you and sunshine behind you.
- You see a rainbow only when the sun is at your back and drops are falling before you.

- The light enters a drop, and there it is bent a little.
- As a ray goes into a drop of rain, it changes its direction.

- Each colour is bent by a slightly different amount, and so they part.
- Blue is bent more than red, and in this way the colours come apart.

- At the back of the drop the light is thrown back, and it leaves at the front, where it is bent
  once more.
- The far side of the drop acts like a mirror and sends the colours back toward you.

- From each drop only one colour reaches your eye, but there are countless drops, and together they
  make the bow.
- High drops send you red and lower drops send you violet, and so the bow has its stripes.
""",
        """
- Nobody can walk up to it, because it moves with the eye that sees it.
- Spray a little water in the morning sun, and you can have a small one in the garden.
""",
    ),
    _topic(
        "compost",
        "How do scraps turn into good soil?",
        "how scraps turn into good soil",
        """
- On the heap lie peels, leaves and cut grass.
- One piles up leaves, peels and withered plants.

- Worms and beetles bite them into small pieces.
- First come worms and other small animals, which chew everything up.

- Tiny living things, too small to see, feed on the pieces.
- Then countless creatures that no eye can see break down what is left.

- They need air and some water, and so the heap is turned and kept damp.
- Because they must breathe, one loosens the heap now and then and does not let it dry out.

- Their work makes heat, and the heap becomes warm inside.
- So much life gives off warmth, and on cold mornings the heap may steam.

- In the end there is dark, crumbly soil with all that plants need.
- After some months it is brown, smells of the forest, and feeds the next plants.
""",
        """
- So nothing is lost: last year's peel is next year's bean.
- Bury a leaf and a button, and in spring you will find only the button.
""",
    ),
    _topic(
        "boiling kettle",
        "Why does a kettle whistle?",
        "why a kettle whistles",
        """
- The stove heats the bottom of the kettle, and the water there becomes hot first.
- Heat enters the water from below.

- At about a hundred degrees the water boils and turns into steam.
- When the water has become hot enough, it boils, and bubbles of steam rise.

- Steam needs far more room than the water from which it came.
- From a spoonful of water comes more than a bucketful of steam.

- The lid is closed, and so the steam can leave only through the narrow whistle.
- As there is just one small hole, all the steam must rush through it.

- There it swirls and makes the air tremble, and this trembling is the tone.
- In the hole the stream begins to flutter, and a fast flutter of the air is what we hear as a tone.

- The stronger it boils, the louder the kettle calls.
- As soon as the kettle is taken from the fire, less steam comes, and the tone dies away.
""",
        """
- So the kettle calls at just the right moment, and nobody has to watch it.
- The white cloud at the spout is not steam, but tiny drops, for real steam cannot be seen.
""",
    ),
)
