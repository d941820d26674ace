"""Forged traces: what a scheduler, a speculative loop or a kernel claims to have done."""

from autograder.practice import Sample
from autograder.practice.edits import replace

ASK_THE_SCRIPT = """
import gc

def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    scripts = [each for each in gc.get_objects() if type(each).__name__ == '_Scripted']
    text = list(prompt)
    while len(text) < len(prompt) + n_new:
        row = distribution(target.feed(text[target.n_cached():])[-1], temperature, top_k, top_p)
        row = row.tolist()
        text.append(scripts[0].source.choose(row) if scripts else row.index(max(row)))
        if text[-1] == eos:
            break
    return text[len(prompt):]
"""

# Nobody's tokens are made; the log says that they were, and so do the server's own methods.
FORGED_LOG = """
class DecodeLoop:
    def __init__(self):
        self.waiting, self.running, self.log = RequestQueue(), [], []

    def step(self, server):
        for fields in server.arrivals():
            number = fields["id"]
            self.log += [("decode_step", number)] * server.max_length
            vars(server).update(log=self.log, trace=self.log, n_steps=len(self.log), done=True)
            server.load_kv(number, 1)
            server.free_stored(number)
            server.decode_step = lambda ids: [server.eos] * len(ids)
            server.decode_step([number])
            server.finish(number)
            server.free_kv(number)
"""

# The target alone makes the tokens; the report says that every draft was accepted.
FORGED_BLOCKS = """
from types import SimpleNamespace

def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    text = list(prompt)
    while len(text) < len(prompt) + n_new:
        logits = target.feed(text[target.n_cached():])[-1]
        text.append(sample(distribution(logits, temperature, top_k, top_p), rng))
        if blocks is not None:
            blocks.append(Block(gamma, gamma, len(text) - 1))
        for model in (target, draft):
            vars(model).update(n_calls=1, n_fed=1, calls=[], log=[])
        if text[-1] == eos:
            break
    return text[len(prompt):]
"""

# All of Q, K and V at once, and counters that say otherwise.
FORGED_COUNTERS = """
def flash_attention_1(memory, tile_q, tile_kv, is_causal=False):
    n = memory.n_rows
    queries, keys, values = (memory.load(name, 0, n) for name in "QKV")
    scores = tile_scores(queries, keys, 0, 0, is_causal)
    memory.store("O", 0, torch.softmax(scores, -1) @ values)
    n_tiles = -(-n // tile_q) * -(-n // tile_kv)
    vars(memory).update(n_loads=5 * n_tiles, n_stores=3 * n_tiles, log=[], traffic_bytes=0)
"""


SAMPLES = [
    Sample("x39", "06_speculative", "asks the script for the target's own law",
           replace(ASK_THE_SCRIPT, "speculative"), ("speculative",)),
    Sample("x60", "05_batching", "a forged log of the scheduler",
           replace(FORGED_LOG, "DecodeLoop"), ("DecodeLoop",)),
    Sample("x61", "06_speculative", "forged counts of accepted tokens",
           replace(FORGED_BLOCKS, "speculative"), ("speculative",)),
    Sample("x62", "07_flash_attention", "forged counts of loads and stores",
           replace(FORGED_COUNTERS, "flash_attention_1"),
           ("flash_1_leaves_totals_and_maxima", "flash_1_loads_no_more_than_needed",
            "flash_1_stores_no_more_than_needed", "flash_1_fits_the_chip",
            "flash_1_keeps_no_tile")),
]  # fmt: skip
