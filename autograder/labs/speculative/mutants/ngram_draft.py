"""Wrong answers to `ngram_draft`: edits of the reference, or the whole answer."""

# fails what_followed_is_copied the_longest_match_comes_first fewer_tokens_are_looked_for_then
#   the_earliest_place_counts the_copy_ends_with_the_text
#   where_nothing_is_found_nothing_is_drafted no_tokens_wanted_or_compared_is_refused

# %% the tokens that agreed are copied too
# - return tokens[start + n : start + n + gamma]
return tokens[start : start + gamma]

# %% gamma is where the copy ends
# - return tokens[start + n : start + n + gamma]
return tokens[start + n : gamma]

# fails what_followed_is_copied the_longest_match_comes_first fewer_tokens_are_looked_for_then
#   the_earliest_place_counts where_nothing_is_found_nothing_is_drafted
#   no_tokens_wanted_or_compared_is_refused

# %% all that follows
# - return tokens[start + n : start + n + gamma]
return tokens[start + n :]

# fails what_followed_is_copied

# %% the end of the text is 0
# - return tokens[start + n : start + n + gamma]
copied = tokens[start + n : start + n + gamma]
return copied[: copied.index(0)] if 0 in copied else copied

# fails the_longest_match_comes_first

# %% the shortest match first
# - for n in range(min(longest, len(tokens) - 1), 0, -1):
# -     for start in range(len(tokens) - n):
# -         if tokens[start : start + n] == tokens[-n:]:
# -             return tokens[start + n : start + n + gamma]
for n in range(1, min(longest, len(tokens) - 1) + 1):
    for start in range(len(tokens) - n):
        if tokens[start : start + n] == tokens[-n:]:
            return tokens[start + n : start + n + gamma]

# %% the last token alone
# - for n in range(min(longest, len(tokens) - 1), 0, -1):
# -     for start in range(len(tokens) - n):
# -         if tokens[start : start + n] == tokens[-n:]:
# -             return tokens[start + n : start + n + gamma]
for n in range(1 if len(tokens) > 1 else 0, 0, -1):
    for start in range(len(tokens) - n):
        if tokens[start : start + n] == tokens[-n:]:
            return tokens[start + n : start + n + gamma]

# fails fewer_tokens_are_looked_for_then

# %% so many or nothing
# - for n in range(min(longest, len(tokens) - 1), 0, -1):
# -     for start in range(len(tokens) - n):
# -         if tokens[start : start + n] == tokens[-n:]:
# -             return tokens[start + n : start + n + gamma]
for n in [min(longest, (len(tokens) + 1) // 2)]:
    for start in range(len(tokens) - n):
        if tokens[start : start + n] == tokens[-n:]:
            return tokens[start + n : start + n + gamma]

# %% finds itself
# - for start in range(len(tokens) - n):
# -     if tokens[start : start + n] == tokens[-n:]:
# -         return tokens[start + n : start + n + gamma]
for start in range(len(tokens) - n + 1):
    if tokens[start : start + n] == tokens[-n:]:
        return tokens[start + n : start + n + gamma]

# fails what_followed_is_copied fewer_tokens_are_looked_for_then

# %% two at least
# - for n in range(min(longest, len(tokens) - 1), 0, -1):
# -     for start in range(len(tokens) - n):
# -         if tokens[start : start + n] == tokens[-n:]:
# -             return tokens[start + n : start + n + gamma]
for n in range(min(longest, len(tokens) - 1), 1, -1):
    for start in range(len(tokens) - n):
        if tokens[start : start + n] == tokens[-n:]:
            return tokens[start + n : start + n + gamma]

# fails the_earliest_place_counts

# %% the latest place
# - for start in range(len(tokens) - n):
# -     if tokens[start : start + n] == tokens[-n:]:
# -         return tokens[start + n : start + n + gamma]
for start in reversed(range(len(tokens) - n)):
    if tokens[start : start + n] == tokens[-n:]:
        return tokens[start + n : start + n + gamma]

# %% as many tokens as agree
# - for n in range(min(longest, len(tokens) - 1), 0, -1):
# -     for start in range(len(tokens) - n):
# -         if tokens[start : start + n] == tokens[-n:]:
# -             return tokens[start + n : start + n + gamma]
for n in range(len(tokens) - 1, 0, -1):
    for start in range(len(tokens) - n):
        if tokens[start : start + n] == tokens[-n:]:
            return tokens[start + n : start + n + gamma]

# fails the_copy_ends_with_the_text

# %% copies on from its own copy
# - return tokens[start + n : start + n + gamma]
period = tokens[start + n :]
return [period[i % len(period)] for i in range(gamma)]

# %% only where gamma tokens follow
# - for start in range(len(tokens) - n):
# -     if tokens[start : start + n] == tokens[-n:]:
# -         return tokens[start + n : start + n + gamma]
for start in range(len(tokens) - n - gamma + 1):
    if tokens[start : start + n] == tokens[-n:]:
        return tokens[start + n : start + n + gamma]

# fails where_nothing_is_found_nothing_is_drafted

# %% the last token once more
# - return []
return tokens[-1:]

# %% None for nothing
# - return []
return None

# %% an error for nothing
# - return []
raise ValueError("there is no such place")

# fails no_tokens_wanted_or_compared_is_refused

# %% no gamma is no draft
# - if gamma < 1 or longest < 1:
# -     raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")
if gamma < 1 or longest < 1:
    return []
if False:
    raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")

# %% nothing to compare is allowed
# - if gamma < 1 or longest < 1:
# -     raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")
if gamma < 1:
    raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")

# %% a gamma of 0 is allowed
# - if gamma < 1 or longest < 1:
# -     raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")
if gamma < 0 or longest < 1:
    raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")
