"""Wrong answers to `has_prefill_requests`: edits of the reference, or the whole answer."""

# fails one_request_before_decode_is_enough requests_in_decode_need_no_prefill
#   no_requests_need_no_prefill

# %% as it is in the handout: not any that has not yet reached "decode"
def has_prefill_requests(states: Iterable[str]) -> bool:
    return not any(state in ("queued", "prefill") for state in states)

# %% all of them
def has_prefill_requests(states: Iterable[str]) -> bool:
    return all(state in ("queued", "prefill") for state in states)

# %% in prefill alone
def has_prefill_requests(states: Iterable[str]) -> bool:
    return any(state in ["prefill"] for state in states)

# fails one_request_before_decode_is_enough

# %% queued alone
def has_prefill_requests(states: Iterable[str]) -> bool:
    return any(state in ["queued"] for state in states)

# fails one_request_before_decode_is_enough requests_in_decode_need_no_prefill

# %% the first alone
def has_prefill_requests(states: Iterable[str]) -> bool:
    return bool(states) and states[0] in ("queued", "prefill")

# %% no request in decode yet
def has_prefill_requests(states: Iterable[str]) -> bool:
    return bool(states) and any(s in ("queued", "prefill") for s in states) and "decode" not in states

# fails requests_in_decode_need_no_prefill

# %% whatever is not done
def has_prefill_requests(states: Iterable[str]) -> bool:
    return any(state != "done" for state in states)

# fails no_requests_need_no_prefill

# %% the least advanced of none
def has_prefill_requests(states: Iterable[str]) -> bool:
    return min(["queued", "prefill", "decode", "done"].index(s) for s in states) < 2

# %% true of none
def has_prefill_requests(states: Iterable[str]) -> bool:
    return not states or any(s in ("queued", "prefill") for s in states)
