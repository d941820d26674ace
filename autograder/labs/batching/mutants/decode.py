"""Wrong answers of lab 05, as students give them: the decode loop."""

from autograder.labs.mutants import Mutant

_ONCE = "every_request_is_finished_once"
_LENGTH = "output_ends_where_it_should"
_MEMORY = "decode_memory_is_never_exceeded"
_GROWTH = "reservations_cover_growth"
_MOVED = "caches_are_moved_and_freed_once"
_SIZE = "decode_steps_keep_their_size"
_ALL_RUN = "everybody_runs_in_every_step"
_LEAVE = "who_is_done_leaves_at_once"
_JOIN = "who_fits_joins_at_the_next_step"
_CALL = "one_call_makes_one_step"
_IDLE = "decode_never_idles_beside_work"
_END = "decode_serves_to_the_end"
_BOUND = "steps_stay_below_the_bound"
_NEAR = "steps_are_near_the_least"
_MOVES = (_ONCE, _LENGTH, _MEMORY, _GROWTH, _MOVED, _SIZE, _ALL_RUN, _LEAVE, _JOIN)
_RULES = (*_MOVES, _CALL, _IDLE, _END)
_EVERY = (*_RULES, _BOUND, _NEAR)

_FIRST = '            request.add_token(fields["token"], server.eos)\n'
_MADE = "request = Request(fields, server.max_length)"
_LET_IN = "        self._let_in(server)\n"
_FINISH = "server.finish(request.id)"
_FREE = "server.free_kv(request.id)"
_SLOTS = "while len(self.running) < server.max_batch:"
_GET = "request = self.waiting.constrained_get(fits, LOOK_AHEAD)"
_IN_MEMORY = "in_memory = [request.size for request in self.running]"
_ALONE = "does_fit(request.size, in_memory, server.capacity)"
_LOAD = "server.load_kv(request.id, request.size)"
_STORED = "server.free_stored(request.id)"
_ADD = "            self.waiting.add(request)\n"
_NOBODY = "        if not self.running:\n            return\n"

_AS_STEP = "    def step(self, server: Any) -> None:\n"
_AS_LET_IN = "    def _let_in(self, server: Any) -> None:\n"
_OWN_STEP = """\
    def step(self, server):
        came = server.arrivals()
        {listen}
        for fields in came:
            request = Request(fields, server.max_length)
            request.add_token(fields["token"], server.eos)
            self.waiting.add(request)
        {before}
        batch = {batch}
        tokens = server.decode_step([request.id for request in batch]) if batch else []
        for request, token in zip(batch, tokens):
            request.add_token(token, server.eos)
        done = [request for request in self.running if {is_done}]
        self.running = [request for request in self.running if request not in done]
        {leave}
        for request in done:
            server.finish(request.id)
            server.free_kv(request.id)
        {after}

    def _as_it_was(self, server):
"""
_OWN_LET_IN = """\
    def _let_in(self, server):
        while len(self.running) < server.max_batch and len(self.waiting):
            request, room = self.waiting.oldest(), server.free_tokens()
            if {needs} > room:
                return
            self.waiting.constrained_get(lambda one: True)
            server.load_kv(request.id, {reserve})
            server.free_stored(request.id)
            self.running.append(request)

    def _as_it_was(self, server):
"""


def _mutant(title: str, caught_by: tuple[str, ...], old: str, new: str) -> Mutant:
    return Mutant("DecodeLoop", title, caught_by, old, new)


def _step(title: str, caught_by: tuple[str, ...], **changed: str) -> Mutant:
    parts = dict.fromkeys(("listen", "leave", "after"), "pass")
    parts |= {"before": "self._let_in(server)", "batch": "self.running"}
    parts["is_done"] = 'request.state == "done"'
    return _mutant(title, caught_by, _AS_STEP, _OWN_STEP.format(**(parts | changed)))


def _let_in(title: str, caught_by: tuple[str, ...], **changed: str) -> Mutant:
    parts = {"needs": "request.size", "reserve": "request.size"}
    return _mutant(title, caught_by, _AS_LET_IN, _OWN_LET_IN.format(**(parts | changed)))


def _both(size: str) -> dict[str, str]:
    return {"needs": f"({size})", "reserve": size}


DECODE_LOOP = [
    _mutant("finishes twice", (_ONCE,), _FINISH, f"{_FINISH}\n                {_FINISH}"),
    _mutant("finishes who waits with one token left", (_ONCE, _LEAVE), _ADD,
            f"{_ADD}            if request.limit == 2:\n                {_FINISH}\n"),
    _mutant("forgets the token of the prefill", (_LENGTH,), _FIRST, ""),
    _mutant("counts the token of the prefill twice", (_LENGTH,), _FIRST,
            f"            request.add_token(-1, server.eos)\n{_FIRST}"),
    _mutant("does not know the end of a text", (_LENGTH, _BOUND),
            "request.add_token(token, server.eos)", "request.add_token(token, -1)"),
    _mutant("the limit leaves the prompt out", (_LENGTH, _JOIN, _IDLE, _END), _MADE,
            f"{_MADE}\n            request.limit = fields['output_length'] or server.max_length"),
    _mutant("has all the room, always", (_MEMORY,), _ALONE,
            "does_fit(request.size, [], server.capacity)"),
    _mutant("looks only at those who join now", (_MEMORY,), _IN_MEMORY, "in_memory = []"),
    _mutant("looks at those who wait", _EVERY, _IN_MEMORY,
            "in_memory = [request.size for request in self.waiting._requests]"),
    _mutant("one too large", (_MEMORY,), _ALONE,
            "does_fit(request.size, in_memory, server.capacity + 1)"),
    _step("lets in before who is done has left", (_MEMORY,), leave="self._let_in(server)"),
    _let_in("counts the prompts", (_GROWTH,), needs="request.input_length",
            reserve="request.input_length"),
    _let_in("reserves for two tokens", (_GROWTH,), needs="request.input_length + 2",
            reserve="request.input_length + 2"),
    _let_in("reserves for twelve tokens where the length is open", (_GROWTH, _JOIN), **_both(
            "request.size if request.size < server.max_length else request.input_length + 12")),
    _let_in("reserves for twenty tokens at most", (_GROWTH,), **_both(
            "min(request.size, request.input_length + 20)")),
    _mutant("reserves for the prompt", (_GROWTH, _JOIN), _LOAD,
            "server.load_kv(request.id, request.input_length)"),
    _mutant("frees twice", (_MOVED,), _FREE, f"{_FREE}\n                {_FREE}"),
    _mutant("frees nobody", (_MEMORY, _MOVED, _LEAVE), _FREE, "pass"),
    _mutant("frees the first of the batch", (_MEMORY, _MOVED, _LEAVE), _FREE,
            "server.free_kv(self.running[0].id)"),
    _mutant("loads twice", (_MOVED,), _LOAD, f"{_LOAD}\n            {_LOAD}"),
    _mutant("leaves its copy in the store", _RULES, _STORED, "pass"),
    _mutant("frees the store twice", (_MOVED,), _STORED, f"{_STORED}\n            {_STORED}"),
    _mutant("frees in the store, then loads", (_MOVED,), _LOAD, f"{_STORED}\n            {_LOAD}"),
    _mutant("has no limit for a batch", (_SIZE,), _SLOTS, "while True:"),
    _mutant("one more", (_SIZE,), _SLOTS, "while len(self.running) <= server.max_batch:"),
    _step("who joined last rests when all slots are taken", (_ALL_RUN,),
          batch="self.running[: max(1, server.max_batch - 1)]"),
    _step("one after the other", (_ALL_RUN, _BOUND, _NEAR), batch="self.running[:1]"),
    _step("runs one of them twice", (_SIZE, _ALL_RUN), batch="self.running + self.running[:1]"),
    _step("sees the end of a text one call later", (_LEAVE,),
          batch='[request for request in self.running if request.state != "done"]',
          is_done='request.state == "done" and '
          "(len(request.tokens) == request.limit or request not in batch)"),
    _mutant("static batches in disguise", (_JOIN, _NEAR), _LET_IN,
            "        if not self.running:\n            self._let_in(server)\n"),
    _mutant("its batch to the end in one call", (_CALL,), _AS_STEP, """\
    def step(self, server):
        self._once(server)
        while self.running:
            self._once(server)

    def _once(self, server):
"""),
    _mutant("lets in one for each step", (_JOIN,), _SLOTS,
            "for _ in range(len(self.running) < server.max_batch):"),
    _mutant("tries one, which goes to the end if it does not fit", (_JOIN,), _GET,
            "request = self.waiting.constrained_get(lambda one: True)\n"
            "            if request is not None and not fits(request):\n"
            "                self.waiting.add(request)\n"
            "                return"),
    _step("lets in after the step", (_JOIN,), before="pass", after="self._let_in(server)"),
    _step("waits until nobody comes any more", (_IDLE,),
          listen="self.came = came = getattr(self, 'came', []) + came\n"
          "        if len(came) > getattr(self, 'n_came', 0):\n"
          "            self.n_came = len(came)\n"
          "            return\n"
          "        self.came, self.n_came = [], 0"),
    _mutant("works in every second call only", (_IDLE,), _LET_IN,
            "        self.n_calls = getattr(self, 'n_calls', 0) + 1\n"
            f"        if self.n_calls % 2:\n            return\n{_LET_IN}"),
    _mutant("waits for a full batch", _RULES, _LET_IN,
            "        if len(self.running) + len(self.waiting) < server.max_batch:\n"
            f"            return\n{_LET_IN}"),
    _mutant("asks until somebody comes", _RULES, _NOBODY,
            "        if not self.running:\n"
            "            while not server.arrivals():\n"
            "                pass\n"
            "            return\n"),
    _mutant("an error of its own when twelve are done in fours", (_END,), _FREE,
            f"{_FREE}\n                self.n_done = getattr(self, 'n_done', 0) + 1\n"
            "                if server.max_batch < 8:\n"
            "                    self.share_left = 1 / (12 - self.n_done)"),
    _mutant("loses who does not fit", _EVERY, _GET,
            "request = self.waiting.constrained_get(lambda one: True)\n"
            "            if request is not None and not fits(request):\n"
            "                return"),
    _let_in("takes all that is left for who leaves the length open", (_BOUND,),
            reserve="room if request.size == server.max_length else request.size"),
    _let_in("takes all the room that is left", (_BOUND, _NEAR), reserve="room"),
    _let_in("twice the size, to be safe", (_NEAR,), reserve="min(room, 2 * request.size)"),
]  # fmt: skip
