"""Wrong answers of lab 05, as students give them: the prefill loop; and those of both loops."""

from functools import partial

from autograder.labs.batching.mutants.decode import DECODE_LOOP
from autograder.labs.mutants import Mutant

_ONCE = "every_request_is_prefilled_once"
_FIRST = "the_first_token_counts"
_REFUSED = "only_what_cannot_run_is_refused"
_MEMORY = "prefill_memory_is_never_exceeded"
_MOVED = "caches_are_saved_then_freed_once"
_ALIKE = "prompts_of_a_batch_are_similar"
_SIZE = "prefill_batches_keep_their_size"
_FILLED = "prefill_batches_are_filled"
_IDLE = "prefill_never_idles_beside_work"
_SENT = "a_batch_is_sent_before_the_next"
_FAIR = "nobody_is_passed_over"
_STORE = "the_store_is_never_exceeded"
_RULES = (_ONCE, _FIRST, _REFUSED, _MEMORY, _MOVED, _ALIKE, _SIZE, _FILLED, _IDLE, _SENT, _FAIR)
_ALL = (*_RULES, _STORE)

_RUN = "first = server.run_prefill([request.id for request in batch])"
_END = """\
            if request.state == "done":
                server.finish(request.id)
            else:
                server.save_kv(request.id)
            server.free_kv(request.id)
"""
_GET = "request = self.waiting.constrained_get(fits, LOOK_AHEAD)"
_ROOM = "max(lengths) * len(lengths) <= room"
_STORED = "if request.input_length > stored:"
_TOLERANCE = "max(lengths) - min(lengths) <= server.tolerance"
_NEXT = "batch = self._next_batch(server)"
_NO_BATCH = "        if not batch:\n            return\n"

_MIDDLE = """\
        for request in batch:
            request.state = "prefill"
        first = server.run_prefill([request.id for request in batch])
        for request, token in zip(batch, first, strict=True):
            request.add_token(token, server.eos)
"""
_SORTED = """\
every = [self.waiting.constrained_get(lambda request: True) for _ in range(len(self.waiting))]
        for request in sorted(every, key=lambda request: {}):
            self.waiting.add(request)
        batch = self._next_batch(server)"""

_mutant = partial(Mutant, "PrefillLoop")

PREFILL_LOOP = [
    _mutant("runs each prefill twice", (_ONCE,), _RUN, f"{_RUN}\n        {_RUN}"),
    _mutant(
        "loses who does not fit",
        _ALL,
        _GET,
        "request = self.waiting.constrained_get(lambda request: True)\n"
        "            if request is not None and not fits(request):\n"
        "                break",
    ),
    _mutant("knows requests by their lengths, and loses twins", _ALL, _NEXT,
            _SORTED.format("0").replace("in sorted(every", "in sorted({one.input_length: one "
            "for one in every}.values()")),
    _mutant(
        "waits for a request that may never come",
        _ALL,
        _NO_BATCH,
        "        if not batch:\n"
        "            while not server.arrivals():\n"
        "                pass\n"
        "            return\n",
    ),
    _mutant(
        "saves everybody",
        (_FIRST,),
        _END,
        "            server.save_kv(request.id)\n            server.free_kv(request.id)\n",
    ),
    _mutant("does not know the end of a text", (_FIRST,), "server.eos)", "-1)"),
    _mutant(
        "knows the end of a text only",
        (_FIRST,),
        'if request.state == "done"',
        "if token == server.eos",
    ),
    _mutant(
        "finishes, and saves all the same",
        (_FIRST,),
        "            else:\n                server.save_kv(request.id)",
        "            server.save_kv(request.id)",
    ),
    _mutant(
        "finishes everybody",
        (_FIRST,),
        _END,
        "            server.finish(request.id)\n            server.free_kv(request.id)\n",
    ),
    _mutant(
        "refuses what fills the room to the token",
        (_REFUSED,),
        "size > room for size, room in rooms",
        "size >= room for size, room in rooms",
    ),
    _mutant("never says why", (_REFUSED,), "server.refuse(request.id, reason)",
            "server.refuse(request.id)"),
    _mutant("refuses nobody", (_ONCE, _REFUSED), "any(size > room for size, room in rooms)",
            "False"),
    _mutant("refuses by the prompt alone", (_ONCE, _REFUSED),
            "(request.size, server.decode_capacity)",
            "(request.input_length, server.decode_capacity)"),
    _mutant("refuses who leaves the length open", (_REFUSED,), "if request.limit < 1:",
            "if request.size >= server.max_length:"),
    _mutant("does not think of the store", (_ONCE, _REFUSED),
            "rooms += [] if server.storage is None else [(request.input_length, server.storage)]",
            "pass"),
    _mutant("forgets whom it refuses", (_ONCE, _REFUSED), "server.refuse(request.id, reason)",
            "pass"),
    _mutant("forgets the padding", (_MEMORY,), _ROOM, "sum(lengths) <= room"),
    _mutant("one too large", (_MEMORY,), _ROOM, "max(lengths) * len(lengths) <= room + 1"),
    _mutant("looks at the request alone", (_MEMORY,), _ROOM, "request.input_length <= room"),
    _mutant(
        "frees twice", (_MOVED,), "            server.free_kv(request.id)",
        "            server.free_kv(request.id)\n            server.free_kv(request.id)",
    ),
    _mutant("frees, then saves", (_MOVED,), "                server.save_kv(request.id)\n",
            "                server.free_kv(request.id)\n"
            "                server.save_kv(request.id)\n                continue\n"),
    _mutant("leaves those in memory that it finishes", (_ONCE, _MOVED),
            "            server.free_kv(request.id)",
            '            if request.state != "done":\n                server.free_kv(request.id)'),
    _mutant("frees the first of the batch, again and again", (_ONCE, _MOVED),
            "server.free_kv(request.id)", "server.free_kv(batch[0].id)"),
    _mutant("saves twice", (_MOVED,), "server.save_kv(request.id)",
            "server.save_kv(request.id)\n                server.save_kv(request.id)"),
    _mutant("mixes all lengths", (_ALIKE,), _TOLERANCE, "True"),
    _mutant("compares with the first of the batch", (_ALIKE,), _TOLERANCE,
            "abs(lengths[0] - request.input_length) <= server.tolerance"),
    _mutant("rounds the tolerance", (_ALIKE,), _TOLERANCE,
            "max(lengths) - min(lengths) <= server.tolerance + 1"),
    _mutant("has no limit for a batch", (_SIZE,), "while len(batch) < server.max_batch:",
            "while True:"),
    _mutant("one more", (_SIZE,), "len(batch) < server.max_batch",
            "len(batch) <= server.max_batch"),
    _mutant("one at a time", (_FILLED,), "while len(batch) < server.max_batch:",
            "while not batch:"),
    _mutant("one fewer", (_FILLED,), "len(batch) < server.max_batch",
            "len(batch) < max(1, server.max_batch - 1)"),
    _mutant("fills up with neighbours only", (_FILLED,), _GET,
            "request = self.waiting.constrained_get(fits, 1 if batch else LOOK_AHEAD)"),
    _mutant("blocked by the first that does not fit", (_FILLED,), _GET,
            "request = self.waiting.constrained_get(fits, 1)"),
    _mutant("works in every second call only", (_IDLE,), _NEXT,
            "self.n_calls = getattr(self, 'n_calls', 0) + 1\n"
            f"        {_NEXT} if self.n_calls % 2 == 0 else []"),
    _mutant("waits until the store is empty", (_IDLE,), _STORED,
            "if stored < (server.storage or 0) and not batch or request.input_length > stored:"),
    _mutant("waits for a full batch", _ALL, _NO_BATCH,
            "        if len(batch) < server.max_batch:\n"
            "            for request in batch:\n"
            "                self.waiting.add(request)\n"
            "            return\n"),
    _mutant("answers the short ones when nothing is left to compute", (_SENT,), _NO_BATCH + _MIDDLE
            + _END, """\
        self.ended = getattr(self, "ended", [])
        if not batch:
            for request in self.ended:
                server.finish(request.id)
            self.ended = []
            return
""" + _MIDDLE + """\
            if request.state == "done":
                self.ended.append(request)
            else:
                server.save_kv(request.id)
            server.free_kv(request.id)
"""),
    _mutant("decode waits for all prefill", (_SENT,), _NO_BATCH + _MIDDLE + _END, """\
        self.computed = getattr(self, "computed", [])
        send = self.computed if server.storage is not None or not batch else []
        if batch:
            first = server.run_prefill([request.id for request in batch])
            for request, token in zip(batch, first, strict=True):
                request.add_token(token, server.eos)
                self.computed.append(request)
        while send:
            request = send.pop()
            if request.state == "done":
                server.finish(request.id)
            else:
                server.save_kv(request.id)
            server.free_kv(request.id)
"""),
    _mutant("the commonest length first", (_FAIR,), _NEXT, _SORTED.format(
            "-sum(one.input_length == request.input_length for one in every)")),
    _mutant("the newest first", (_FAIR,), _NEXT, _SORTED.format("-every.index(request)")),
    _mutant("by their ids", (_FAIR,), _NEXT, _SORTED.format("request.id")),
    _mutant("the shortest first", (_FAIR,), _NEXT, _SORTED.format("request.input_length")),
    _mutant("who does not fit goes to the end", (_FAIR,), _GET,
            "request = None\n"
            "            for _ in range(len(self.waiting)):\n"
            "                request = self.waiting.constrained_get(lambda one: True)\n"
            "                if fits(request):\n"
            "                    break\n"
            "                self.waiting.add(request)\n"
            "                request = None"),
    _mutant("does not ask the store", (_STORE,), _STORED, "if False:"),
    _mutant("asks the store for each alone", (_STORE,), "stored -= request.input_length", "pass"),
    _mutant("knows the size of the store, not what is left", (_STORE,),
            "server.free_tokens(), server.storage_room()", "server.free_tokens(), server.storage"),
]  # fmt: skip

LOOPS = [*PREFILL_LOOP, *DECODE_LOOP]
