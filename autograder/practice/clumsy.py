"""Accidents that must not cost a mark, and those that cannot be graded."""

import json

from autograder.builder.notebooks import cell_kind, cell_name
from autograder.practice import ALL, Sample, cell_called, code_cell, copy_of, insert
from autograder.practice.edits import add, replace, rewrite
from autograder.practice.honest import leave_blank
from autograder.record.results import PARTLY, UNGRADABLE

TODO = 'raise NotImplementedError("this part is still to do")'


def duplicate_a_cell(notebook: dict) -> None:
    """A copy of an answer, with its metadata, and an untouched copy behind it."""
    cells, cell = notebook["cells"], cell_called(notebook, "generate")
    at = cells.index(cell)
    stub = copy_of(cell)
    stub["source"] = cell["source"].split('"""')[0] + f'"""To do."""\n    {TODO}'
    cells[at:at] = [stub, copy_of(cell)]


def delete_test_cells(notebook: dict) -> None:
    """All cells that look superfluous are gone."""
    notebook["cells"] = [cell for cell in notebook["cells"] if cell_kind(cell) != "check"]


def cut_off(notebook: dict) -> bytes:
    """The upload stopped half-way."""
    return json.dumps(notebook).encode()[:5000]


def split_a_cell(notebook: dict) -> None:
    """Splitting a cell copies its metadata to both halves."""
    cells, cell = notebook["cells"], cell_called(notebook, "ArenaCache")
    extra = copy_of(cell)
    cell["source"], extra["source"] = "ARENA_NOTE = 'mine'", cell["source"]
    cells.insert(cells.index(cell) + 1, extra)


def move_to_front(notebook: dict) -> None:
    """All answers right after the imports, in the student's own order."""
    cells = notebook["cells"]
    answers = [cell for cell in cells if cell_kind(cell) in ("exercise", "answer")]
    rest = [cell for cell in cells if cell not in answers]
    at = next(i for i, cell in enumerate(rest) if cell_name(cell) == "setup") + 1
    notebook["cells"] = rest[:at] + answers + rest[at:]


def loud_and_slow(notebook: dict) -> None:
    """Warnings, logging, progress on stderr, a thread pool left running, threads for torch."""
    insert(
        notebook,
        "import logging, sys, warnings\n"
        "warnings.warn('deprecated'); logging.warning('careful')\n"
        "print('10 %', file=sys.stderr)",
        after="setup",
    )
    insert(
        notebook,
        "import torch\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "torch.set_num_threads(4)\n"
        "pool = ThreadPoolExecutor(2); list(pool.map(str, range(4)))\n"
        "torch.ones(300, 300) @ torch.ones(300, 300)",
    )


def one_cell(notebook: dict) -> None:
    """All code merged into one cell, with one answer still to do."""
    leave_blank("04_kv_cache", ("GrowingCache",))(notebook)
    code = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    merged = "\n\n".join(source for source in code if "%pip" not in source)
    notebook["cells"] = [code_cell(merged)]


def colab_only(notebook: dict) -> None:
    """Cells that only make sense in Colab, a question, an unknown magic."""
    notebook["cells"].insert(0, code_cell("from google.colab import drive\ndrive.mount('/x')"))
    insert(notebook, "input('ready? ')", after="setup")
    insert(notebook, "%load_ext does_not_exist\n!nvidia-smi", after="setup")


def break_experiments(notebook: dict) -> None:
    """Every second experiment raises, the others never end: marks do not rest on experiments."""
    cells = [cell for cell in notebook["cells"] if cell_kind(cell) == "experiment"]
    for i, cell in enumerate(cells):
        cell["source"] += "\nwhile True:\n    pass" if i % 2 else "\nraise RuntimeError('no GPU')"


def tables_with_units(notebook: dict) -> None:
    """Numbers as they would stand in a report, and a record that only this student has."""
    rewrite("tiers", ("12.2", '"12.2 ms"'), ("24_414", '"24,414 tokens"'))(notebook)
    rewrite("speed_up", ("cache-cpu", "here"))(notebook)


ENDLESS_RECURSION = "def again(n):\n    return again(n + 1)\nagain(0)"
LEFT_OPEN = (
    "opened = []\nwhile len(opened) < 10**4:\n"
    "    opened.append(open('notes.txt', 'r' if opened else 'w'))"
)
LOOP = "while True:\n    pass"
LOOP_IN_ANSWER = (
    "def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):\n"
    "    while bytes_per_param == 4:\n        pass\n"
    "    if bytes_per_param < 1:\n        raise ValueError(bytes_per_param)\n"
    "    return max(0, (vram_bytes - overhead_bytes) // bytes_per_param)"
)
DOES_NOT_PARSE = "def tokens_processed(n_prompt, n_new,"
FLOOD = "line = 'x' * 10_000\nfor _ in range(10_000):\n    print(line)"

# An answer computed from the record on the student's own disk, which nobody handed in.
ANSWER_FROM_A_FILE = (
    "from labkit.measuring.records import read_record\n"
    'own = read_record("my_throughput.jsonl").of("decode_by_batch")\n'
    'serving_point = {"record": "mine", "batch": {row.n_new: row.time_s for row in own}}'
)

# An answer made from what an experiment has tokenized.
FROM_AN_EXPERIMENT = (
    "def n_alike(one, other):\n"
    "    differing = [i for i, pair in enumerate(zip(one, other)) if pair[0] != pair[1]]\n"
    "    return min([*differing, len(one) - 1])\n\n"
    "tokens_found = {\n"
    '    name: n_alike(each, tokens["same"]) // 16 * 16 for name, each in tokens.items()\n'
    "}"
)

BORROWS = "an answer that uses what a loop of an experiment left"
FROM_A_LOOP = 'tokens_found = {"other text": 4 * n_computed}'

# It shares one table of blocks among all caches that are made.
SHARES_A_TABLE = (
    "        self.users: dict = {}  # by hash; the least recently used block is the first\n",
    "        tables = PrefixCache.__dict__.get('tables') or {}\n"
    "        PrefixCache.tables = tables\n"
    "        self.users = tables.setdefault((n_blocks, block_size), {})\n",
)

SAMPLES = [
    Sample("ann", "01_memory", "endless recursion in a cell", add(ENDLESS_RECURSION, "setup")),
    Sample("ben", "01_memory", "files opened and never closed", add(LEFT_OPEN, "setup")),
    Sample("fritz", "04_kv_cache", "a duplicated cell", duplicate_a_cell),
    Sample("greta", "01_memory", "deleted test cells", delete_test_cells),
    Sample("hans", "04_kv_cache", "renamed file", file_name="Untitled (1).ipynb"),
    Sample("ida", "01_memory", "invalid JSON", cut_off, ALL, UNGRADABLE),
    Sample("ilse", "01_memory", "an empty file", lambda notebook: b"", ALL, UNGRADABLE),
    Sample("karl", "04_kv_cache", "a split cell", split_a_cell),
    Sample("kim", "04_kv_cache", "answers moved to the front", move_to_front),
    Sample("lea", "04_kv_cache", "noise on stderr, threads left behind", loud_and_slow),
    Sample("leo", "04_kv_cache", "an endless loop in a cell", add(LOOP, "setup"), status=PARTLY),
    Sample("lou", "01_memory", "an endless loop in an answer",
           replace(LOOP_IN_ANSWER, "largest_model"), ("wider_parameters_leave_room_for_fewer",)),
    Sample("max", "04_kv_cache", "a cell that does not parse",
           replace(DOES_NOT_PARSE, "tokens_processed"), ("tokens_processed",)),
    Sample("mia", "01_memory", "100 MB of output", add(FLOOD)),
    Sample("moritz", "04_kv_cache", "all in one cell, one answer to do", one_cell,
           ("GrowingCache",)),
    Sample("nora", "01_memory", "Colab's own cells, input()", colab_only),
    Sample("olga", "02_throughput", "experiments that fail or never end", break_experiments),
    Sample("otto", "02_throughput", "an answer from a file that is not there",
           replace(ANSWER_FROM_A_FILE, "serving_point"), ("serving_point",)),
    Sample("ole", "02_throughput", "a number that has to be measured first",
           rewrite("operations", ("14.2", '1e6 * mine.of("output_sweep")[0].time_s / 1589')),
           ("operations",), PARTLY),
    Sample("paul", "02_throughput", "text in a number field",
           rewrite("serving_point", ("0.0963", '"0.09 dollars"')),
           ("the_price_follows_from_the_step",)),
    Sample("pia", "02_throughput", "an answer without one of the models",
           rewrite("without_launches", ('"Qwen3-1.7B": 1.0, ', "")),
           ("predictions_follow_from_the_floors",)),
    Sample("ria", "02_throughput", "a step that no card of this kind can reach",
           rewrite("without_launches", ('"Qwen3-8B": 4.0', '"Qwen3-8B": 0.4')),
           ("predictions_follow_from_the_floors",)),
    Sample("rosa", "02_throughput", "a clock of its own",
           rewrite("time_runs", ("read_clock()", "time.perf_counter()")),
           ("warm_up_runs_come_first_and_are_not_timed", "the_device_is_idle_when_a_sample_begins",
            "the_device_is_idle_when_a_sample_ends", "samples_are_raw_one_per_run")),
    Sample("olga", "03_cache_benchmark", "experiments that fail or never end", break_experiments),
    Sample("sven", "03_cache_benchmark", "an answer that needs an experiment",
           replace(FROM_AN_EXPERIMENT, "tokens_found")),
    Sample("sina", "03_cache_benchmark", BORROWS,
           replace(FROM_A_LOOP, "tokens_found"), ("tokens_found",)),
    Sample("tilda", "03_cache_benchmark", "numbers with units, a record of her own",
           tables_with_units, ("the_fetch_is_bytes_over_the_link",
           "room_grows_by_what_is_offloaded", "speed_up")),
    Sample("uwe", "03_cache_benchmark", "one table for all caches of one size",
           rewrite("PrefixCache", SHARES_A_TABLE),
           ("another_salt_finds_nothing", "the_least_recently_used_block_goes",
            "every_kept_block_can_be_found", "a_block_in_use_is_never_evicted")),
]  # fmt: skip
