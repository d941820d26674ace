"""Wrong answers of lab 06: prompt lookup and the acceptance rate."""

from autograder.labs.mutants import Mutant

_COPIED = "what_followed_is_copied"
_LONGEST = "the_longest_match_comes_first"
_FEWER = "fewer_tokens_are_looked_for_then"
_EARLIEST = "the_earliest_place_counts"
_END = "the_copy_ends_with_the_text"
_NOTHING = "where_nothing_is_found_nothing_is_drafted"
_REFUSED = "no_tokens_wanted_or_compared_is_refused"
_ALL = (_COPIED, _LONGEST, _FEWER, _EARLIEST, _END, _NOTHING, _REFUSED)
_FOUND = (_COPIED, _LONGEST, _FEWER, _EARLIEST, _END)

_LENGTHS = "range(min(longest, len(tokens) - 1), 0, -1)"
_PLACES = "range(len(tokens) - n)"
_COPY = "return tokens[start + n : start + n + gamma]"
_NONE = "return []"

LOOKUPS = [
    Mutant("ngram_draft", "the tokens that agreed are copied too", (*_FOUND, _NOTHING, _REFUSED),
           _COPY, "return tokens[start : start + gamma]"),
    Mutant("ngram_draft", "one token later", (*_FOUND, _NOTHING, _REFUSED), _COPY,
           "return tokens[start + n + 1 : start + n + 1 + gamma]"),
    Mutant("ngram_draft", "all that follows", (_COPIED, _LONGEST, _FEWER, _EARLIEST, _NOTHING,
           _REFUSED), _COPY, "return tokens[start + n :]"),
    Mutant("ngram_draft", "gamma is where the copy ends", (*_FOUND, _NOTHING, _REFUSED), _COPY,
           "return tokens[start + n : gamma]"),
    Mutant("ngram_draft", "numbers compared as text", (_COPIED,), source="""\
def ngram_draft(tokens, gamma, longest=3):
    if gamma < 1 or longest < 1:
        raise ValueError("at least 1")
    for n in range(min(longest, len(tokens) - 1), 0, -1):
        text, last = (" ".join(map(str, part)) for part in (tokens[:-1], tokens[-n:]))
        if (last + " ") in (text + " "):
            start = (text + " ").index(last + " ")
            start = text[:start].count(" ")
            return tokens[start + n : start + n + gamma]
    return []
"""),
    Mutant("ngram_draft", "the end of the text is 0", (_COPIED,), _COPY, """\
copied = tokens[start + n : start + n + gamma]
                return copied[: copied.index(0)] if 0 in copied else copied"""),
    Mutant("ngram_draft", "the shortest match first", (_LONGEST,), _LENGTHS,
           "range(1, min(longest, len(tokens) - 1) + 1)"),
    Mutant("ngram_draft", "the last token alone", (_LONGEST,), _LENGTHS,
           "range(1 if len(tokens) > 1 else 0, 0, -1)"),
    Mutant("ngram_draft", "at most three", (_LONGEST,), "min(longest, len", "min(longest, 3, len"),
    Mutant("ngram_draft", "the earliest place of any length", (_LONGEST,), source="""\
def ngram_draft(tokens, gamma, longest=3):
    if gamma < 1 or longest < 1:
        raise ValueError("at least 1")
    places = []
    for n in range(min(longest, len(tokens) - 1), 0, -1):
        for end in range(n, len(tokens)):
            if tokens[end - n : end] == tokens[-n:]:
                places.append(end)
                break
    return tokens[min(places) : min(places) + gamma] if places else []
"""),
    Mutant("ngram_draft", "so many or nothing", (_FEWER,), source="""\
def ngram_draft(tokens, gamma, longest=3):
    if gamma < 1 or longest < 1:
        raise ValueError("at least 1")
    n = min(longest, (len(tokens) + 1) // 2)
    for start in range(len(tokens) - n):
        if tokens[start : start + n] == tokens[-n:]:
            return tokens[start + n : start + n + gamma]
    return []
"""),
    Mutant("ngram_draft", "two at least", (_COPIED, _FEWER), _LENGTHS,
           "range(min(longest, len(tokens) - 1), 1, -1)"),
    Mutant("ngram_draft", "finds itself", (_FEWER,), _PLACES, "range(len(tokens) - n + 1)"),
    Mutant("ngram_draft", "the latest place", (_EARLIEST,), _PLACES,
           "reversed(range(len(tokens) - n))"),
    Mutant("ngram_draft", "as many tokens as agree", (_EARLIEST,), "min(longest, len(tokens) - 1)",
           "len(tokens) - 1"),
    Mutant("ngram_draft", "what followed most often", (_EARLIEST,), source="""\
from collections import Counter

def ngram_draft(tokens, gamma, longest=3):
    if gamma < 1 or longest < 1:
        raise ValueError("at least 1")
    for n in range(min(longest, len(tokens) - 1), 0, -1):
        places = [i for i in range(n, len(tokens)) if tokens[i - n : i] == tokens[-n:]]
        if places:
            common, _ = Counter(tokens[i] for i in places).most_common(1)[0]
            start = next(i for i in places if tokens[i] == common)
            return tokens[start : start + gamma]
    return []
"""),
    Mutant("ngram_draft", "copies on from its own copy", (_END,), _COPY, """\
period = tokens[start + n :]
                return [period[i % len(period)] for i in range(gamma)]"""),
    Mutant("ngram_draft", "filled up to gamma", (_END,), _COPY,
           "return (tokens[start + n :] + [tokens[-1]] * gamma)[:gamma]"),
    Mutant("ngram_draft", "the last tokens are not copied again", (_END,), _COPY,
           "return tokens[start + n : min(start + n + gamma, len(tokens) - n)]"),
    Mutant("ngram_draft", "only where gamma tokens follow", (_END,), _PLACES,
           "range(len(tokens) - n - gamma + 1)"),
    Mutant("ngram_draft", "the last token once more", (_NOTHING,), _NONE, "return tokens[-1:]"),
    Mutant("ngram_draft", "None for nothing", (_NOTHING,), _NONE, "return None"),
    Mutant("ngram_draft", "an error for nothing", (_NOTHING,), _NONE,
           'raise ValueError("there is no such place")'),
    Mutant("ngram_draft", "no gamma is no draft", (_REFUSED,), "if gamma < 1 or longest < 1:",
           "if gamma < 1 or longest < 1:\n        return []\n    if False:"),
    Mutant("ngram_draft", "nothing to compare is allowed", (_REFUSED,),
           "gamma < 1 or longest < 1:", "gamma < 1:"),
    Mutant("ngram_draft", "a gamma of 0 is allowed", (_REFUSED,), "if gamma < 1", "if gamma < 0"),
]  # fmt: skip

_EXAMINED = "what_was_not_examined_does_not_count"
_WHOLE = "a_block_accepted_whole_has_no_rejected_token"
_WEIGH = "every_examined_token_weighs_the_same"
_PLAIN = "a_plain_step_examines_nothing"
_NO_RATE = "without_trials_there_is_no_rate"

_SUM_EXAMINED = "sum(block.examined for block in blocks)"
_RATE = "return sum(block.n_accepted for block in blocks) / n_examined"

RATES = [
    Mutant("acceptance_rate", "accepted over drafted", (_EXAMINED,), "sum(block.examined",
           "sum(block.n_drafted"),
    Mutant("acceptance_rate", "over the longest block", (_EXAMINED, _WEIGH, _PLAIN),
           _SUM_EXAMINED, "len(blocks) * max((b.n_drafted for b in blocks), default=0)"),
    Mutant("acceptance_rate", "a rejected token in every block", (_WHOLE, _PLAIN, _NO_RATE),
           "sum(block.examined for", "sum(block.n_accepted + 1 for"),
    Mutant("acceptance_rate", "a rejected token in every block with drafts", (_WHOLE,),
           "sum(block.examined for", "sum(block.n_accepted + (block.n_drafted > 0) for"),
    Mutant("acceptance_rate", "the target's token as an accepted one", (_EXAMINED, _WHOLE, _WEIGH,
           _PLAIN, _NO_RATE), "sum(block.n_accepted for", "sum(block.n_accepted + 1 for"),
    Mutant("acceptance_rate", "the token after a whole block as an accepted one", (_WHOLE, _PLAIN),
           "sum(block.n_accepted for",
           "sum(block.n_accepted + (block.n_accepted == block.n_drafted) for"),
    Mutant("acceptance_rate", "whole blocks left out", (_WHOLE,), "blocks = list(blocks)",
           "blocks = [b for b in blocks if b.n_accepted < b.n_drafted]"),
    Mutant("acceptance_rate", "blocks that are accepted whole", (_EXAMINED, _WHOLE, _WEIGH, _PLAIN,
           _NO_RATE), _RATE,
           "return sum(b.n_accepted == b.n_drafted for b in blocks) / len(blocks)"),
    Mutant("acceptance_rate", "never above 0.99", (_WHOLE,), _RATE,
           _RATE.replace("return ", "return min(0.99, ") + ")"),
    Mutant("acceptance_rate", "a mean over blocks", (_WEIGH,), _RATE, """\
rates = [block.n_accepted / block.examined for block in blocks if block.examined]
    return sum(rates) / len(rates)"""),
    Mutant("acceptance_rate", "a mean over prompts", (_WEIGH,), _RATE, """\
prompts = {block.prompt_id for block in blocks if block.examined}
    rates = []
    for prompt in prompts:
        own = [block for block in blocks if block.prompt_id == prompt]
        rates.append(sum(b.n_accepted for b in own) / sum(b.examined for b in own))
    return sum(rates) / len(rates)"""),
    Mutant("acceptance_rate", "a plain step as a rejection", (_PLAIN, _NO_RATE), _SUM_EXAMINED,
           "sum(max(1, block.examined) for block in blocks)"),
    Mutant("acceptance_rate", "a plain step as half an acceptance", (_PLAIN,), _RATE,
           "n_plain = sum(block.n_drafted == 0 for block in blocks)\n"
           "    return (sum(b.n_accepted for b in blocks) + n_plain / 2) / (n_examined + n_plain)"),
    Mutant("acceptance_rate", "nothing is 0", (_NO_RATE,),
           'raise ValueError("no drafted token was examined, so there is no acceptance rate")',
           "return 0.0"),
    Mutant("acceptance_rate", "divides by nothing", (_NO_RATE,), "if n_examined == 0:",
           "if n_examined < 0:"),
    Mutant("acceptance_rate", "not a number", (_NO_RATE,),
           'raise ValueError("no drafted token was examined, so there is no acceptance rate")',
           'return float("nan")'),
]  # fmt: skip

DRAFTS = LOOKUPS + RATES
