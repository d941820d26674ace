"""Wrong answers to `verify` and `verify_batch`: the faults that published samplers have."""

from autograder.labs.mutants import Mutant

_RATIO = "a_token_is_kept_by_the_ratio"
_UNIFORMS = "each_token_has_a_uniform_of_its_own"
_RESIDUAL = "a_rejected_token_is_replaced_by_the_residual"
_BONUS = "a_full_acceptance_gives_one_token_more"
_PLAIN = "without_drafts_it_is_a_plain_step"
_NEVER = "what_the_target_excludes_never_comes"
_SHAPES = "shapes_that_do_not_fit_are_refused"
_SAME = "what_was_passed_stays_as_it_is"

_CHECK = "check_rows(drafted, draft_probs, target_probs)"
_DRAW = "not uniform < target_probs[i, token] / draft_probs[i, token]"
_TEST = "uniform < target_probs[i, token] / draft_probs[i, token]"
_REPLACE = "sample(residual(target_probs[i], draft_probs[i]), rng)"
_LAST = "return len(drafted), sample(target_probs[-1], rng)"
_UNIFORM = """\
        uniform = torch.rand(
            (), generator=rng, dtype=target_probs.dtype, device=target_probs.device
        )
"""
_LOOP = "    for i, token in enumerate(drafted):\n"


def _tested(title: str, *caught_by: str, test: str) -> Mutant:
    """A mutant that keeps a token for another reason."""
    return Mutant("verify", title, caught_by, _TEST, f"({test})")


def _replaced(title: str, *caught_by: str, by: str) -> Mutant:
    """A mutant that puts another token in after a rejection."""
    return Mutant("verify", title, caught_by, _REPLACE, by)


def _ended(title: str, *caught_by: str, by: str) -> Mutant:
    """A mutant that ends otherwise after a full acceptance."""
    return Mutant("verify", title, caught_by, _LAST, by)


_VECTORISED = """\
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    k = len(drafted)
    index = torch.arange(k)
    ratios = target_probs[index, drafted] / draft_probs[index, drafted]
    accepted = torch.rand(k, dtype=ratios.dtype) < ratios
    n_kept = int({n_kept})
    if n_kept == k:
        return k, sample(target_probs[k], rng)
    return n_kept, sample(residual(target_probs[n_kept], draft_probs[n_kept]), rng)
"""

VERIFY = [
    _tested("the ratio upside down", _RATIO, _UNIFORMS, _RESIDUAL, _NEVER,
            test="uniform < draft_probs[i, token] / target_probs[i, token]"),
    _tested("a lenient ratio", _RATIO,
            test="uniform < target_probs[i, token] / (0.8 * draft_probs[i, token])"),
    _tested("the target's probability alone", _RATIO, test="uniform < target_probs[i, token]"),
    _tested("kept and rejected exchanged", _RATIO, _BONUS, _NEVER,
            test="uniform >= target_probs[i, token] / draft_probs[i, token]"),
    _tested("kept if the target gives it at least as much", _RATIO, _UNIFORMS, _BONUS,
            test="target_probs[i, token] >= draft_probs[i, token]"),
    _tested("kept from a tenth of the draft's probability on", _RATIO, _UNIFORMS, _RESIDUAL,
            test="target_probs[i, token] >= 0.1 * draft_probs[i, token]"),
    _tested("kept always", _RATIO, _UNIFORMS, _RESIDUAL, _NEVER, test="uniform < 1"),
    _tested("the target's most likely token alone", _RATIO, _UNIFORMS, _BONUS,
            test="token == int(target_probs[i].argmax())"),
    _tested("the row behind", _RATIO, _NEVER, test="uniform < target_probs[i + 1, token] / "
            "draft_probs[i, token]"),
    _tested("eps in the ratio", _NEVER, test="uniform < (target_probs[i, token] + 1e-6) / "
            "(draft_probs[i, token] + 1e-6)"),
    Mutant("verify", "one uniform for the block", (_UNIFORMS,), _UNIFORM,
           "        uniform = torch.rand(()) if i == 0 else uniform\n"),
    Mutant("verify", "all that were accepted count", (_UNIFORMS,),
           source=_VECTORISED.format(n_kept="accepted.sum()")),
    Mutant("verify", "up to the last that was accepted", (_UNIFORMS,),
           source=_VECTORISED.format(n_kept="(accepted * (index + 1)).amax() if k else 0")),
    Mutant("verify", "the first alone decides", (_UNIFORMS, _NEVER),
           source=_VECTORISED.format(n_kept="k * bool(accepted[:1].all())")),
    _replaced("the target after a rejection", _RESIDUAL, by="sample(target_probs[i], rng)"),
    _replaced("the draft after a rejection", _RESIDUAL, _NEVER, by="sample(draft_probs[i], rng)"),
    _replaced("the rejected token stays", _RESIDUAL, _NEVER, by="token"),
    _replaced("the draft minus the target", _RESIDUAL, _NEVER,
              by="sample(residual(draft_probs[i], target_probs[i]), rng)"),
    _replaced("the absolute difference", _RESIDUAL, _NEVER,
              by="sample((target_probs[i] - draft_probs[i]).abs(), rng)"),
    _replaced("the residual's most likely token", _RESIDUAL,
              by="int(residual(target_probs[i], draft_probs[i]).argmax())"),
    _replaced("the residual of the first rows", _RESIDUAL, _NEVER,
              by="sample(residual(target_probs[0], draft_probs[0]), rng)"),
    _replaced("the residual of the row behind", _RESIDUAL, _NEVER,
              by="sample(residual(target_probs[i + 1], draft_probs[i]), rng)"),
    _replaced(
        "an inverse CDF of what is not normalised",
        _RESIDUAL,
        by="int(torch.cat([\n"
        "                ((target_probs[i] - draft_probs[i]).clamp(min=0).cumsum(0)"
        " > torch.rand(())).nonzero()[:, 0],\n"
        "                target_probs[i].argmax()[None],\n"
        "            ])[0])",
    ),
    _replaced("the target without the rejected token", _RESIDUAL,
              by="sample(target_probs[i].index_fill(0, torch.tensor(token), 0), rng)"),
    _replaced("eps in the residual", _NEVER,
              by="sample(residual(target_probs[i], draft_probs[i]) + 1e-7, rng)"),
    Mutant("verify", "all rows shifted by one", (_RATIO, _RESIDUAL, _NEVER), _CHECK,
           _CHECK + "\n    target_probs = torch.cat([target_probs[1:], target_probs[-1:]])"),
    _ended("the bonus is counted as kept", _RATIO, _UNIFORMS, _RESIDUAL, _BONUS, _PLAIN, _NEVER,
           _SAME, by="return len(drafted) + 1, sample(target_probs[-1], rng)"),
    _ended("no token of its own: the last one again", _BONUS, _PLAIN,
           by="return len(drafted), drafted[-1]"),
    _ended("the bonus from the row before", _BONUS, _NEVER,
           by="return len(drafted), sample(target_probs[max(len(drafted) - 1, 0)], rng)"),
    _ended("the bonus from the draft", _BONUS, _NEVER,
           by="return len(drafted), sample(draft_probs[-1] if drafted else target_probs[0], rng)"),
    _ended("the most likely bonus", _BONUS, _PLAIN,
           by="return len(drafted), int(target_probs[-1].argmax())"),
    _ended("the bonus from the residual of the last rows", _BONUS,
           by="rows = draft_probs[-1] if drafted else draft_probs.sum(0)\n"
           "    return len(drafted), sample(residual(target_probs[-1], rows), rng)"),
    _ended("nothing to draw without a draft", _PLAIN,
           by="if not drafted:\n        return 0, 0\n    " + _LAST),
    Mutant("verify", "stacks what is not there", (_PLAIN,), _CHECK,
           _CHECK + "\n    draft_probs = torch.stack(list(draft_probs))"),
    Mutant("verify", "no look at the shapes", (_SHAPES,), _CHECK, "pass"),
    Mutant("verify", "counts the rows of the draft alone", (_SHAPES,), _CHECK,
           'if len(draft_probs) != len(drafted):\n        raise ValueError("rows")'),
    Mutant("verify", "takes what it has seen off the block", (_SAME,), _CHECK,
           _CHECK + "\n    given, drafted = drafted, list(drafted)\n    given.clear()"),
    Mutant("verify", "the residual in place", (_SAME,), _REPLACE,
           "sample(target_probs[i].sub_(draft_probs[i]).clamp_(min=0), rng)"),
    Mutant("verify", "the draft's rows are divided in place", (_SAME,), _LOOP,
           "    draft_probs.mul_(2).div_(2.000001)\n" + _LOOP),
]  # fmt: skip

_ROW = "each_row_has_the_law_that_it_has_alone"
_LUCK = "rows_do_not_share_their_luck"
_RAGGED = "a_row_ends_where_its_draft_ends"
_WHOLE = "the_answer_is_one_whole_number_per_row"
_BATCH = "the_batch_stays_as_it_is"

_ACCEPTED = "(uniforms < ratios) & is_drafted"
_COUNTED = "accepted.long().cumprod(dim=1).sum(dim=1)"
_PADDED = "draft_probs.where(is_drafted[..., None], 0)"
_OWN = "left = residual(target_probs[index, n_kept], padded[index, n_kept])"
_RETURN = "return n_kept, torch.multinomial(left, 1, generator=rng)[:, 0]"

BATCH = [
    Mutant("verify_batch", "all that were accepted count", (_ROW,), _COUNTED,
           "accepted.long().sum(dim=1)"),
    Mutant("verify_batch", "one uniform for each row", (_ROW,), "        n_rows, k, gen",
           "        n_rows, 1, gen"),
    Mutant("verify_batch", "the target for all", (_ROW,), _OWN,
           "left = target_probs[index, n_kept]"),
    Mutant("verify_batch", "the residual of the first row for all", (_ROW, _RAGGED), _OWN,
           "left = residual(target_probs[index, n_kept], padded[0, n_kept])"),
    Mutant("verify_batch", "a full acceptance draws from a residual too", (_ROW, _RAGGED),
           "nothing = torch.zeros_like(target_probs[:, :1])",
           "nothing = draft_probs.new_full((n_rows, 1, target_probs.shape[-1]), 0.2)"),
    Mutant("verify_batch", "the same uniforms for all rows", (_LUCK,),
           "        n_rows, k, gen", "        1, k, gen"),
    Mutant(
        "verify_batch",
        "one number decides all draws",
        (_LUCK,),
        _RETURN,
        "left = left / left.sum(-1, keepdim=True)\n"
        "    tokens = (left.cumsum(-1)[:, :-1] <= torch.rand(()).double()).sum(-1)\n"
        "    return n_kept, tokens",
    ),
    Mutant("verify_batch", "what was not drafted may be kept", (_RAGGED,), _ACCEPTED,
           "uniforms < ratios"),
    Mutant("verify_batch", "what was not drafted counts as rejected", (_RAGGED,), _PADDED,
           "draft_probs"),
    Mutant("verify_batch", "the last row of the target for all that is kept", (_RAGGED,), _OWN,
           "at = torch.where(n_kept == n_drafted, k, n_kept)\n"
           "    left = residual(target_probs[index, at], padded[index, n_kept])"),
    Mutant("verify_batch", "not without any draft", (_RAGGED,), "index = torch.arange(n_rows",
           "drafted.amax(dim=1)\n    index = torch.arange(n_rows"),
    Mutant("verify_batch", "tokens as a column", (_WHOLE,), "generator=rng)[:, 0]",
           "generator=rng)"),
    Mutant("verify_batch", "floats", (_WHOLE,), "return n_kept,", "return n_kept.float(),"),
    Mutant("verify_batch", "the draft is cleared in place", (_BATCH,), _PADDED,
           "draft_probs.mul_(is_drafted[..., None])"),
    Mutant("verify_batch", "the padding is overwritten", (_BATCH,), "accepted = ",
           "drafted.masked_fill_(~is_drafted, -1)\n    accepted = "),
]  # fmt: skip
