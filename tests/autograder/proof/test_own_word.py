"""What the student's process alone can say earns nothing that a line of honest code would not.

Some checks claim that a call leaves its arguments as they are, or that `rng` alone decides. What
was passed, and the generator, lie in the student's process, so code there could put them right
before anybody looks. A function is all that happens between a call and its result: to put the
arguments back is a copy of them, and to seed other generators from `rng` is to draw from it. The
wrappers here do just that, to wrong answers that fail such a check alone, and all checks pass.
"""

import pytest
from instances import each_nth

from autograder.builder.source import read_labs
from autograder.proof.matrix import findings_for
from tests.known import mutants_of

COPIES = """
def _copied(value):
    return value.clone() if hasattr(value, "clone") else value[:] if type(value) is list else value

def _on_copies(function):
    return lambda *args, **named: function(*map(_copied, args), **named)

{name} = _on_copies({name})
"""
SEEDS = """
def _from_rng(function):
    import random, numpy, torch
    def call(*args, **named):
        place = next((i for i, each in enumerate(args) if isinstance(each, torch.Generator)), None)
        rng = named.get("rng") if place is None else args[place]
        if rng is None:
            return function(*args, **named)
        seed = int(torch.randint(2**31, (1,), generator=rng))
        for each in (torch.manual_seed, numpy.random.seed, random.seed):
            each(seed)
        own = torch.Generator().manual_seed(seed)
        if place is None:
            return function(*args, **{**named, "rng": own})
        return function(*args[:place], own, *args[place + 1 :], **named)
    return call

{name} = _from_rng({name})
"""
GIVES_COPIES = """
class GrowingCache(GrowingCache):
    def append(self, layer, keys, values):
        return tuple(each.clone() for each in super().append(layer, keys.clone(), values.clone()))
"""
PUTS_BACK = """
class ArenaCache(ArenaCache):
    def rewind(self, n_tokens):
        before = self.keys.clone(), self.values.clone()
        super().rewind(n_tokens)
        self.keys.copy_(before[0]), self.values.copy_(before[1])
"""
GIVES_VIEWS = """
class ArenaCache(ArenaCache):
    def append(self, layer, keys, values):
        copied, _, mask = super().append(layer, keys, values)
        n = copied.shape[-2]
        return self.keys[layer, ..., :n, :], self.values[layer, ..., :n, :], mask
"""
WORDS = {
    "x_stays_as_it_is": COPIES,
    "the_prompt_stays_as_it_is": COPIES,
    "the_logits_stay_as_they_are": COPIES,
    "both_distributions_stay_as_they_are": COPIES,
    "what_was_passed_stays_as_it_is": COPIES,
    "the_batch_stays_as_it_is": COPIES,
    "the_tree_stays_as_it_is": COPIES,
    "asking_reserves_nothing": COPIES,
    "no_tensor_is_changed": GIVES_COPIES,
    "rewind_moves_only_the_pointer": PUTS_BACK,
    "views_show_the_arena_itself": GIVES_VIEWS,
    "rng_decides_what_chance_decides": SEEDS,
    "rng_decides_about_the_tree": SEEDS,
    "rng_decides_about_each_token": SEEDS,
}
OTHERWISE = {"allocates a new arena when the old one is rewound"}  # it has no old one to view
N_MOST = 2  # wrong answers to each check


def alone(check, lab):
    """The wrong answers that fail this check and no other."""
    return [
        each for each in mutants_of(lab)
        if each.caught_by == (check,) and each.title not in OTHERWISE
    ]  # fmt: skip


@pytest.mark.parametrize("check", each_nth(WORDS, 3))
def test_one_honest_line_earns_what_a_forged_word_could(check):
    lab = next(lab for lab in read_labs() if alone(check, lab))
    for wrong in alone(check, lab)[:N_MOST]:
        mended = wrong.source + WORDS[check].replace("{name}", wrong.exercise)
        found = findings_for(lab, wrong.exercise, {wrong.exercise: mended})
        assert {each.check.name: each.message for each in found if not each.passed} == {}, wrong
