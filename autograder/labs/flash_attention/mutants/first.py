"""Wrong answers to FlashAttention with the outer loop over tiles of keys."""

from functools import partial

from autograder.labs.flash_attention.mutants.edits import (
    BY_ROW,
    RESCALED,
    WEIGHTS,
    edited,
    written_out,
)
from autograder.labs.mutants import Mutant
from labkit.flash_attention import flash_attention_1

_OUTPUT = "flash_1_output_is_attention"
_CAUSAL = "flash_1_hides_later_keys"
_LARGE = "flash_1_takes_large_scores"
_STATE = "flash_1_leaves_totals_and_maxima"
_LOADS = "flash_1_loads_no_more_than_needed"
_STORES = "flash_1_stores_no_more_than_needed"
_SKIPS = "flash_1_skips_what_nobody_sees"
_FIT = "flash_1_fits_the_chip"
_KEPT = "flash_1_keeps_no_tile"
_NUMBERS = (_OUTPUT, _CAUSAL, _LARGE, _KEPT)  # whatever spoils the output

_LOAD_KEYS = (
    'keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)'
)
_LOAD_O = 'queries, output = memory.load("Q", start, stop), memory.load("O", start, stop)'
_LOAD_LM = 'total, maximum = memory.load("l", start, stop), memory.load("m", start, stop)'
_SCORES = "scores = tile_scores(queries, keys, start, first_key, is_causal)"
_STEP = """\
maximum, total, output = online_softmax(
                maximum, total, total[:, None] * output.float(), scores, values
            )"""
_FIRST_O = 'memory.store("O", start, torch.zeros(stop - start, memory.head_dim))'
_FIRST_L = 'memory.store("l", start, torch.zeros(stop - start))'
_FIRST_M = 'memory.store("m", start, torch.full((stop - start,), -torch.inf))'
_KEY_LOOP = "    for first_key, last_key in tiles(memory.n_rows, tile_kv):\n"
_SKIP = "            if is_causal and stop <= first_key:\n                continue\n"
_STORE_O = 'memory.store("O", start, output / total[:, None])'
_STORE_L = 'memory.store("l", start, total)'
_STORE_M = 'memory.store("m", start, maximum)'
_HELD = "rescaled * total"

_mutant = partial(edited, flash_attention_1)


def _step(
    title: str,
    *caught_by: str,
    maximum: str = BY_ROW,
    rescaled: str = RESCALED,
    weights: str = WEIGHTS,
    held: str = _HELD,
) -> Mutant:
    """A mutant with the step of the softmax written out."""
    step = written_out(maximum, rescaled, weights, held)
    return _mutant(title, *caught_by, edits={_STEP: step})


_SOFTMAX = [
    _step("exponentials first, then quotients", _LARGE,
          rescaled="maximum.exp() / new_maximum.exp()",
          weights="scores.exp() / new_maximum.exp()[:, None]"),
    _step("one maximum for a whole tile", _STATE,
          maximum="torch.maximum(maximum, scores.max())"),
    _step("the maximum of the tile alone", _LARGE, _CAUSAL, _STATE, maximum="scores.amax(-1)"),
    _step("nothing is rescaled", *_NUMBERS, _STATE, rescaled="torch.ones(len(maximum))"),
    _step("the output is not rescaled", *_NUMBERS, held="total"),
    _step("rescaled the wrong way round", *_NUMBERS, _STATE,
          rescaled="(new_maximum - maximum).exp()"),
    _mutant("l is updated before O", *_NUMBERS, edits={_STEP: """\
new_maximum = torch.maximum(maximum, scores.amax(-1))
            weights = (scores - new_maximum[:, None]).exp()
            total = (maximum - new_maximum).exp() * total + weights.sum(-1)
            output = total[:, None] * output + weights @ values
            maximum = new_maximum"""}),
    _mutant("m is updated before l and O", *_NUMBERS, _STATE, edits={_STEP: """\
new_maximum = torch.maximum(maximum, scores.amax(-1))
            maximum = new_maximum
            rescaled = (maximum - new_maximum).exp()
            weights = (scores - new_maximum[:, None]).exp()
            output = (rescaled * total)[:, None] * output + weights @ values
            total = rescaled * total + weights.sum(-1)"""}),
    _mutant("O is never divided by its total", *_NUMBERS, edits={
        "total[:, None] * output.float()": "output", _STORE_O: 'memory.store("O", start, output)',
    }),
    _mutant("O is divided in the last turn only", _KEPT, edits={
        "total[:, None] * output.float()": "output",
        _STORE_O: """\
is_last = last_key == memory.n_rows or is_causal and last_key >= stop
            memory.store("O", start, output / total[:, None] if is_last else output)""",
    }),
    _mutant("O is divided, but not multiplied again", *_NUMBERS,
            edits={"total[:, None] * output.float()": "output"}),
    _mutant("a softmax for each tile, added up", *_NUMBERS, edits={
        _STORE_O: 'memory.store("O", start, before + scores.softmax(-1) @ values)',
        _STEP: f"before = output\n            {_STEP}",
    }),
    _mutant("the scores have no scale", _OUTPUT, _CAUSAL, _KEPT, _STATE,
            edits={_SCORES: f"{_SCORES} * memory.head_dim**0.5"}),
    _mutant("m begins at 0", _LARGE, edits={"-torch.inf": "0.0"}),
    _mutant("the logarithm in l at the end", _STATE, edits={_STORE_L: """\
is_last = last_key == memory.n_rows
            memory.store("l", start, total.log() if is_last else total)"""}),
]  # fmt: skip

_TILES = [
    _mutant("keys of zeros in the last tile", _OUTPUT, edits={_LOAD_KEYS: f"""\
{_LOAD_KEYS}
        missing = tile_kv - len(keys)
        keys = torch.nn.functional.pad(keys, (0, 0, 0, missing))
        values = torch.nn.functional.pad(values, (0, 0, 0, missing))"""}),
    _mutant("the last, smaller tile of keys is dropped", _OUTPUT, _CAUSAL, _LOADS, _SKIPS,
            edits={_KEY_LOOP: """\
    for first_key in range(0, memory.n_rows // tile_kv * tile_kv, tile_kv):
        last_key = first_key + tile_kv
"""}),
    _mutant("the mask forgets where the tiles begin", _CAUSAL,
            edits={_SCORES: "scores = tile_scores(queries, keys, 0, 0, is_causal)"}),
    _mutant("the mask has the two tiles exchanged", _CAUSAL,
            edits={_SCORES: "scores = tile_scores(queries, keys, first_key, start, is_causal)"}),
    _mutant("whole tiles are skipped, but nothing is masked inside", _CAUSAL,
            edits={_SCORES: "scores = tile_scores(queries, keys, start, first_key, False)"}),
    _mutant("is_causal is not used", _CAUSAL, _SKIPS, edits={
        _SKIP: "", _SCORES: "scores = tile_scores(queries, keys, start, first_key, False)",
    }),
    _mutant("pairs without a visible key are computed", _SKIPS, edits={_SKIP: ""}),
    _mutant("one pair behind the diagonal is computed", _SKIPS,
            edits={"stop <= first_key": "stop < first_key"}),
    _mutant("the tiles of the diagonal are skipped too", _CAUSAL, _SKIPS,
            edits={"stop <= first_key": "start <= first_key"}),
    _mutant("skipped by the numbers of the tiles", _CAUSAL, _SKIPS,
            edits={"stop <= first_key": "start // tile_q < first_key // tile_kv"}),
    _mutant("skipped unless all keys are seen", _CAUSAL, _SKIPS,
            edits={"stop <= first_key": "start < last_key - 1"}),
]  # fmt: skip

_MOVES = [
    _mutant("K and V come again for every tile of Q", _LOADS,
            edits={_SCORES: f"{_LOAD_KEYS}\n            {_SCORES}"}),
    _mutant("Q comes twice", _LOADS,
            edits={_SCORES: f'queries = memory.load("Q", start, stop)\n            {_SCORES}'}),
    _mutant("O, l and m come before the pair is skipped", _LOADS, edits={
        _SKIP: f'            output = memory.load("O", start, stop)\n{_SKIP}',
        _LOAD_O: 'queries = memory.load("Q", start, stop)',
    }),
    _mutant("the first turn loads nothing, but all was written first", _STORES, edits={
        f"            {_LOAD_LM}\n": "",
        _LOAD_O: f"""\
queries = memory.load("Q", start, stop)
            output = torch.zeros(stop - start, memory.head_dim)
            total, maximum = torch.zeros(stop - start), torch.full((stop - start,), -torch.inf)
            if first_key:
                output = memory.load("O", start, stop)
                {_LOAD_LM}""",
    }),
    _mutant("O is stored twice in each step", _STORES,
            edits={_STORE_O: f"{_STORE_O}\n            {_STORE_O}"}),
    _mutant("the scores of the last tile are written", _STORES, edits={_SCORES: f"""\
{_SCORES}
            memory.store("L", start, scores.logsumexp(-1))"""}),
    _mutant("m is never stored", *_NUMBERS, _STATE, _STORES,
            edits={f"            {_STORE_M}\n": ""}),
    _mutant("nothing is written first: room holds NaN", *_NUMBERS, _STATE, _STORES, edits={
        f"        {_FIRST_O}\n": "", f"        {_FIRST_L}\n": "",
        f"        {_FIRST_M}\n": "        pass\n",
    }),
    _mutant("O is cleared as a whole", _FIT, edits={f"        {_FIRST_O}\n": """\
        if start == 0:
            memory.store("O", 0, torch.zeros(memory.n_rows, memory.head_dim))
"""}),
    _mutant("Q comes before the pair is skipped", _SKIPS, edits={
        _SKIP: f'            queries = memory.load("Q", start, stop)\n{_SKIP}',
        _LOAD_O: 'output = memory.load("O", start, stop)',
    }),
    _mutant("all tiles of K and V are loaded before the first of Q", _FIT, _KEPT, _SKIPS, edits={
        _KEY_LOOP: f"""\
    loaded = {{
        first: (memory.load("K", first, last), memory.load("V", first, last))
        for first, last in tiles(memory.n_rows, tile_kv)
    }}
{_KEY_LOOP}""",
        _LOAD_KEYS: "keys, values = loaded[first_key]",
    }),
    _mutant("K and V are loaded as a whole", _FIT, edits={
        _KEY_LOOP: f'    all_keys, all_values = memory.load("K"), memory.load("V")\n{_KEY_LOOP}',
        _LOAD_KEYS:
            "keys, values = all_keys[first_key:last_key], all_values[first_key:last_key]",
    }),
    _mutant("Q is loaded, but its first copy used", _KEPT, edits={
        _KEY_LOOP: f"    copies = {{}}\n{_KEY_LOOP}",
        _SCORES: f"queries = copies.setdefault(start, queries)\n            {_SCORES}",
    }),
    *(
        _mutant(f"{title} loaded, but not used: kept in variables", _KEPT, edits={
            _KEY_LOOP: f"    kept = {{}}\n{_KEY_LOOP}",
            _SCORES: f"{names} = kept.get(start, ({names}))\n            {_SCORES}",
            _STORE_O: f"output = output / total[:, None]\n            kept[start] = {names}\n"
                      '            memory.store("O", start, output)',
        })
        for title, names in (("O is", "output"), ("l is", "total"), ("m is", "maximum"),
                             ("O and l are", "output, total"),
                             ("O, l and m are", "output, total, maximum"))
    ),
]  # fmt: skip

_IN_THE_OTHER_ORDER = """\
def flash_attention_1(memory, tile_q, tile_kv, is_causal=False):
    for start, stop in tiles(memory.n_rows, tile_q):
        queries = memory.load("Q", start, stop)
        output, total = torch.zeros(stop - start, memory.head_dim), torch.zeros(stop - start)
        maximum = torch.full((stop - start,), -torch.inf)
        for first_key, last_key in tiles(memory.n_rows, tile_kv):
            if is_causal and stop <= first_key:
                break
            keys = memory.load("K", first_key, last_key)
            values = memory.load("V", first_key, last_key)
            scores = tile_scores(queries, keys, start, first_key, is_causal)
            maximum, total, output = online_softmax(maximum, total, output, scores, values)
        memory.store("O", start, output / total[:, None])
        memory.store("l", start, total)
        memory.store("m", start, maximum)
"""
_ORDER = Mutant(
    "flash_attention_1",
    "the order of FlashAttention-2",
    (_LOADS, _STORES, _SKIPS, _FIT, _KEPT),
    source=_IN_THE_OTHER_ORDER,
)
FLASH_1 = [_ORDER, *_SOFTMAX, *_TILES, *_MOVES]
