"""Wrong answers to `residual`."""

from autograder.labs.mutants import Mutant

_LEFT = "what_the_target_has_more_is_left"
_SUM = "the_residual_sums_to_one"
_EQUAL = "equal_distributions_leave_the_target"
_SMALL = "a_small_difference_counts_in_full"
_EACH = "each_row_has_a_residual"
_SAME = "both_distributions_stay_as_they_are"
_DIFFERENCE = "(target_probs - draft_probs).clamp(min=0)"
_WHERE = "torch.where(mass > 0, left / mass, target_probs)"
_ALL = (_LEFT, _SUM, _EQUAL, _SMALL, _EACH, _SAME)

RESIDUAL = [
    Mutant(
        "residual", "the draft minus the target", (_LEFT,), "(target_probs - draft_probs)",
        "(draft_probs - target_probs)",
    ),
    Mutant("residual", "the absolute difference", (_LEFT,), ".clamp(min=0)", ".abs()"),
    Mutant("residual", "the target alone", _ALL, "left = " + _DIFFERENCE, "left = target_probs"),
    Mutant(
        "residual",
        "a softmax of what is left",
        (_LEFT, _SMALL),
        "left / mass",
        "left.softmax(-1)",
    ),
    Mutant(
        "residual",
        "the square of the difference",
        (_LEFT,),
        _DIFFERENCE,
        _DIFFERENCE + " ** 2",
    ),
    Mutant("residual", "not divided by the sum", (_SUM,), "left / mass",
           "left"),
    Mutant("residual", "0 / 0", (_EQUAL,), _WHERE, "left / mass"),
    Mutant("residual", "eps against a division by 0", (_EQUAL,), _WHERE,
           "left / (mass + 1e-9)"),
    Mutant("residual", "0 where both are equal", (_EQUAL,), _WHERE,
           "torch.where(mass > 0, left / mass, left)"),
    Mutant("residual", "all tokens alike where both are equal", (_EQUAL,),
           "left / mass, target_probs)",
           "left / mass, torch.ones_like(left) / left.shape[-1])"),
    Mutant("residual", "nearly equal is equal", (_SMALL,), "mass > 0", "mass > 0.01"),
    Mutant(
        "residual",
        "too small to count",
        (_SMALL,),
        _DIFFERENCE,
        "torch.nn.functional.threshold(target_probs - draft_probs, 0.001, 0.0)",
    ),
    Mutant("residual", "one sum for all rows", (_EACH,), "left.sum(-1, keepdim=True)",
           "left.sum()"),
    Mutant("residual", "sums over the first dimension", (_EACH,), "left.sum(-1,", "left.sum(0,"),
    Mutant("residual", "an equal row makes all of them equal", (_EACH,), "mass > 0",
           "(mass > 0).all()"),
    Mutant("residual", "the difference in place", (_SAME,), _DIFFERENCE,
           "target_probs.clone()\n    draft_probs.neg_().add_(target_probs)\n"
           "    left = draft_probs.clamp(min=0)"),
    Mutant("residual", "the target is overwritten", (_SAME,), "return " + _WHERE,
           "left = " + _WHERE + "\n    target_probs.sub_(draft_probs)\n    return left"),
]  # fmt: skip
