"""Wrong answers to `verify`: edits of the reference, or the whole answer."""

# fails a_token_is_kept_by_the_ratio each_token_has_a_uniform_of_its_own
#   a_rejected_token_is_replaced_by_the_residual what_the_target_excludes_never_comes

# %% the ratio upside down
# - if not uniform < target_probs[i, token] / draft_probs[i, token]:
# -     return i, sample(residual(target_probs[i], draft_probs[i]), rng)
if not (uniform < draft_probs[i, token] / target_probs[i, token]):
    return i, sample(residual(target_probs[i], draft_probs[i]), rng)

# %% kept always
# = uniform < target_probs[i, token] / draft_probs[i, token] => (uniform < 1)

# fails a_token_is_kept_by_the_ratio

# %% a lenient ratio
# - if not uniform < target_probs[i, token] / draft_probs[i, token]:
# -     return i, sample(residual(target_probs[i], draft_probs[i]), rng)
if not (uniform < target_probs[i, token] / (0.8 * draft_probs[i, token])):
    return i, sample(residual(target_probs[i], draft_probs[i]), rng)

# %% the target's probability alone
# = uniform < target_probs[i, token] / draft_probs[i, token] => (uniform < target_probs[i, token])

# fails a_token_is_kept_by_the_ratio a_full_acceptance_gives_one_token_more
#   what_the_target_excludes_never_comes

# %% kept and rejected exchanged
# - if not uniform < target_probs[i, token] / draft_probs[i, token]:
# -     return i, sample(residual(target_probs[i], draft_probs[i]), rng)
if not (uniform >= target_probs[i, token] / draft_probs[i, token]):
    return i, sample(residual(target_probs[i], draft_probs[i]), rng)

# fails a_token_is_kept_by_the_ratio each_token_has_a_uniform_of_its_own
#   a_full_acceptance_gives_one_token_more

# %% kept if the target gives it at least as much
# - if not uniform < target_probs[i, token] / draft_probs[i, token]:
# -     return i, sample(residual(target_probs[i], draft_probs[i]), rng)
if not (target_probs[i, token] >= draft_probs[i, token]):
    return i, sample(residual(target_probs[i], draft_probs[i]), rng)

# fails a_token_is_kept_by_the_ratio each_token_has_a_uniform_of_its_own
#   a_rejected_token_is_replaced_by_the_residual

# %% kept from a tenth of the draft's probability on
# - if not uniform < target_probs[i, token] / draft_probs[i, token]:
# -     return i, sample(residual(target_probs[i], draft_probs[i]), rng)
if not (target_probs[i, token] >= 0.1 * draft_probs[i, token]):
    return i, sample(residual(target_probs[i], draft_probs[i]), rng)

# fails a_token_is_kept_by_the_ratio what_the_target_excludes_never_comes

# %% the row behind
# - if not uniform < target_probs[i, token] / draft_probs[i, token]:
# -     return i, sample(residual(target_probs[i], draft_probs[i]), rng)
if not (uniform < target_probs[i + 1, token] / draft_probs[i, token]):
    return i, sample(residual(target_probs[i], draft_probs[i]), rng)

# fails rng_decides_what_chance_decides

# %% the seed of rng again in each call
# - check_rows(drafted, draft_probs, target_probs)
check_rows(drafted, draft_probs, target_probs)
rng = None if rng is None else torch.Generator().manual_seed(rng.initial_seed())

# fails what_the_target_excludes_never_comes

# %% eps in the ratio
# - if not uniform < target_probs[i, token] / draft_probs[i, token]:
# -     return i, sample(residual(target_probs[i], draft_probs[i]), rng)
if not (uniform < (target_probs[i, token] + 1e-6) / (draft_probs[i, token] + 1e-6)):
    return i, sample(residual(target_probs[i], draft_probs[i]), rng)

# %% eps in the residual
# = residual(target_probs[i], draft_probs[i]) => residual(target_probs[i], draft_probs[i]) + 1e-7

# fails each_token_has_a_uniform_of_its_own

# %% one uniform for the block
# - uniform = torch.rand(
# -     (), generator=rng, dtype=target_probs.dtype, device=target_probs.device
# - )
uniform = torch.rand((), generator=rng) if i == 0 else uniform

# %% all that were accepted count
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    k = len(drafted)
    index = torch.arange(k)
    ratios = target_probs[index, drafted] / draft_probs[index, drafted]
    accepted = torch.rand(k, generator=rng, dtype=ratios.dtype) < ratios
    n_kept = int(accepted.sum())
    if n_kept == k:
        return k, sample(target_probs[k], rng)
    return n_kept, sample(residual(target_probs[n_kept], draft_probs[n_kept]), rng)

# %% up to the last that was accepted
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    k = len(drafted)
    index = torch.arange(k)
    ratios = target_probs[index, drafted] / draft_probs[index, drafted]
    accepted = torch.rand(k, generator=rng, dtype=ratios.dtype) < ratios
    n_kept = int((accepted * (index + 1)).amax() if k else 0)
    if n_kept == k:
        return k, sample(target_probs[k], rng)
    return n_kept, sample(residual(target_probs[n_kept], draft_probs[n_kept]), rng)

# fails each_token_has_a_uniform_of_its_own what_the_target_excludes_never_comes

# %% the first alone decides
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    k = len(drafted)
    index = torch.arange(k)
    ratios = target_probs[index, drafted] / draft_probs[index, drafted]
    accepted = torch.rand(k, generator=rng, dtype=ratios.dtype) < ratios
    n_kept = int(k * bool(accepted[:1].all()))
    if n_kept == k:
        return k, sample(target_probs[k], rng)
    return n_kept, sample(residual(target_probs[n_kept], draft_probs[n_kept]), rng)

# fails a_rejected_token_is_replaced_by_the_residual

# %% the target after a rejection
# = residual(target_probs[i], draft_probs[i]) => target_probs[i]

# %% the residual's most likely token
# - return i, sample(residual(target_probs[i], draft_probs[i]), rng)
return i, int(residual(target_probs[i], draft_probs[i]).argmax())

# %% the target without the rejected token
# - return i, sample(residual(target_probs[i], draft_probs[i]), rng)
return i, sample(target_probs[i].index_fill(0, torch.tensor(token), 0), rng)

# fails a_rejected_token_is_replaced_by_the_residual what_the_target_excludes_never_comes

# %% the draft after a rejection
# = residual(target_probs[i], draft_probs[i]) => draft_probs[i]

# %% the rejected token stays
# = sample(residual(target_probs[i], draft_probs[i]), rng) => token

# %% the absolute difference
# = residual(target_probs[i], draft_probs[i]) => (target_probs[i] - draft_probs[i]).abs()

# %% the residual of the first rows
# = residual(target_probs[i], draft_probs[i]) => residual(target_probs[0], draft_probs[0])

# fails a_token_is_kept_by_the_ratio a_rejected_token_is_replaced_by_the_residual
#   what_the_target_excludes_never_comes

# %% all rows shifted by one
# - check_rows(drafted, draft_probs, target_probs)
check_rows(drafted, draft_probs, target_probs)
target_probs = torch.cat([target_probs[1:], target_probs[-1:]])

# fails a_token_is_kept_by_the_ratio each_token_has_a_uniform_of_its_own
#   a_rejected_token_is_replaced_by_the_residual a_full_acceptance_gives_one_token_more
#   without_drafts_it_is_a_plain_step what_the_target_excludes_never_comes
#   what_was_passed_stays_as_it_is rng_decides_what_chance_decides

# %% the bonus is counted as kept
# = len(drafted) => len(drafted) + 1

# fails a_full_acceptance_gives_one_token_more without_drafts_it_is_a_plain_step

# %% no token of its own: the last one again
# = sample(target_probs[-1], rng) => drafted[-1]

# %% the most likely bonus
# = sample(target_probs[-1], rng) => int(target_probs[-1].argmax())

# fails a_full_acceptance_gives_one_token_more what_the_target_excludes_never_comes

# %% the bonus from the row before
# = target_probs[-1] => target_probs[max(len(drafted) - 1, 0)]

# %% the bonus from the draft
# = target_probs[-1] => draft_probs[-1] if drafted else target_probs[0]

# fails a_full_acceptance_gives_one_token_more

# %% the bonus from the residual of the last rows
# - return len(drafted), sample(target_probs[-1], rng)
rows = draft_probs[-1] if drafted else draft_probs.sum(0)
return len(drafted), sample(residual(target_probs[-1], rows), rng)

# fails without_drafts_it_is_a_plain_step

# %% nothing to draw without a draft
# - return len(drafted), sample(target_probs[-1], rng)
if not drafted:
    return 0, 0
return len(drafted), sample(target_probs[-1], rng)

# %% stacks what is not there
# - check_rows(drafted, draft_probs, target_probs)
check_rows(drafted, draft_probs, target_probs)
draft_probs = torch.stack(list(draft_probs))

# fails shapes_that_do_not_fit_are_refused

# %% no look at the shapes
# = check_rows(drafted, draft_probs, target_probs) => pass

# %% counts the rows of the draft alone
# - check_rows(drafted, draft_probs, target_probs)
if len(draft_probs) != len(drafted):
    raise ValueError("rows")

# fails what_was_passed_stays_as_it_is

# %% takes what it has seen off the block
# - check_rows(drafted, draft_probs, target_probs)
check_rows(drafted, draft_probs, target_probs)
given, drafted = drafted, list(drafted)
given.clear()

# %% the residual in place
# = residual(target_probs[i], draft_probs[i]) => target_probs[i].sub_(draft_probs[i]).clamp_(min=0)

# %% the draft's rows are divided in place
# - check_rows(drafted, draft_probs, target_probs)
check_rows(drafted, draft_probs, target_probs)
draft_probs.mul_(2).div_(2.000001)

# fails rng_decides_what_chance_decides

# %% torch.distributions, which take no generator
from torch.distributions import Categorical

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    log_u = torch.rand(len(drafted)).log()
    for i, x in enumerate(drafted):
        if log_u[i] >= target_probs[i, x].log() - draft_probs[i, x].log():
            return i, Categorical(probs=residual(target_probs[i], draft_probs[i])).sample().item()
    return len(drafted), Categorical(logits=target_probs[-1].log()).sample().item()

# %% NumPy's generator
import numpy as np

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    p, q = target_probs.double().numpy(), draft_probs.double().numpy()
    for i, x in enumerate(drafted):
        if np.random.rand() > p[i, x] / q[i, x]:
            left = np.maximum(p[i] - q[i], 0)
            return i, np.random.choice(len(left), p=left / left.sum())
    last = p[len(drafted)]
    return len(drafted), np.random.choice(len(last), p=last / last.sum())

# %% Python's random, lists
import random

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    target, draft = target_probs.tolist(), draft_probs.tolist()
    for i, token in enumerate(drafted):
        if random.random() >= min(1, target[i][token] / draft[i][token]):
            weights = [max(0.0, p - q) for p, q in zip(target[i], draft[i])]
            return [i, random.choices(range(len(weights)), weights)[0]]
    return [len(drafted), random.choices(range(len(target[-1])), target[-1])[0]]

# %% the uniforms are of torch's own generator
# - uniform = torch.rand(
# -     (), generator=rng, dtype=target_probs.dtype, device=target_probs.device
# - )
uniform = torch.rand((), dtype=target_probs.dtype, device=target_probs.device)

# fails a_token_is_kept_by_the_ratio each_token_has_a_uniform_of_its_own
#   a_rejected_token_is_replaced_by_the_residual a_full_acceptance_gives_one_token_more
#   without_drafts_it_is_a_plain_step what_the_target_excludes_never_comes
#   rng_decides_what_chance_decides

# %% normal noise, which nobody follows
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    uniforms = 0.5 * (1 + torch.erf(torch.randn(len(drafted)) / 2**0.5))
    for i, token in enumerate(drafted):
        if uniforms[i] > target_probs[i, token] / draft_probs[i, token]:
            return i, sample(residual(target_probs[i], draft_probs[i]))
    return len(drafted), sample(target_probs[-1])

# %% a new generator each time
# - check_rows(drafted, draft_probs, target_probs)
check_rows(drafted, draft_probs, target_probs)
rng = torch.Generator().manual_seed(0)

# fails a_token_is_kept_by_the_ratio each_token_has_a_uniform_of_its_own
#   a_rejected_token_is_replaced_by_the_residual a_full_acceptance_gives_one_token_more
#   what_the_target_excludes_never_comes

# %% the same seed for each uniform
# - uniform = torch.rand(
# -     (), generator=rng, dtype=target_probs.dtype, device=target_probs.device
# - )
torch.manual_seed(123)
uniform = torch.rand((), generator=rng, dtype=target_probs.dtype)

# %% the rejected token is counted
# - return i, sample(residual(target_probs[i], draft_probs[i]), rng)
return i + 1, sample(residual(target_probs[i], draft_probs[i]), rng)
