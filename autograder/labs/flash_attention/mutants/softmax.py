"""Wrong answers to the softmax in pieces."""

from autograder.labs.mutants import Mutant

_MAXIMUM = "the_maximum_is_that_of_each_query"
_TOTAL = "the_total_is_brought_to_the_new_maximum"
_OUTPUT = "the_output_is_brought_to_the_new_maximum"
_LARGE = "large_scores_do_not_overflow"
_UNSEEN = "queries_without_keys_stay_as_they_were"

_NEW_MAXIMUM = "torch.maximum(maximum, scores.amax(dim=-1))"
_RESCALED = "(maximum - level).exp()"
_WEIGHTS = "(scores - level[:, None]).exp()"
_NEW_TOTAL = "rescaled * total + weights.sum(dim=-1)"
_NEW_OUTPUT = "rescaled[:, None] * output + weights @ values.float()"


def _softmax(title: str, *caught_by: str, old: str, new: str) -> Mutant:
    return Mutant("online_softmax", title, caught_by, old, new)


SOFTMAX = [
    _softmax("one maximum for all queries", _MAXIMUM, old=_NEW_MAXIMUM,
             new="torch.maximum(maximum, scores.max())"),
    _softmax("the maximum of the new tile alone", _MAXIMUM, _LARGE, _UNSEEN, old=_NEW_MAXIMUM,
             new="scores.amax(dim=-1)"),
    _softmax("the smaller of the two maxima", _MAXIMUM, _TOTAL, _OUTPUT, _LARGE, _UNSEEN,
             old=_NEW_MAXIMUM, new="torch.minimum(maximum, scores.amax(dim=-1))"),
    _softmax("the old maximum comes back", _MAXIMUM, _TOTAL, _OUTPUT, _LARGE, _UNSEEN,
             old="return new_maximum,", new="return maximum,"),
    _softmax("unseen queries get the maximum 0", _MAXIMUM, old="return new_maximum,",
             new="return level,"),
    _softmax("the total is not rescaled", _TOTAL, old=_NEW_TOTAL,
             new="total + weights.sum(dim=-1)"),
    _softmax("the total is rescaled by the wrong way round", _TOTAL, _LARGE, _UNSEEN,
             old=_NEW_TOTAL, new="total / rescaled + weights.sum(dim=-1)"),
    _softmax("the new sum is rescaled too", _TOTAL, _LARGE, _UNSEEN, old=_NEW_TOTAL,
             new="rescaled * (total + weights.sum(dim=-1))"),
    _softmax("the total of the new tile alone", _TOTAL, _LARGE, _UNSEEN, old=_NEW_TOTAL,
             new="weights.sum(dim=-1)"),
    _softmax("the output is not rescaled", _OUTPUT, old=_NEW_OUTPUT,
             new="output + weights @ values.float()"),
    _softmax("the output is divided already", _OUTPUT, _LARGE, _UNSEEN, old=_NEW_OUTPUT,
             new="(rescaled[:, None] * output + weights @ values) / new_total[:, None]"),
    _softmax("weights of the new tile sum to 1", _OUTPUT, _LARGE, _UNSEEN, old=_NEW_OUTPUT,
             new="rescaled[:, None] * output + scores.softmax(-1) @ values"),
    _softmax("the output is rescaled by the totals", _OUTPUT, _UNSEEN, old=_NEW_OUTPUT,
             new="(total / new_total)[:, None] * output + weights @ values"),
    _softmax("exponentials first, then quotients", _LARGE, old=f"{_RESCALED}\n    weights = "
             f"{_WEIGHTS}", new="maximum.exp() / level.exp()\n"
             "    weights = scores.exp() / level.exp()[:, None]"),
    _softmax("-inf minus -inf", _UNSEEN, old="new_maximum.where(new_maximum.isfinite(), 0)",
             new="new_maximum"),
    _softmax("weights use the old maximum", _TOTAL, _OUTPUT, _LARGE, _UNSEEN, old=_WEIGHTS,
             new="(scores - maximum[:, None]).exp()"),
    _softmax("rescaled by the maximum of the tile", _TOTAL, _OUTPUT, _LARGE, _UNSEEN,
             old=_RESCALED, new="(scores.amax(dim=-1) - level).exp()"),
]  # fmt: skip
