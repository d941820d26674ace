"""Wrong answers of lab 4, as students give them: attention, step, loop and count."""

from autograder.labs.kv_cache.mutants.arena import ARENA
from autograder.labs.kv_cache.mutants.paged import PAGED
from autograder.labs.kv_cache.mutants.ring import RING
from autograder.labs.mutants import Mutant

_CONCATENATED = "new_keys_follow_the_cached_ones"
_SEES = "queries_see_the_past_and_not_their_future"
_ONCE = "heads_are_cached_once_per_group"
_UNCHANGED = "nothing_passed_in_is_changed"

_KEYS = "keys = torch.cat([past[0], keys], dim=2)"
_VALUES = "values = torch.cat([past[1], values], dim=2)"
_ROWS = "rows = torch.arange(n_key - n_query, n_key, device=queries.device)"
_MASK = "mask = torch.arange(n_key, device=queries.device) <= rows[:, None]"
_ATTENDED = "return masked_attention(queries, keys, values, mask), (keys, values)"

ATTEND = [
    Mutant(
        "attend_cached",
        "mask rows from 0",
        (_SEES,),
        _ROWS,
        "rows = torch.arange(n_query)",
    ),
    Mutant(
        "attend_cached",
        "no mask: queries see their future",
        (_SEES,),
        _MASK,
        "mask = torch.ones(n_query, n_key, dtype=torch.bool)",
    ),
    Mutant(
        "attend_cached",
        "a query does not see itself",
        (_SEES,),
        _MASK,
        "mask = torch.arange(n_key) <= (rows[:, None] - 1).clamp(min=0)",
    ),
    Mutant(
        "attend_cached",
        "mask one row too low",
        (_SEES,),
        _ROWS,
        "rows = torch.arange(n_key - n_query, n_key) + 1",
    ),
    Mutant(
        "attend_cached",
        "attends to the new tokens only",
        (_SEES,),
        source="""\
def attend_cached(queries, keys, values, past):
    n_new = queries.shape[2]
    attended = masked_attention(queries, keys, values, causal_mask(n_new))
    if past is not None:
        keys = torch.cat([past[0], keys], dim=2)
        values = torch.cat([past[1], values], dim=2)
    return attended, (keys, values)
""",
    ),
    Mutant(
        "attend_cached",
        "returns only the new keys and values",
        (_CONCATENATED,),
        source="""\
def attend_cached(queries, keys, values, past):
    all_keys, all_values = keys, values
    if past is not None:
        all_keys = torch.cat([past[0], keys], dim=2)
        all_values = torch.cat([past[1], values], dim=2)
    n_query, n_key = queries.shape[2], all_keys.shape[2]
    mask = causal_mask(n_key)[n_key - n_query :]
    return masked_attention(queries, all_keys, all_values, mask), (keys, values)
""",
    ),
    Mutant(
        "attend_cached",
        "returns keys and values swapped",
        (_CONCATENATED,),
        "mask), (keys, values)",
        "mask), (values, keys)",
    ),
    Mutant(
        "attend_cached",
        "new tokens before the cached ones",
        (_CONCATENATED, _SEES),
        _KEYS,
        "keys = torch.cat([keys, past[0]], dim=2)",
    ),
    Mutant(
        "attend_cached",
        "adds the new values to the cached ones",
        (_CONCATENATED, _SEES, _ONCE, _UNCHANGED),
        _VALUES,
        "values = past[1] + values",
    ),
    Mutant(
        "attend_cached",
        "caches heads repeated for the query heads",
        (_ONCE,),
        _ATTENDED,
        "group_size = queries.shape[1] // keys.shape[1]\n"
        "    keys = keys.repeat_interleave(group_size, dim=1)\n"
        "    values = values.repeat_interleave(group_size, dim=1)\n"
        "    return masked_attention(queries, keys, values, mask), (keys, values)",
    ),
    Mutant(
        "attend_cached",
        "shares KV heads in turns instead of in groups",
        (_SEES,),
        _ATTENDED,
        "group_size = queries.shape[1] // keys.shape[1]\n"
        "    tiled = (part.repeat(1, group_size, 1, 1) for part in (keys, values))\n"
        "    return masked_attention(queries, *tiled, mask), (keys, values)",
    ),
    Mutant(
        "attend_cached",
        "scales the queries in place",
        (_UNCHANGED,),
        source="""\
def attend_cached(queries, keys, values, past):
    if past is not None:
        keys = torch.cat([past[0], keys], dim=2)
        values = torch.cat([past[1], values], dim=2)
    group_size = queries.shape[1] // keys.shape[1]
    queries *= queries.shape[-1] ** -0.5
    scores = queries @ keys.repeat_interleave(group_size, dim=1).transpose(-2, -1)
    hidden = ~causal_mask(keys.shape[2])[keys.shape[2] - queries.shape[2] :]
    weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    return weights @ values.repeat_interleave(group_size, dim=1), (keys, values)
""",
    ),
    Mutant(
        "attend_cached",
        "empties the old cache to free its memory",
        (_UNCHANGED,),
        _VALUES,
        "values = torch.cat([past[1], values], dim=2)\n        past[0].zero_(), past[1].zero_()",
    ),
]

_POSITIONS = "positions_start_after_the_cached_tokens"
_OWN_PAST = "each_layer_gets_its_own_past"
_ENTRIES = "the_cache_has_one_entry_per_layer"
_LOGITS = "logits_are_those_of_the_uncached_model"

_PAST = "layer_past = None if past is None else past[layer]"

FORWARD = [
    Mutant(
        "forward_cached",
        "positions from 0",
        (_POSITIONS,),
        "positions = torch.arange(n_past, n_past + tokens.shape[1], device=tokens.device)",
        "positions = torch.arange(tokens.shape[1])",
    ),
    Mutant(
        "forward_cached",
        "positions one too high after the prompt",
        (_POSITIONS,),
        "n_past = 0 if past is None else past[0][0].shape[2]",
        "n_past = 0 if past is None else past[0][0].shape[2] + 1",
    ),
    Mutant(
        "forward_cached",
        "counts layers instead of cached tokens",
        (_POSITIONS,),
        "past[0][0].shape[2]",
        "len(past)",
    ),
    Mutant(
        "forward_cached",
        "every layer gets the first layer's past",
        (_OWN_PAST,),
        _PAST,
        "layer_past = None if past is None else past[0]",
    ),
    Mutant(
        "forward_cached",
        "layers get the past in reverse",
        (_OWN_PAST,),
        _PAST,
        "layer_past = None if past is None else past[-1 - layer]",
    ),
    Mutant(
        "forward_cached",
        "the past of a layer is what the layer below has just cached",
        (_OWN_PAST,),
        _PAST,
        "layer_past = cache[-1] if cache else None if past is None else past[0]",
    ),
    Mutant(
        "forward_cached",
        "never passes the past on",
        (_OWN_PAST,),
        _PAST,
        "layer_past = None",
    ),
    Mutant(
        "forward_cached",
        "returns the last layer's cache only",
        (_ENTRIES,),
        "return model.unembed(x), cache",
        "return model.unembed(x), layer_cache",
    ),
    Mutant(
        "forward_cached",
        "returns new keys and values without the cached ones",
        (_ENTRIES,),
        "cache.append(layer_cache)",
        "cache.append((keys, values))",
    ),
    Mutant(
        "forward_cached",
        "appends the new entries behind the old list",
        (_ENTRIES,),
        "cache = []",
        "cache = list(past or [])",
    ),
    Mutant(
        "forward_cached",
        "all blocks read the embedding",
        (_LOGITS,),
        "queries, keys, values = block.project(x)",
        "embedded = x if layer == 0 else embedded\n"
        "        queries, keys, values = block.project(embedded)",
    ),
    Mutant(
        "forward_cached",
        "what attention found does not go through the block",
        (_LOGITS,),
        "x = block.merge(x, attended)",
        "x = x + attended.transpose(1, 2).flatten(2)",
    ),
    Mutant(
        "forward_cached",
        "logits of the last token only",
        (_LOGITS,),
        "return model.unembed(x), cache",
        "return model.unembed(x)[:, -1:], cache",
    ),
]

_CALLS = "one_forward_per_new_token"
_FED = "the_prompt_once_then_single_tokens"
_HANDED_ON = "the_cache_is_handed_on"
_GREEDY = "tokens_continue_the_prompt_greedily"
_SAMPLED = "sampled_tokens_equal_the_uncached_ones"
_CONTEXT = "what_exceeds_the_context_is_refused"

_STEP = "logits, past = forward(fed, past)"
_PICK = "fed = pick(logits[:, -1])[:, None]"
_GROW = "tokens = torch.cat([tokens, fed], dim=1)"
_LIMIT = "n_positions = n_prompt + n_new - 1"

GENERATE = [
    Mutant(
        "generate",
        "one forward too many",
        (_CALLS,),
        "    return tokens\n",
        "    forward(fed, past)\n    return tokens\n",
    ),
    Mutant(
        "generate",
        "prefills even when nothing is wanted",
        (_CALLS,),
        source="""\
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    if n_context is not None and tokens.shape[1] + n_new - 1 > n_context:
        raise ValueError("too long for the context")
    logits, past = forward(tokens, None)
    for i in range(n_new):
        new = pick(logits[:, -1])
        tokens = torch.cat([tokens, new[:, None]], dim=1)
        if i < n_new - 1:
            logits, past = forward(new[:, None], past)
    return tokens
""",
    ),
    Mutant(
        "generate",
        "feeds the whole sequence each step",
        (_FED,),
        _STEP,
        "logits, past = forward(tokens, past)",
    ),
    Mutant(
        "generate",
        "feeds the last two tokens each step",
        (_FED,),
        _STEP,
        "logits, past = forward(tokens if past is None else tokens[:, -2:], past)",
    ),
    Mutant(
        "generate",
        "never hands the cache on",
        (_HANDED_ON,),
        _STEP,
        "logits, past = forward(fed, None)",
    ),
    Mutant(
        "generate",
        "always hands on the prompt's cache",
        (_HANDED_ON,),
        _STEP,
        "logits, cache = forward(fed, past)\n        past = past or cache",
    ),
    Mutant(
        "generate",
        "collects all caches in one list",
        (_HANDED_ON,),
        _STEP,
        "logits, cache = forward(fed, past)\n        past = (past or []) + cache",
    ),
    Mutant(
        "generate",
        "returns the new tokens without the prompt",
        (_GREEDY, _SAMPLED),
        "    return tokens\n",
        "    return tokens[:, tokens.shape[1] - n_new :]\n",
    ),
    Mutant(
        "generate",
        "samples unless told otherwise",
        (_GREEDY,),
        "pick: Pick = greedy",
        "pick: Pick = sampler(torch.Generator())",
    ),
    Mutant(
        "generate",
        "ignores pick",
        (_SAMPLED,),
        _PICK,
        "fed = logits[:, -1].argmax(-1, keepdim=True)",
    ),
    Mutant(
        "generate",
        "picks twice for each token",
        (_SAMPLED,),
        _PICK,
        "fed = pick(logits[:, -1])[:, None]\n        pick(logits[:, -1])",
    ),
    Mutant(
        "generate",
        "picks from the first position's logits",
        (_GREEDY, _SAMPLED),
        _PICK,
        "fed = pick(logits[:, 0])[:, None]",
    ),
    Mutant(
        "generate",
        "gives every row the first row's token",
        (_GREEDY, _SAMPLED),
        _PICK,
        "fed = pick(logits[:, -1])[:1].expand(len(tokens))[:, None]",
    ),
    Mutant(
        "generate",
        "counts a position for the last new token",
        (_CONTEXT,),
        _LIMIT,
        "n_positions = n_prompt + n_new",
    ),
    Mutant(
        "generate",
        "limits the new tokens alone",
        (_CONTEXT,),
        _LIMIT,
        "n_positions = n_new",
    ),
    Mutant(
        "generate",
        "stops at the limit in silence",
        (_CONTEXT,),
        source="""\
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    past, fed = None, tokens
    for _ in range(n_new):
        if n_context is not None and tokens.shape[1] > n_context:
            break
        logits, past = forward(fed, past)
        fed = pick(logits[:, -1])[:, None]
        tokens = torch.cat([tokens, fed], dim=1)
    return tokens
""",
    ),
    Mutant(
        "generate",
        "notices the limit when it is reached",
        (_CONTEXT,),
        source="""\
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    past, fed = None, tokens
    for _ in range(n_new):
        if n_context is not None and tokens.shape[1] > n_context:
            raise ValueError("the context is full")
        logits, past = forward(fed, past)
        fed = pick(logits[:, -1])[:, None]
        tokens = torch.cat([tokens, fed], dim=1)
    return tokens
""",
    ),
]

_ONCE_EACH = "with_a_cache_each_token_counts_once"
_EVERYTHING = "without_a_cache_each_step_counts_everything"
_NOTHING = "no_token_costs_nothing"

_WITH = "return n_prompt + n_new - 1"
_WITHOUT = "return n_new * n_prompt + n_new * (n_new - 1) // 2"

COUNT = [
    Mutant(
        "tokens_processed",
        "feeds the last token too",
        (_ONCE_EACH,),
        _WITH,
        "return n_prompt + n_new",
    ),
    Mutant(
        "tokens_processed",
        "the prompt costs nothing with a cache",
        (_ONCE_EACH,),
        _WITH,
        "return n_new",
    ),
    Mutant(
        "tokens_processed",
        "each step processes the final length",
        (_EVERYTHING,),
        _WITHOUT,
        "return n_new * (n_prompt + n_new)",
    ),
    Mutant(
        "tokens_processed",
        "each step counts the token it makes",
        (_EVERYTHING,),
        _WITHOUT,
        "return n_new * n_prompt + n_new * (n_new + 1) // 2",
    ),
    Mutant(
        "tokens_processed",
        "the prompt is processed only once without a cache",
        (_EVERYTHING,),
        _WITHOUT,
        "return n_prompt + n_new * (n_new - 1) // 2",
    ),
    Mutant(
        "tokens_processed",
        "pairs of tokens instead of tokens",
        (_EVERYTHING,),
        _WITHOUT,
        "return (n_prompt + n_new - 1) ** 2",
    ),
    Mutant(
        "tokens_processed",
        "no new token still costs the prompt",
        (_NOTHING,),
        "if n_new == 0:\n        return 0",
        "if n_new == 0:\n        return n_prompt",
    ),
    Mutant(
        "tokens_processed",
        "the two ways swapped",
        (_ONCE_EACH, _EVERYTHING),
        "if cached:",
        "if not cached:",
    ),
]

MUTANTS: list[Mutant] = [*ATTEND, *FORWARD, *GENERATE, *COUNT, *ARENA, *RING, *PAGED]
