"""Attacks on the machine: each starts from a solved notebook, whose rest keeps its marks."""

from autograder.practice import Sample
from autograder.practice.edits import add, replace
from autograder.record.results import PARTLY

MEMORY_BOMB = (  # little of it is touched: a slow machine sees it go off in time
    "import numpy\nhoard = [bytearray(1 << 28)]\n"
    "while True:\n    hoard.append(numpy.empty(1 << 30, dtype='uint8'))"
)
FORK_BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
FILL_THE_DISK = (
    "with open('big', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 20))"
)
EXIT = "import os\nos._exit(0)"
EXIT_IN_ANSWER = "def tokens_processed(n_prompt, n_new, cached):\n    import os\n    os._exit(0)"
KILL_ALL = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(-1, signal.SIGKILL)"
DEAF_LOOP = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    pass"
HANG_IN_C = "sum(range(10**15))"
CRASH = "import ctypes\nctypes.string_at(0)"
STOP_ITSELF = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"
CLOSE_EVERYTHING = "import os\nos.closerange(0, 300)"
NO_BUILTINS = "import builtins\nbuiltins.len = builtins.isinstance = builtins.type = None"
NO_LIMITS_LEFT = """
import resource
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
    resource.setrlimit(limit, (4, 4))
"""
DEEP_RECURSION = """
import sys
sys.setrecursionlimit(10**9)
nested = []
for _ in range(10**6):
    nested = [nested]
repr(nested)
"""
MANY_FILES = "for i in range(10**5):\n    open(f'file-{i}', 'w').close()"
FLOODS = """
import os, sys
os.write(1, bytes(50 << 20))
print('x' * 10**8)
for i in range(2000):
    display(i)
sys.stderr.write('y' * 10**7)
raise ValueError('z' * 10**7)
"""
SERVANTS = """
import os, signal, threading, time, torch
def patch_again():
    while True:
        torch.equal = torch.allclose = lambda *a, **k: True
        time.sleep(0.01)
threading.Thread(target=patch_again).start()
for _ in range(4):
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(0.1)
"""
GIANTS = """
def largest_model(memory_bytes, overhead_bytes, bytes_per_param):
    return torch.ones(1 << 20).expand(1 << 20, 1 << 20)

def longest_sequence(*args, **kwargs):
    return 10 ** 10**5
"""

# Python reads a number of so many digits, and does not write it in decimal.
DIGITS = f"""
class Row: pass
rows = {{0x{"f" * 5000}: Row()}}
rows[0x{"f" * 5000}].is_mine = True
"""

SAMPLES = [
    Sample("x12", "04_kv_cache", "os._exit in a cell", add(EXIT, "setup"), status=PARTLY),
    Sample("x13", "04_kv_cache", "os._exit in an answer",
           replace(EXIT_IN_ANSWER, "tokens_processed"), ("tokens_processed",)),
    Sample("x14", "04_kv_cache", "kills every process it can", add(KILL_ALL)),
    Sample("x15", "04_kv_cache", "a loop deaf to interrupts", add(DEAF_LOOP), status=PARTLY),
    Sample("x16", "04_kv_cache", "a memory bomb", add(MEMORY_BOMB)),
    Sample("x17", "01_memory", "a fork bomb", add(FORK_BOMB, "setup"), status=PARTLY),
    Sample("x18", "01_memory", "fills the disk", add(FILL_THE_DISK)),
    Sample("x80", "01_memory", "hangs in compiled code", add(HANG_IN_C, "setup"), status=PARTLY),
    Sample("x81", "01_memory", "crashes in compiled code", add(CRASH, "setup"), status=PARTLY),
    Sample("x82", "01_memory", "stops itself", add(STOP_ITSELF, "setup")),
    Sample("x83", "01_memory", "closes every descriptor", add(CLOSE_EVERYTHING, "setup"),
           status=PARTLY),
    Sample("x84", "01_memory", "no builtins left", add(NO_BUILTINS, "setup"), status=PARTLY),
    Sample("x85", "01_memory", "lowers its own limits", add(NO_LIMITS_LEFT)),
    Sample("x86", "01_memory", "a million levels deep", add(DEEP_RECURSION, "setup"),
           status=PARTLY),
    Sample("x87", "01_memory", "a hundred thousand files", add(MANY_FILES)),
    Sample("x88", "01_memory", "floods on every stream", add(FLOODS)),
    Sample("x89", "01_memory", "threads and daemons that stay", add(SERVANTS)),
    Sample("x90", "01_memory", "a giant tensor and a huge integer as answers",
           replace(GIANTS, "largest_model", "longest_sequence"),
           ("largest_model", "longest_sequence")),
    Sample("x97", "01_memory", "a number of thousands of digits in a cell", add(DIGITS)),
]  # fmt: skip
