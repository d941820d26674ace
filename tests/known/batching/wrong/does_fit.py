"""Wrong answers to `does_fit`: edits of the reference, or the whole answer."""

# fails the_last_token_of_room_is_used an_empty_memory_is_not_endless

# %% one token stays free
def does_fit(size: int, in_memory: Iterable[int], capacity: int) -> bool:
    return size + sum(in_memory) < capacity

# fails the_last_token_of_room_is_used

# %% one token stays free beside others
def does_fit(size: int, in_memory: Iterable[int], capacity: int) -> bool:
    return size + sum(in_memory) + bool(in_memory) <= capacity

# fails the_last_token_of_room_is_used everyone_in_memory_takes_its_own_room

# %% whoever is in memory is forgotten
def does_fit(size: int, in_memory: Iterable[int], capacity: int) -> bool:
    return size <= capacity

# fails the_last_token_of_room_is_used everyone_in_memory_takes_its_own_room
#   an_empty_memory_is_not_endless

# %% the new request is forgotten
def does_fit(size: int, in_memory: Iterable[int], capacity: int) -> bool:
    return sum(in_memory) <= capacity

# %% any room at all is enough
def does_fit(size: int, in_memory: Iterable[int], capacity: int) -> bool:
    return sum(in_memory) < capacity

# fails everyone_in_memory_takes_its_own_room

# %% the longest alone
def does_fit(size: int, in_memory: Iterable[int], capacity: int) -> bool:
    return size + max(in_memory, default=0) <= capacity

# %% equal sizes once
def does_fit(size: int, in_memory: Iterable[int], capacity: int) -> bool:
    return size + sum(set(in_memory)) <= capacity

# fails an_empty_memory_is_not_endless

# %% the first always fits
def does_fit(size: int, in_memory: Iterable[int], capacity: int) -> bool:
    return not in_memory or size + sum(in_memory) <= capacity

# %% a mean of nothing
def does_fit(size: int, in_memory: Iterable[int], capacity: int) -> bool:
    return size + sum(in_memory) / len(in_memory) * len(in_memory) <= capacity

# fails asking_reserves_nothing

# %% takes the room as well
def does_fit(size: int, in_memory: Iterable[int], capacity: int) -> bool:
    in_memory.append(size)
    return sum(in_memory) <= capacity

# fails everyone_in_memory_takes_its_own_room

# %% the first eight
def does_fit(size, in_memory, capacity):
    return size + sum(list(in_memory)[:8]) <= capacity
