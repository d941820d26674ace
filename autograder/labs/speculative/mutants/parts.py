"""What the wrong answers to `speculative` are made of: its lines, and the checks they fail."""

from functools import partial
from inspect import getsource

from autograder.labs.mutants import Mutant
from labkit.speculative import speculative

LAW = "the_text_has_the_targets_law"
ENDS = "the_text_ends_in_time"
CALLS = "one_target_call_verifies_a_block"
USE = "no_more_is_drafted_than_can_be_used"
TWICE = "no_model_is_fed_a_token_twice"
CACHES = "caches_hold_the_text_and_nothing_else"
TOLD = "both_models_are_told_how_to_sample"
GREEDY = "greedy_text_is_the_targets"
REPORT = "every_block_is_reported"
SILENT = "a_draft_may_have_nothing_to_propose"
GAMMA = "gamma_is_asked_for_before_each_block"
REFUSED = "what_cannot_start_is_refused"

VERIFY = "n_kept, token = verify(drafted, rows, target_probs, rng)"
CAP = "min(gamma() if callable(gamma) else gamma, end - len(text) - 1)"
DRAFT = "draft.feed((text + drafted)[draft.n_cached() :])[-1]"
TARGET = "logits = target.feed([text[-1], *drafted])"
CROP = "target.rewind(len(text) - 1)"
DRAFT_CROP = "draft.rewind(min(draft.n_cached(), len(text) - 1))"
ADD = "text += cut_after([*drafted[:n_kept], token], eos)"
TELL_DRAFT = "draft_probs.append(distribution(logits, temperature, top_k, top_p))"
TELL_TARGET = "target_probs = distribution(logits, temperature, top_k, top_p)"
BLOCK = "blocks.append(Block(len(drafted), n_kept, len(text)))"
START = "check_start(prompt, n_new, target, draft, gamma)"
GAMMA_NOW = "gamma() if callable(gamma) else gamma"

COUNTED = (CALLS, USE, TWICE, CACHES, REPORT)
EVERY = (LAW, ENDS, *COUNTED, TOLD, GREEDY, SILENT, GAMMA, REFUSED)

# A verification written into the sampler, whose parts are wrong one at a time.
INLINE = """\
n_kept = 0
        {before}
        for i, x in enumerate(drafted):
            if not {keep}:
                break
            n_kept += 1
        if n_kept < len(drafted):
            token = {replace}
        else:
            token = sample(target_probs[-1], rng)"""
RIGHT = {
    "before": "pass",
    "keep": "torch.rand(()) < target_probs[i, x] / rows[i, x]",
    "replace": "sample(residual(target_probs[n_kept], rows[n_kept]), rng)",
}

mutant = partial(Mutant, "speculative")


def changed(title: str, caught_by: tuple[str, ...], *changes: tuple[str, str]) -> Mutant:
    """A mutant with several changes that make one fault together."""
    text = getsource(speculative)
    for old, new in changes:
        text = Mutant("speculative", title, caught_by, old, new).cell(text)
    return mutant(title, caught_by, source=text)


def inline(title: str, caught_by: tuple[str, ...], **parts: str) -> Mutant:
    """A mutant with the acceptance written into the sampler, and these parts of it wrong."""
    return mutant(title, caught_by, VERIFY, INLINE.format(**(RIGHT | parts)))
