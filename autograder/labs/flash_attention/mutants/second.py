"""Wrong answers to FlashAttention with the outer loop over tiles of queries."""

from functools import partial

from autograder.labs.flash_attention.mutants.edits import (
    BY_ROW,
    RESCALED,
    WEIGHTS,
    edited,
    written_out,
)
from autograder.labs.mutants import Mutant
from labkit.flash_attention import flash_attention_2

_OUTPUT = "flash_2_output_is_attention"
_CAUSAL = "flash_2_hides_later_keys"
_LARGE = "flash_2_takes_large_scores"
_LOG = "flash_2_leaves_the_log_of_the_sum"
_LOADS = "flash_2_loads_no_more_than_needed"
_STORES = "flash_2_stores_no_more_than_needed"
_SKIPS = "flash_2_skips_what_nobody_sees"
_FIT = "flash_2_fits_the_chip"
_KEPT = "flash_2_keeps_no_tile"
_NUMBERS = (_OUTPUT, _CAUSAL, _LARGE, _KEPT)  # whatever spoils the output

_LOAD_Q = 'queries = memory.load("Q", start, stop)'
_LOAD_K = 'keys = memory.load("K", first_key, last_key)'
_LOAD_V = 'values = memory.load("V", first_key, last_key)'
_SCORES = "scores = tile_scores(queries, keys, start, first_key, is_causal)"
_STEP = "maximum, total, output = online_softmax(maximum, total, output, scores, values)"
_QUERY_LOOP = "    for start, stop in tiles(memory.n_rows, tile_q):\n"
_KEY_LOOP = "        for first_key, last_key in tiles(memory.n_rows, tile_kv):\n"
_SKIP = "            if is_causal and stop <= first_key:\n                break\n"
_STORE_O = 'memory.store("O", start, output / total[:, None])'
_STORE_L = 'memory.store("L", start, maximum + total.log())'

_mutant = partial(edited, flash_attention_2)


def _step(
    title: str,
    *caught_by: str,
    maximum: str = BY_ROW,
    rescaled: str = RESCALED,
    weights: str = WEIGHTS,
    held: str = "rescaled",
) -> Mutant:
    """A mutant with the step of the softmax written out."""
    step = written_out(maximum, rescaled, weights, held)
    return _mutant(title, *caught_by, edits={_STEP: step})


_SOFTMAX = [
    _step("exponentials first, then quotients", _LARGE,
          rescaled="maximum.exp() / new_maximum.exp()",
          weights="scores.exp() / new_maximum.exp()[:, None]"),
    _step("the maximum of the tile alone", _LARGE, _CAUSAL, maximum="scores.amax(-1)"),
    _step("nothing is rescaled", *_NUMBERS, _LOG, rescaled="torch.ones(len(maximum))"),
    _step("the output is not rescaled", *_NUMBERS, held="torch.ones(len(maximum))"),
    _step("rescaled the wrong way round", *_NUMBERS, _LOG,
          rescaled="(new_maximum - maximum).exp()"),
    _mutant("m is updated before l and the output", *_NUMBERS, _LOG, edits={_STEP: """\
maximum = torch.maximum(maximum, scores.amax(-1))
            weights = (scores - maximum[:, None]).exp()
            output = output + weights @ values
            total = total + weights.sum(-1)"""}),
    _mutant("the output is not divided by the total", *_NUMBERS,
            edits={_STORE_O: 'memory.store("O", start, output)'}),
    _mutant("the output is divided in every step", *_NUMBERS,
            edits={_STEP: f"{_STEP}\n            output = output / total[:, None]"}),
    _mutant("the mean of a softmax for each tile", *_NUMBERS, edits={
        _STEP: f"output_so_far = output\n            {_STEP}\n"
               "            output = output_so_far + scores.softmax(-1) @ values",
        _STORE_O: 'memory.store("O", start, output / -(-memory.n_rows // tile_kv))',
    }),
    _mutant("the scores have no scale", _OUTPUT, _CAUSAL, _KEPT, _LOG,
            edits={_SCORES: f"{_SCORES} * memory.head_dim**0.5"}),
    _mutant("m begins at 0", _LARGE, edits={"-torch.inf": "0.0"}),
    _mutant("the sum itself in L", _LOG,
            edits={_STORE_L: 'memory.store("L", start, maximum.exp() * total)'}),
    _mutant("L without the maximum", _LOG,
            edits={_STORE_L: 'memory.store("L", start, total.log())'}),
    _mutant("the total is added, not its logarithm", _LOG,
            edits={_STORE_L: 'memory.store("L", start, maximum + total)'}),
    _mutant("the maximum alone in L", _LOG, edits={_STORE_L: 'memory.store("L", start, maximum)'}),
    _mutant("a logarithm of base 2 in L", _LOG,
            edits={_STORE_L: 'memory.store("L", start, maximum + total.log2())'}),
]  # fmt: skip

_TILES = [
    _mutant("keys of zeros in the last tile", _OUTPUT, edits={_LOAD_V: f"""\
{_LOAD_V}
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
    _mutant("whole tiles are skipped, but nothing is masked inside", _CAUSAL,
            edits={_SCORES: "scores = tile_scores(queries, keys, start, first_key, False)"}),
    _mutant("is_causal is not used", _CAUSAL, _SKIPS, edits={
        _SKIP: "", _SCORES: "scores = tile_scores(queries, keys, start, first_key, False)",
    }),
    _mutant("pairs without a visible key are computed", _SKIPS, edits={_SKIP: ""}),
    _mutant("one pair behind the diagonal is computed", _SKIPS,
            edits={"stop <= first_key": "stop < first_key"}),
    _mutant("the tiles of the diagonal are skipped too", _CAUSAL, _SKIPS,
            edits={"stop <= first_key": "start <= first_key and first_key"}),
    _mutant("the loop ends with the tile of the first query", _CAUSAL, _SKIPS,
            edits={"stop <= first_key": "start < first_key"}),
]  # fmt: skip

_MOVES = [
    _mutant("Q comes again for every tile of keys", _LOADS,
            edits={_SCORES: f"{_LOAD_Q}\n            {_SCORES}"}),
    _mutant("V comes before the pair is skipped", _LOADS, edits={
        _SKIP: f"            {_LOAD_V}\n{_SKIP}", f"            {_LOAD_V}\n            scores":
        "            scores",
    }),
    _mutant("O goes to memory and comes back in every step", _LOADS, _STORES, edits={
        _STEP: f"""\
{_STEP}
            memory.store("O", start, output)
            output = memory.load("O", start, stop)""",
    }),
    _mutant("O is stored in every step", _STORES,
            edits={_STEP: f"{_STEP}\n            {_STORE_O}"}),
    _mutant("O is cleared first", _STORES, edits={_LOAD_Q: f"""\
memory.store("O", start, torch.zeros(stop - start, memory.head_dim))
        {_LOAD_Q}"""}),
    _mutant("l and m are stored beside L", _STORES, edits={_STORE_L: f"""\
{_STORE_L}
        memory.store("l", start, total)
        memory.store("m", start, maximum)"""}),
    _mutant("L is forgotten", _LOG, _STORES, edits={f"        {_STORE_L}\n": ""}),
    _mutant("all of O is stored at the end", _FIT, edits={
        _QUERY_LOOP: f"    outputs = []\n{_QUERY_LOOP}",
        f"        {_STORE_O}\n": "        outputs.append(output / total[:, None])\n",
        _STORE_L: f'{_STORE_L}\n    memory.store("O", 0, torch.cat(outputs))',
    }),
    _mutant("Q is loaded as a whole", _FIT, edits={
        _QUERY_LOOP: f'    all_queries = memory.load("Q")\n{_QUERY_LOOP}',
        _LOAD_Q: "queries = all_queries[start:stop]",
    }),
    _mutant("K and V are loaded once and kept", _LOADS, _SKIPS, _FIT, _KEPT, edits={
        _QUERY_LOOP: f"    tiles_of = {{}}\n{_QUERY_LOOP}",
        f"            {_LOAD_K}\n            {_LOAD_V}\n": """\
            if first_key not in tiles_of:
                tiles_of[first_key] = [memory.load(name, first_key, last_key) for name in "KV"]
            keys, values = tiles_of[first_key]
""",
    }),
    _mutant("K is loaded, but its first copy used", _KEPT, edits={
        _QUERY_LOOP: f"    copies = {{}}\n{_QUERY_LOOP}",
        _SCORES: f"keys = copies.setdefault(first_key, keys)\n            {_SCORES}",
    }),
    _mutant("V is loaded, but its first copy used", _KEPT, edits={
        _QUERY_LOOP: f"    copies = {{}}\n{_QUERY_LOOP}",
        _SCORES: f"values = copies.setdefault(first_key, values)\n            {_SCORES}",
    }),
]  # fmt: skip

_ORDER = Mutant(
    "flash_attention_2",
    "the order of FlashAttention-1",
    (_LOADS, _STORES, _LOG, _SKIPS, _FIT, _KEPT),
    source="""\
def flash_attention_2(memory, tile_q, tile_kv, is_causal=False):
    flash_attention_1(memory, tile_q, tile_kv, is_causal)
""",
)
FLASH_2 = [_ORDER, *_SOFTMAX, *_TILES, *_MOVES]
