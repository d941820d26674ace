"""Wrong answers of lab 05: requests, predicates, room; queues, metrics and cells have their own."""

from autograder.labs.batching.mutants.answers import ANSWERS
from autograder.labs.batching.mutants.loops import LOOPS
from autograder.labs.batching.mutants.metrics import METRICS
from autograder.labs.batching.mutants.queues import QUEUES
from autograder.labs.mutants import Mutant

_NEW = "a_new_request_is_queued"
_WISH = "a_wish_is_kept_within_max_length"
_NO_WISH = "without_a_wish_max_length_is_the_limit"
_SIZE = "the_size_is_prompt_and_limit"
_TOKENS = "every_token_is_kept_in_order"
_LAST = "the_last_allowed_token_makes_it_done"
_EOS = "the_end_of_text_makes_it_done"
_BACK = "no_token_takes_a_state_back"

_LIMIT = "self.limit = room if wanted is None else min(room, wanted)"
_QUEUED = 'self.state = "queued"'
_ROOM = "max_length - self.input_length, "
_APPEND = "self.tokens.append(token)"
_ENDS = "if token == eos or len(self.tokens) >= self.limit:"
_DONE = 'self.state = "done"'

REQUEST = [
    Mutant("Request", "in prefill as soon as it comes", (_NEW,), _QUEUED, 'self.state = "prefill"'),
    Mutant("Request", "a name for its place", (_NEW,), "self.id, ", "self.request_id, "),
    Mutant(
        "Request",
        "one list for all of them",
        (_TOKENS, _LAST, _EOS),
        source="""\
class Request:
    def __init__(self, fields, max_length, tokens=[]):
        self.id, self.input_length = fields["id"], fields["input_length"]
        room, wanted = max_length - self.input_length, fields["output_length"]
        self.limit = room if wanted is None else min(room, wanted)
        self.state, self.tokens = "queued", tokens

    @property
    def size(self):
        return self.input_length + self.limit

    def add_token(self, token, eos):
        self.tokens.append(token)
        if token == eos or len(self.tokens) >= self.limit:
            self.state = "done"
""",
    ),
    Mutant(
        "Request",
        "the prompt does not count",
        (_WISH, _NO_WISH, _LAST),
        _ROOM,
        "max_length, ",
    ),
    Mutant("Request", "the wish alone", (_WISH, _LAST), "min(room, wanted)", "wanted"),
    Mutant("Request", "a wish for nothing is none", (_WISH,), "if wanted is None", "if not wanted"),
    Mutant("Request", "the larger of the two", (_WISH, _LAST), "min(room", "max(room"),
    Mutant(
        "Request",
        "no limit is known without a wish",
        (_NO_WISH,),
        source="""\
class Request:
    def __init__(self, fields, max_length):
        self.id, self.input_length = fields["id"], fields["input_length"]
        self.max_length, self.limit = max_length, max_length
        if fields["output_length"] is not None:
            self.limit = min(max_length - self.input_length, fields["output_length"])
        self.state, self.tokens = "queued", []

    @property
    def size(self):
        return self.input_length + self.limit

    def add_token(self, token, eos):
        self.tokens.append(token)
        full = self.input_length + len(self.tokens) >= self.max_length
        if token == eos or full or len(self.tokens) >= self.limit:
            self.state = "done"
""",
    ),
    Mutant(
        "Request",
        "a default where nothing is said",
        (_NO_WISH, _LAST),
        "room if wanted is None",
        "16 if wanted is None",
    ),
    Mutant("Request", "the prompt alone", (_SIZE,), "self.input_length + self.limit", "self.limit"),
    Mutant(
        "Request",
        "what it holds so far",
        (_SIZE,),
        "self.input_length + self.limit",
        "self.input_length + len(self.tokens)",
    ),
    Mutant(
        "Request",
        "always the longest possible",
        (_SIZE,),
        source="""\
class Request:
    def __init__(self, fields, max_length):
        self.id, self.input_length = fields["id"], fields["input_length"]
        room, wanted = max_length - self.input_length, fields["output_length"]
        self.limit = room if wanted is None else min(room, wanted)
        self.size = max_length
        self.state, self.tokens = "queued", []

    def add_token(self, token, eos):
        self.tokens.append(token)
        if token == eos or len(self.tokens) >= self.limit:
            self.state = "done"
""",
    ),
    Mutant("Request", "a method, not a property", (_SIZE,), "    @property\n", ""),
    Mutant(
        "Request",
        "the end-of-text token is dropped",
        (_TOKENS,),
        _APPEND,
        "self.tokens += [token] if token != eos else []",
    ),
    Mutant("Request", "newest first", (_TOKENS,), _APPEND, "self.tokens.insert(0, token)"),
    Mutant("Request", "one token too many", (_LAST,), ">= self.limit", "> self.limit"),
    Mutant(
        "Request",
        "the token of the prefill does not count",
        (_LAST,),
        ">= self.limit",
        "- 1 >= self.limit",
    ),
    Mutant(
        "Request",
        "one token too few",
        (_LAST,),
        ">= self.limit",
        ">= max(1, self.limit - 1)",
    ),
    Mutant(
        "Request",
        "the prompt counts as new",
        (_LAST, _EOS),
        "len(self.tokens) >= self.limit",
        "self.input_length + len(self.tokens) >= self.limit",
    ),
    Mutant("Request", "the end of text is not looked for", (_EOS,), "token == eos or ", ""),
    Mutant("Request", "token 0 ends every text", (_LAST, _EOS), "token == eos", "not token"),
    Mutant("Request", "token 2 ends every text", (_EOS,), "token == eos", "token == 2"),
    Mutant(
        "Request",
        "the first token is never looked at",
        (_EOS,),
        "token == eos or ",
        "(token == eos and len(self.tokens) > 1) or ",
    ),
    Mutant(
        "Request",
        "undone by a further token",
        (_BACK,),
        _DONE,
        'self.state = "done"\n        else:\n            self.state = "decode"',
    ),
    Mutant(
        "Request",
        "in prefill with every token",
        (_BACK,),
        _APPEND,
        'self.tokens.append(token)\n        self.state = "prefill"',
    ),
]

_BEFORE = "one_request_before_decode_is_enough"
_PAST = "requests_in_decode_need_no_prefill"
_NOBODY = "no_requests_need_no_prefill"
_ANY = 'any(state in ("queued", "prefill") for state in states)'

PREFILL = [
    Mutant(
        "has_prefill_requests",
        'as it is in the handout: not any that has not yet reached "decode"',
        (_BEFORE, _PAST, _NOBODY),
        "return any",
        "return not any",
    ),
    Mutant("has_prefill_requests", "all of them", (_BEFORE, _PAST, _NOBODY), "any(", "all("),
    Mutant(
        "has_prefill_requests", "queued alone", (_BEFORE,), '("queued", "prefill")', '["queued"]'
    ),
    Mutant(
        "has_prefill_requests",
        "the first alone",
        (_BEFORE, _PAST),
        _ANY,
        'bool(states) and states[0] in ("queued", "prefill")',
    ),
    Mutant(
        "has_prefill_requests",
        "in prefill alone",
        (_BEFORE, _PAST, _NOBODY),
        '("queued", "prefill")',
        '["prefill"]',
    ),
    Mutant(
        "has_prefill_requests",
        "whatever is not done",
        (_PAST,),
        'state in ("queued", "prefill")',
        'state != "done"',
    ),
    Mutant(
        "has_prefill_requests",
        "no request in decode yet",
        (_BEFORE, _PAST),
        _ANY,
        'bool(states) and any(s in ("queued", "prefill") for s in states) '
        'and "decode" not in states',
    ),
    Mutant(
        "has_prefill_requests",
        "the least advanced of none",
        (_NOBODY,),
        _ANY,
        'min(["queued", "prefill", "decode", "done"].index(s) for s in states) < 2',
    ),
    Mutant(
        "has_prefill_requests",
        "true of none",
        (_NOBODY,),
        _ANY,
        'not states or any(s in ("queued", "prefill") for s in states)',
    ),
]

_DECODING = "one_request_in_decode_is_enough"
_ON_THE_WAY = "requests_on_their_way_count_too"
_NONE = "no_requests_need_no_decode"
_OPEN = 'any(state != "done" for state in states)'

DECODE = [
    Mutant(
        "has_decode_requests",
        'as it is in the handout: not any that has not yet reached "done"',
        (_DECODING, _ON_THE_WAY, _NONE),
        "return any",
        "return not any",
    ),
    Mutant("has_decode_requests", "all of them", (_DECODING, _ON_THE_WAY, _NONE), "any(", "all("),
    Mutant(
        "has_decode_requests",
        "in decode alone",
        (_ON_THE_WAY,),
        'state != "done"',
        'state == "decode"',
    ),
    Mutant(
        "has_decode_requests",
        "not those in the queue",
        (_ON_THE_WAY,),
        'state != "done"',
        'state in ("prefill", "decode")',
    ),
    Mutant(
        "has_decode_requests",
        "on their way alone",
        (_DECODING, _NONE),
        'state != "done"',
        'state in ("queued", "prefill")',
    ),
    Mutant(
        "has_decode_requests",
        "false once one is done",
        (_DECODING, _ON_THE_WAY),
        _OPEN,
        'bool(states) and "done" not in states',
    ),
    Mutant(
        "has_decode_requests",
        "false once one in decode is followed by one that is done",
        (_DECODING,),
        _OPEN,
        'any(s != "done" for s in states) and list(states[-2:]) != ["decode", "done"]',
    ),
    Mutant(
        "has_decode_requests",
        "the least advanced of none",
        (_NONE,),
        _OPEN,
        'min(["queued", "prefill", "decode", "done"].index(s) for s in states) < 3',
    ),
]

_FULL = "the_last_token_of_room_is_used"
_EVERYONE = "everyone_in_memory_takes_its_own_room"
_EMPTY = "an_empty_memory_is_not_endless"
_ASKING = "asking_reserves_nothing"
_SUM = "return size + sum(in_memory) <= capacity"

ROOM = [
    Mutant("does_fit", "one token stays free", (_FULL,), "<= capacity", "< capacity"),
    Mutant(
        "does_fit",
        "whoever is in memory is forgotten",
        (_FULL, _EVERYONE),
        " + sum(in_memory)",
        "",
    ),
    Mutant(
        "does_fit",
        "all as long as the longest",
        (_EVERYONE,),
        _SUM,
        "return size + max(in_memory, default=0) * len(in_memory) <= capacity",
    ),
    Mutant(
        "does_fit",
        "the longest alone",
        (_EVERYONE,),
        "sum(in_memory)",
        "max(in_memory, default=0)",
    ),
    Mutant("does_fit", "equal sizes once", (_EVERYONE,), "sum(in_memory)", "sum(set(in_memory))"),
    Mutant("does_fit", "others like itself", (_FULL, _EVERYONE), "sum(in_memory)",
           "size * len(in_memory)"),
    Mutant("does_fit", "the first always fits", (_EMPTY,), _SUM,
           "return not in_memory or size + sum(in_memory) <= capacity"),
    Mutant("does_fit", "a mean of nothing", (_EMPTY,), _SUM,
           "return size + sum(in_memory) / len(in_memory) * len(in_memory) <= capacity"),
    Mutant("does_fit", "takes the room as well", (_ASKING,), _SUM,
           "in_memory.append(size)\n    return sum(in_memory) <= capacity"),
]  # fmt: skip

MUTANTS = [*REQUEST, *PREFILL, *DECODE, *ROOM, *QUEUES, *LOOPS, *METRICS, *ANSWERS]
