"""Wrong answers to `generate_fixed`: edits of the reference, or the whole answer."""

# fails the_new_tokens_alone_come_back

# %% the prompt comes back too
# = generated[:, tokens.shape[1] :] => generated

# %% the first n_new columns
# = generated[:, tokens.shape[1] :] => generated[:, :n_new]

# %% one token too few
# = generated[:, tokens.shape[1] :] => generated[:, tokens.shape[1] + 1 :]

# %% the first sequence only
# = generated[:, tokens.shape[1] :] => generated[:1, tokens.shape[1] :]

# fails end_of_text_cannot_end_a_run

# %% a largest length alone
# = {"min_new_tokens": n_new, "max_new_tokens": n_new} => {"max_new_tokens": n_new}

# %% a smallest length that counts the prompt
# - lengths = {"min_new_tokens": n_new, "max_new_tokens": n_new}
lengths = {"min_length": n_new, "max_new_tokens": n_new}

# fails every_token_of_the_prompt_is_seen

# %% no attention mask
# - generated = model.generate(tokens, attention_mask=everything, do_sample=False, **lengths)
generated = model.generate(tokens, do_sample=False, **lengths)

# %% a mask made from the padding
# = torch.ones_like(tokens) => (tokens != model.config.pad_token_id).long()

# fails decoding_is_greedy

# %% samples, as the model's settings say
# - generated = model.generate(tokens, attention_mask=everything, do_sample=False, **lengths)
generated = model.generate(tokens, attention_mask=everything, **lengths)

# %% beams
# - generated = model.generate(tokens, attention_mask=everything, do_sample=False, **lengths)
generated = model.generate(tokens, attention_mask=everything, do_sample=False, num_beams=4, **lengths)

# %% without a cache
# - generated = model.generate(tokens, attention_mask=everything, do_sample=False, **lengths)
generated = model.generate(tokens, attention_mask=everything, do_sample=False, use_cache=False, **lengths)

# fails the_prompt_goes_in_unchanged

# %% padding replaced in the prompt
# - generated = model.generate(tokens, attention_mask=everything, do_sample=False, **lengths)
generated = model.generate(tokens.masked_fill(tokens == model.config.pad_token_id, 0), attention_mask=everything, do_sample=False, **lengths)

# fails the_new_tokens_alone_come_back end_of_text_cannot_end_a_run
#   every_token_of_the_prompt_is_seen decoding_is_greedy the_prompt_goes_in_unchanged

# %% random tokens, no model
def generate_fixed(model, tokens, n_new):
    return torch.randint(40, (tokens.shape[0], n_new))
