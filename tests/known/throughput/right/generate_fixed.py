"""Right answers to `generate_fixed`, written differently."""

# %% by keyword, a mask of full ones, the last columns
def generate_fixed(model, tokens, n_new):
    with torch.inference_mode():
        made = model.generate(
            inputs=tokens,
            attention_mask=torch.full(tokens.shape, 1, dtype=torch.long),
            max_new_tokens=n_new,
            min_new_tokens=n_new,
            do_sample=False,
            num_beams=1,
            use_cache=True,
        )
    return made[:, -n_new:]

# %% lengths that count the prompt
def generate_fixed(model, tokens, n_new):
    total = tokens.shape[1] + n_new
    mask = torch.ones(tokens.shape, dtype=torch.bool)
    made = model.generate(
        input_ids=tokens, attention_mask=mask, min_length=total, max_length=total, do_sample=False
    )
    return made[:, tokens.shape[-1] :]

# %% an end-of-text token that no model makes
def generate_fixed(model, tokens, n_new):
    settings = dict(max_new_tokens=n_new, eos_token_id=-1, do_sample=False, temperature=None)
    everything = model.generate(tokens, attention_mask=torch.ones_like(tokens), **settings)
    return everything.narrow(1, tokens.size(1), n_new)

# %% a GenerationConfig
from transformers import GenerationConfig

def generate_fixed(model, tokens, n_new):
    config = GenerationConfig(max_new_tokens=n_new, min_new_tokens=n_new, do_sample=False)
    output = model.generate(
        tokens, generation_config=config, attention_mask=torch.ones_like(tokens)
    )
    return output[:, tokens.shape[1] :]

# %% the output in an object
def generate_fixed(model, tokens, n_new):
    output = model.generate(
        input_ids=tokens,
        attention_mask=torch.ones_like(tokens),
        max_new_tokens=n_new,
        min_new_tokens=n_new,
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=False,
    )
    assert output["sequences"].shape == output[0].shape
    return output.sequences[:, tokens.shape[1] :]
