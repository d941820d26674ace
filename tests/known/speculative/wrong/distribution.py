"""Wrong answers to `distribution`: edits of the reference, or the whole answer."""

# fails the_temperature_divides_the_logits

# %% times the temperature
# = (logits - largest) / temperature => (logits - largest) * temperature

# %% exp without taking off the largest
# - probs = torch.softmax((logits - largest) / temperature, dim=-1)
probs = (logits / temperature).exp()
probs = probs / probs.sum(-1, keepdim=True)

# fails temperature_zero_is_certain of_equal_tokens_the_first_are_kept

# %% temperature 0 is taken for 1
# - return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
temperature = 1

# fails of_equal_tokens_the_first_are_kept

# %% temperature 0 is a very small one
# - if temperature == 0:
# -     return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
temperature = max(temperature, 1e-4)

# %% all that are as likely as the last one kept
# = ranked[..., top_k:] => ranked[ranked < ranked[..., [min(top_k, ranked.shape[-1]) - 1]]]

# fails temperature_zero_is_certain of_equal_tokens_the_first_are_kept
#   a_forbidden_token_has_probability_zero

# %% the smallest at temperature 0
# = logits.argmax(-1, keepdim=True) => logits.argmin(-1, keepdim=True)

# fails temperature_zero_is_certain

# %% the others get 0 at temperature 0, the largest no more than it had
# - return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
top = logits.softmax(-1).amax(-1, keepdim=True)
return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), top)

# fails top_k_keeps_the_most_likely temperature_then_top_k_then_top_p

# %% top-k without making up for what is cut
# - ranked[..., top_k:] = 0
# - ranked /= ranked.sum(-1, keepdim=True)
ranked[..., top_k:] = 0

# fails top_k_keeps_the_most_likely of_equal_tokens_the_first_are_kept

# %% one token too many
# = ranked[..., top_k:] => ranked[..., top_k + 1 :]

# fails top_k_keeps_the_most_likely

# %% top_k fails where there are fewer tokens
# - ranked[..., top_k:] = 0
# - ranked /= ranked.sum(-1, keepdim=True)
ranked[..., top_k:] = 0
ranked /= ranked.sum(-1, keepdim=True)
if top_k > probs.shape[-1]:
    raise ValueError("too many")

# fails top_p_keeps_the_fewest_that_reach_it of_equal_tokens_the_first_are_kept

# %% the token that reaches top_p is cut
# = mass_before >= top_p => mass_before + ranked >= top_p

# %% top_p as the least probability
# = mass_before >= top_p => ranked < top_p * ranked.amax(-1, keepdim=True)

# fails top_p_keeps_the_fewest_that_reach_it

# %% top-p without making up for what is cut
# - ranked[mass_before >= top_p] = 0
# - ranked /= ranked.sum(-1, keepdim=True)
ranked[mass_before >= top_p] = 0

# fails temperature_then_top_k_then_top_p

# %% top-p counts what top-k has cut
# - mass_before = ranked.cumsum(-1) - ranked
full = probs.sort(dim=-1, descending=True, stable=True).values
mass_before = full.cumsum(-1) - full

# %% temperature last
# = (logits - largest) / temperature => logits - largest

# - if top_k is None and top_p is None:
# -     return probs

# - return torch.zeros_like(probs).scatter(-1, order, ranked)
ranked = torch.softmax(ranked.log() / temperature, dim=-1)
return torch.zeros_like(probs).scatter(-1, order, ranked)

# fails each_row_is_a_distribution

# %% softmax over the rows
# - probs = torch.softmax((logits - largest) / temperature, dim=-1)
probs = torch.softmax((logits - largest) / temperature, dim=-0)

# %% one largest token for all rows
# - return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
return (torch.arange(logits.numel()) == logits.argmax()).reshape(logits.shape).to(logits)

# fails a_forbidden_token_has_probability_zero

# %% refuses every infinite logit
# = torch.isfinite(largest) => torch.isfinite(logits)

# %% a finite number for minus infinity
# = (logits - largest) => (logits - largest).nan_to_num(neginf=-5.0)

# fails half_precision_is_computed_in_single

# %% in the dtype that came
# = logits = logits if logits.dtype == torch.float64 else logits.float() => pass

# %% in single precision always
# = logits if logits.dtype == torch.float64 else logits.float() => logits.float()

# fails the_logits_stay_as_they_are

# %% divided in place
# = (logits - largest) / temperature => logits.sub_(largest).div_(temperature)

# fails settings_without_a_meaning_are_refused

# %% any setting will do
# = check_sampling(temperature, top_k, top_p) => pass

# fails logits_without_a_largest_are_refused

# %% NaN is repaired
# - largest = logits.amax(-1, keepdim=True)
logits = logits.nan_to_num(nan=0.0, neginf=-torch.inf, posinf=1e9)
largest = logits.amax(-1, keepdim=True)

# %% NaN alone is refused
# = not torch.isfinite(largest).all() => largest.isnan().any()

# fails top_p_keeps_the_fewest_that_reach_it

# %% top_p exactly reached keeps one more
# = mass_before >= top_p => mass_before > top_p

# fails half_precision_is_computed_in_single

# %% whole numbers at temperature 0
# = torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0) => torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0).long()

# fails logits_without_a_largest_are_refused

# %% one finite row is enough
# = not torch.isfinite(largest).all() => not torch.isfinite(largest).any()

# fails temperature_then_top_k_then_top_p

# %% no temperature with top_k
# = (logits - largest) / temperature => (logits - largest) / (temperature if top_k is None else 1)

# fails a_forbidden_token_has_probability_zero

# %% -inf gets a little
# = torch.softmax((logits - largest) / temperature, dim=-1) => torch.softmax(((logits - largest) / temperature).clamp(min=-30), dim=-1)
