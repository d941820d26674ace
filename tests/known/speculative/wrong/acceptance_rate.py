"""Wrong answers to `acceptance_rate`: edits of the reference, or the whole answer."""

# fails what_was_not_examined_does_not_count

# %% accepted over drafted
# = block.examined => block.n_drafted

# fails what_was_not_examined_does_not_count every_examined_token_weighs_the_same
#   a_plain_step_examines_nothing

# %% over the longest block
# - n_examined = sum(block.examined for block in blocks)
n_examined = len(blocks) * max((b.n_drafted for b in blocks), default=0)

# fails a_block_accepted_whole_has_no_rejected_token a_plain_step_examines_nothing
#   without_trials_there_is_no_rate

# %% a rejected token in every block
# = block.examined => block.n_accepted + 1

# fails a_block_accepted_whole_has_no_rejected_token

# %% a rejected token in every block with drafts
# = block.examined => block.n_accepted + (block.n_drafted > 0)

# %% whole blocks left out
# - n_examined = sum(block.examined for block in blocks)
blocks = [block for block in blocks if block.n_accepted < block.n_drafted]
n_examined = sum(block.examined for block in blocks)

# fails what_was_not_examined_does_not_count a_block_accepted_whole_has_no_rejected_token
#   every_examined_token_weighs_the_same a_plain_step_examines_nothing
#   without_trials_there_is_no_rate

# %% the target's token as an accepted one
# = (block.n_accepted for block in blocks) => (block.n_accepted + 1 for block in blocks)

# %% blocks that are accepted whole
# - return sum(block.n_accepted for block in blocks) / n_examined
return sum(b.n_accepted == b.n_drafted for b in blocks) / len(blocks)

# fails a_block_accepted_whole_has_no_rejected_token a_plain_step_examines_nothing

# %% the token after a whole block as an accepted one
# - return sum(block.n_accepted for block in blocks) / n_examined
return sum(block.n_accepted + (block.n_accepted == block.n_drafted) for block in blocks) / n_examined

# fails every_examined_token_weighs_the_same

# %% a mean over blocks
# - return sum(block.n_accepted for block in blocks) / n_examined
rates = [block.n_accepted / block.examined for block in blocks if block.examined]
return sum(rates) / len(rates)

# %% a mean over prompts
# - return sum(block.n_accepted for block in blocks) / n_examined
prompts = {block.prompt_id for block in blocks if block.examined}
rates = []
for prompt in prompts:
    own = [block for block in blocks if block.prompt_id == prompt]
    rates.append(sum(b.n_accepted for b in own) / sum(b.examined for b in own))
return sum(rates) / len(rates)

# fails a_plain_step_examines_nothing without_trials_there_is_no_rate

# %% a plain step as a rejection
# = block.examined => max(1, block.examined)

# fails a_plain_step_examines_nothing

# %% a plain step as half an acceptance
# - return sum(block.n_accepted for block in blocks) / n_examined
n_plain = sum(block.n_drafted == 0 for block in blocks)
return (sum(b.n_accepted for b in blocks) + n_plain / 2) / (n_examined + n_plain)

# fails without_trials_there_is_no_rate

# %% nothing is 0
# = raise ValueError("no drafted token was examined, so there is no acceptance rate") => return 0.0

# %% divides by nothing
# = n_examined == 0 => n_examined < 0
