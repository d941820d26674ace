"""Wrong answers to `has_decode_requests`: edits of the reference, or the whole answer."""

# fails one_request_in_decode_is_enough requests_on_their_way_count_too
#   no_requests_need_no_decode

# %% as it is in the handout: not any that has not yet reached "done"
def has_decode_requests(states: Iterable[str]) -> bool:
    return not any(state != "done" for state in states)

# %% all of them
def has_decode_requests(states: Iterable[str]) -> bool:
    return all(state != "done" for state in states)

# fails requests_on_their_way_count_too

# %% in decode alone
def has_decode_requests(states: Iterable[str]) -> bool:
    return any(state == "decode" for state in states)

# %% not those in the queue
def has_decode_requests(states: Iterable[str]) -> bool:
    return any(state in ("prefill", "decode") for state in states)

# fails one_request_in_decode_is_enough no_requests_need_no_decode

# %% on their way alone
def has_decode_requests(states: Iterable[str]) -> bool:
    return any(state in ("queued", "prefill") for state in states)

# fails one_request_in_decode_is_enough requests_on_their_way_count_too

# %% false once one is done
def has_decode_requests(states: Iterable[str]) -> bool:
    return bool(states) and "done" not in states

# fails one_request_in_decode_is_enough

# %% false once one in decode is followed by one that is done
def has_decode_requests(states: Iterable[str]) -> bool:
    return any(s != "done" for s in states) and list(states[-2:]) != ["decode", "done"]

# fails no_requests_need_no_decode

# %% the least advanced of none
def has_decode_requests(states: Iterable[str]) -> bool:
    return min(["queued", "prefill", "decode", "done"].index(s) for s in states) < 3
