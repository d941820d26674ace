"""Wrong answers to `ngram_draft`: edits of the reference, or the whole answer."""

# fails what_followed_is_copied the_longest_match_comes_first fewer_tokens_are_looked_for_then
#   the_earliest_place_counts the_copy_ends_with_the_text
#   where_nothing_is_found_nothing_is_drafted no_tokens_wanted_or_compared_is_refused

# %% the tokens that agreed are copied too
# = tokens[start + n : start + n + gamma] => tokens[start : start + gamma]

# %% gamma is where the copy ends
# = start + n + gamma => gamma

# fails what_followed_is_copied the_longest_match_comes_first fewer_tokens_are_looked_for_then
#   the_earliest_place_counts where_nothing_is_found_nothing_is_drafted
#   no_tokens_wanted_or_compared_is_refused

# %% all that follows
# = tokens[start + n : start + n + gamma] => tokens[start + n :]

# fails what_followed_is_copied

# %% the end of the text is 0
# - return tokens[start + n : start + n + gamma]
copied = tokens[start + n : start + n + gamma]
return copied[: copied.index(0)] if 0 in copied else copied

# fails the_longest_match_comes_first

# %% the shortest match first
# = range(min(longest, len(tokens) - 1), 0, -1) => range(1, min(longest, len(tokens) - 1) + 1)

# %% the last token alone
# = min(longest, len(tokens) - 1) => 1 if len(tokens) > 1 else 0

# fails fewer_tokens_are_looked_for_then

# %% a short text has no match
# - tokens = list(tokens)
tokens = list(tokens)
if len(tokens) <= longest:
    return []

# %% so many or nothing
# = range(min(longest, len(tokens) - 1), 0, -1) => [min(longest, (len(tokens) + 1) // 2)]

# %% finds itself
# = len(tokens) - n => len(tokens) - n + 1

# fails what_followed_is_copied fewer_tokens_are_looked_for_then

# %% two at least
# = range(min(longest, len(tokens) - 1), 0, -1) => range(min(longest, len(tokens) - 1), 1, -1)

# fails the_earliest_place_counts

# %% the latest place
# = range(len(tokens) - n) => reversed(range(len(tokens) - n))

# %% as many tokens as agree
# = min(longest, len(tokens) - 1) => len(tokens) - 1

# fails the_copy_ends_with_the_text

# %% copies on from its own copy
# - return tokens[start + n : start + n + gamma]
period = tokens[start + n :]
return [period[i % len(period)] for i in range(gamma)]

# %% only where gamma tokens follow
# = len(tokens) - n => len(tokens) - n - gamma + 1

# fails where_nothing_is_found_nothing_is_drafted

# %% the last token once more
# = return [] => return tokens[-1:]

# %% None for nothing
# = return [] => return None

# %% an error for nothing
# = return [] => raise ValueError("there is no such place")

# fails no_tokens_wanted_or_compared_is_refused

# %% no gamma is no draft
# - if gamma < 1 or longest < 1:
# -     raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")
if gamma < 1 or longest < 1:
    return []
if False:
    raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")

# %% nothing to compare is allowed
# = if gamma < 1 or longest < 1: => if gamma < 1:

# %% refused only where something is found
# - if gamma < 1 or longest < 1:
# -     raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")
# = if tokens[start : start + n] == tokens[-n:]: => if tokens[start : start + n] == tokens[-n:] and check(gamma):
def check(gamma):
    if gamma < 1:
        raise ValueError("gamma")
    return True
if longest < 1:
    raise ValueError("longest")

# %% a gamma of 0 is allowed
# = if gamma < 1 or longest < 1: => if gamma < 0 or longest < 1:

# fails where_nothing_is_found_nothing_is_drafted

# %% an empty text fails
# - tokens = list(tokens)
tokens = list(tokens)
last = tokens[-1]

# fails what_followed_is_copied

# %% the last 64 tokens
# - tokens = list(tokens)
tokens = list(tokens)[-64:]

# fails the_copy_ends_with_the_text

# %% at most 8
# = start + n + gamma => start + n + min(gamma, 8)
