"""Wrong answers to `Request`: edits of the reference, or the whole answer."""

# fails a_new_request_is_queued

# %% in prefill as soon as it comes
# = self.state = "queued" => self.state = "prefill"

# %% a name for its place
# = self.id, self.input_length => self.request_id, self.input_length

# fails every_token_is_kept_in_order the_last_allowed_token_makes_it_done
#   the_end_of_text_makes_it_done

# %% one list for all of them
# - def __init__(self, fields: dict, max_length: int) -> None:
# -     self.id, self.input_length = fields["id"], fields["input_length"]
def __init__(self, fields, max_length, tokens=[]):
    self.id, self.input_length = fields["id"], fields["input_length"]

# - self.state = "queued"
# - self.tokens: list[int] = []
self.state, self.tokens = "queued", tokens

# fails a_wish_is_kept_within_max_length without_a_wish_max_length_is_the_limit
#   the_last_allowed_token_makes_it_done

# %% the prompt does not count
# = max_length - self.input_length => max_length

# fails a_wish_is_kept_within_max_length the_last_allowed_token_makes_it_done

# %% the wish alone
# = min(room, wanted) => wanted

# fails a_wish_is_kept_within_max_length

# %% a wish for nothing is none
# = wanted is None => not wanted

# fails without_a_wish_max_length_is_the_limit

# %% no limit is known without a wish
# = len(self.tokens) >= self.limit => len(self.tokens) >= min(self.room, self.limit)

# - self.limit = room if wanted is None else min(room, wanted)
self.room, self.limit = room, max_length if wanted is None else min(room, wanted)

# fails without_a_wish_max_length_is_the_limit the_last_allowed_token_makes_it_done

# %% a default where nothing is said
# = room if wanted is None else min(room, wanted) => 16 if wanted is None else min(room, wanted)

# fails the_size_is_prompt_and_limit

# %% what it holds so far
# = self.input_length + self.limit => self.input_length + len(self.tokens)

# %% always the longest possible
# = self.state = "queued" => self.state, self.max_length = "queued", max_length
# = self.input_length + self.limit => self.max_length

# %% a method, not a property
# - @property

# fails every_token_is_kept_in_order

# %% the end-of-text token is dropped
# = self.tokens.append(token) => self.tokens += [token] if token != eos else []

# %% newest first
# = self.tokens.append(token) => self.tokens.insert(0, token)

# fails the_last_allowed_token_makes_it_done

# %% the token of the prefill does not count
# = len(self.tokens) >= self.limit => len(self.tokens) - 1 >= self.limit

# fails the_last_allowed_token_makes_it_done the_end_of_text_makes_it_done

# %% one token too few
# = len(self.tokens) >= self.limit => len(self.tokens) >= max(1, self.limit - 1)

# %% the prompt counts as new
# = len(self.tokens) => self.input_length + len(self.tokens)

# fails the_end_of_text_makes_it_done

# %% the end of text is not looked for
# = token == eos or len(self.tokens) >= self.limit => len(self.tokens) >= self.limit

# %% the first token is never looked at
# = token == eos => (token == eos and len(self.tokens) > 1)

# fails no_token_takes_a_state_back

# %% undone by a further token
# - if token == eos or len(self.tokens) >= self.limit:
# -     self.state = "done"
if token == eos or len(self.tokens) >= self.limit:
    self.state = "done"
else:
    self.state = "decode"

# %% in prefill with every token
# - self.tokens.append(token)
self.tokens.append(token)
self.state = "prefill"

# fails every_token_is_kept_in_order the_last_allowed_token_makes_it_done

# %% a token that came already is not kept again
# = self.tokens.append(token) => self.tokens += [token] if token not in self.tokens else []

# fails the_end_of_text_makes_it_done

# %% done only if limit and not eos at the limit
# = token == eos or len(self.tokens) >= self.limit => (token == eos) != (len(self.tokens) >= self.limit)
