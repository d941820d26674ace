"""Wrong answers to `verify_batch`: edits of the reference, or the whole answer."""

# fails each_row_has_the_law_that_it_has_alone

# %% all that were accepted count
# = accepted.long().cumprod(dim=1).sum(dim=1) => accepted.long().sum(dim=1)

# %% the target for all
# = residual(target_probs[index, n_kept], padded[index, n_kept]) => target_probs[index, n_kept]

# fails each_row_has_the_law_that_it_has_alone a_row_ends_where_its_draft_ends

# %% the residual of the first row for all
# = padded[index, n_kept] => padded[0, n_kept]

# %% a full acceptance draws from a residual too
# - nothing = torch.zeros_like(target_probs[:, :1])
nothing = draft_probs.new_full((n_rows, 1, target_probs.shape[-1]), 0.2)

# fails rows_do_not_share_their_luck

# %% the same uniforms for all rows
# - uniforms = torch.rand(
# -     n_rows, k, generator=rng, dtype=target_probs.dtype, device=target_probs.device
# - )
uniforms = torch.rand(
    1, k, generator=rng, dtype=target_probs.dtype, device=target_probs.device
)

# %% one number decides all draws
# - return n_kept, torch.multinomial(left, 1, generator=rng)[:, 0]
left = left / left.sum(-1, keepdim=True)
tokens = (left.cumsum(-1)[:, :-1] <= torch.rand((), generator=rng).double()).sum(-1)
return n_kept, tokens

# fails a_row_ends_where_its_draft_ends

# %% what was not drafted may be kept
# = (uniforms < ratios) & is_drafted => uniforms < ratios

# %% what was not drafted counts as rejected
# = draft_probs.where(is_drafted[..., None], 0) => draft_probs

# %% not without any draft
# - n_rows, k = drafted.shape
n_rows, k = drafted.shape
drafted.amax(dim=1)

# fails the_answer_is_one_whole_number_per_row

# %% tokens as a column
# = torch.multinomial(left, 1, generator=rng)[:, 0] => torch.multinomial(left, 1, generator=rng)

# %% floats
# - return n_kept, torch.multinomial(left, 1, generator=rng)[:, 0]
return n_kept.float(), torch.multinomial(left, 1, generator=rng)[:, 0]

# fails the_batch_stays_as_it_is

# %% the draft is cleared in place
# = draft_probs.where(is_drafted[..., None], 0) => draft_probs.mul_(is_drafted[..., None])

# %% the padding is overwritten
# - accepted = (uniforms < ratios) & is_drafted
drafted.masked_fill_(~is_drafted, -1)
accepted = (uniforms < ratios) & is_drafted

# fails rng_decides_about_all_rows

# %% NumPy's generator
import numpy as np

def verify_batch(drafted, n_drafted, draft_probs, target_probs, rng=None):
    source = np.random.default_rng()
    kept, after = [], []
    rows = zip(drafted.tolist(), n_drafted.tolist(), draft_probs, target_probs)
    for tokens, k, draft, target in rows:
        n = 0
        while n < k and source.random() < float(target[n, tokens[n]] / draft[n, tokens[n]]):
            n += 1
        probs = (target[n] if n == k else residual(target[n], draft[n])).double().numpy()
        kept.append(n)
        after.append(source.choice(len(probs), p=probs / probs.sum()))
    return np.array(kept), np.array(after)

# fails the_answer_is_one_whole_number_per_row

# %% int32
# = return n_kept, torch.multinomial(left, 1, generator=rng)[:, 0] => return n_kept.int(), torch.multinomial(left, 1, generator=rng)[:, 0].int()
