"""Wrong answers to standard attention."""

from autograder.labs.mutants import Mutant

_OUTPUT = "standard_output_is_attention"
_CAUSAL = "standard_hides_later_keys"
_WEIGHTS = "standard_weights_are_written"
_LOADS = "standard_loads_what_each_step_needs"
_STORES = "standard_stores_what_each_step_makes"
_KEPT = "standard_steps_use_what_they_load"
_SCORES = 'scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, is_causal)'
_STORE_S = 'memory.store("S", 0, scores)'
_STORE_P = 'memory.store("P", 0, memory.load("S").float().softmax(dim=-1))'
_STORE_O = 'memory.store("O", 0, memory.load("P").float() @ memory.load("V").float())'


def _standard(title: str, *caught_by: str, old: str, new: str) -> Mutant:
    return Mutant("standard_attention", title, caught_by, old, new)


STANDARD = [
    _standard("always masked", _OUTPUT, old="is_causal)\n", new="True)\n"),
    _standard("never masked", _CAUSAL, old="is_causal)\n", new="False)\n"),
    _standard("no scale", _OUTPUT, _CAUSAL, old=_SCORES,
              new=_SCORES + " * memory.head_dim**0.5"),
    _standard("softmax over the queries", _OUTPUT, _CAUSAL, _WEIGHTS, _KEPT,
              old="softmax(dim=-1)", new="softmax(dim=0)"),
    _standard("P not divided by its sums", _WEIGHTS, old=_STORE_P + "\n    " + _STORE_O, new="""\
memory.store("P", 0, memory.load("S").exp())
    weights = memory.load("P")
    memory.store("O", 0, weights @ memory.load("V") / weights.sum(-1, keepdim=True))"""),
    _standard("S loaded twice, for the maximum and for the softmax", _LOADS, old=_STORE_P, new="""\
largest = memory.load("S").amax(-1, keepdim=True)
    memory.store("P", 0, (memory.load("S") - largest).softmax(-1))"""),
    _standard("S and P stay on the chip and are not loaded", _LOADS, _KEPT,
              old=_STORE_P + "\n    " + _STORE_O, new="""\
weights = scores.softmax(-1)
    memory.store("P", 0, weights)
    memory.store("O", 0, weights @ memory.load("V"))"""),
    _standard("S is never written", _LOADS, _STORES, _KEPT,
              old=_STORE_S + "\n    " + _STORE_P, new="memory.store(\"P\", 0, scores.softmax(-1))"),
    _standard("O is cleared first", _STORES, old=_STORE_S, new=_STORE_S + """
    memory.store("O", 0, torch.zeros(memory.n_rows, memory.head_dim))"""),
    _standard("S is stored again after the softmax", _STORES, old=_STORE_P, new="""\
weights = memory.load("S").softmax(-1)
    memory.store("S", 0, weights)
    memory.store("P", 0, weights)"""),
    _standard("loaded, but the old copies used", _KEPT, old=_STORE_P, new="""\
memory.load("S")
    memory.store("P", 0, scores.softmax(-1))"""),
    _standard("only P is used as it was kept", _KEPT, old=_STORE_P + "\n    " + _STORE_O, new="""\
weights = memory.load("S").softmax(-1)
    memory.store("P", 0, weights)
    memory.load("P")
    memory.store("O", 0, weights @ memory.load("V"))"""),
]  # fmt: skip
