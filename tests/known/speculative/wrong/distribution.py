"""Wrong answers to `distribution`: edits of the reference, or the whole answer."""

# fails the_temperature_divides_the_logits

# %% times the temperature
# = (logits - largest) / temperature => (logits - largest) * temperature

# %% exp without taking off the largest
# - probs = torch.softmax((logits - largest) / temperature, dim=-1)
probs = (logits / temperature).exp()
probs = probs / probs.sum(-1, keepdim=True)

# fails temperature_zero_is_certain of_equal_logits_the_first_is_certain

# %% temperature 0 is taken for 1
# - return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
temperature = 1

# fails of_equal_logits_the_first_is_certain

# %% temperature 0 is a very small one
# - if temperature == 0:
# -     return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
temperature = max(temperature, 1e-4)

# fails temperature_zero_is_certain of_equal_logits_the_first_is_certain
#   a_forbidden_token_has_probability_zero

# %% the smallest at temperature 0
# = logits.argmax(-1, keepdim=True) => logits.argmin(-1, keepdim=True)

# fails temperature_zero_is_certain

# %% the others get 0 at temperature 0, the largest no more than it had
# - return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
top = logits.softmax(-1).amax(-1, keepdim=True)
return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), top)

# fails top_k_and_top_p_follow_the_temperature

# %% neither top-k nor top-p
# = keep_top(probs, top_k, top_p) => probs

# %% no top-p
# = keep_top(probs, top_k, top_p) => keep_top(probs, top_k)

# %% no top-k
# = keep_top(probs, top_k, top_p) => keep_top(probs, None, top_p)

# %% top-p before top-k
# = keep_top(probs, top_k, top_p) => keep_top(keep_top(probs, None, top_p), top_k)

# %% one token too many
# = keep_top(probs, top_k, top_p) => keep_top(probs, top_k and top_k + 1, top_p)

# %% temperature last
# = (logits - largest) / temperature => logits - largest

# - return keep_top(probs, top_k, top_p)
return torch.softmax(keep_top(probs, top_k, top_p).log() / temperature, dim=-1)

# %% top-k without making up for what is cut
# - return keep_top(probs, top_k, top_p)
return torch.where(keep_top(probs, top_k, top_p) > 0, probs, 0.0)

# %% no temperature with top_k
# = (logits - largest) / temperature => (logits - largest) / (temperature if top_k is None else 1)

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

# fails half_precision_is_computed_in_single

# %% whole numbers at temperature 0
# = torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0) => torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0).long()

# fails logits_without_a_largest_are_refused

# %% one finite row is enough
# = not torch.isfinite(largest).all() => not torch.isfinite(largest).any()

# fails a_forbidden_token_has_probability_zero

# %% -inf gets a little
# = torch.softmax((logits - largest) / temperature, dim=-1) => torch.softmax(((logits - largest) / temperature).clamp(min=-30), dim=-1)
