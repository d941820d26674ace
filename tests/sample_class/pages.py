"""Attacks on whoever reads: markup and formulas in names, outputs, messages and written answers.

A test looks for what they leave in pages, notebooks and tables.
"""

from autograder.builder.notebooks import cell_kind
from autograder.practice import ALL, Sample, insert
from autograder.practice.edits import add, replace
from autograder.practice.honest import leave_blank
from tests.sample_class.edits import forged

OUTPUTS = r"""
from IPython.display import HTML, SVG, Javascript, Latex, Markdown, display
import sys
script = '<script>alert(1)</script>'
display(HTML(script), Javascript('alert(1)'), Markdown(script + '[x](javascript:alert(1))'))
display(Markdown('[x](java&#115;cript:alert(1)) <img src=x onerror=alert(1)>'))
display(Latex(script + r'$\href{javascript:alert(1)}{x}$'))
display({'text/html': script, 'image/svg+xml': script, 'application/javascript': 'alert(1)',
         'image/png': '"><script>alert(1)</script>', 'text/plain': script}, raw=True)
print(script, '\x1b[31m' + script, chr(0x202e), chr(0x2028))
print(script, file=sys.stderr)
raise type(script, (Exception,), {})(script)
"""

MESSAGES = """
class Odd(Exception):
    pass
Odd.__name__ = Odd.__qualname__ = '<script>alert(1)</script>'

def largest_model(memory_bytes, overhead_bytes, bytes_per_param):
    raise Odd('`<script>alert(1)</script>` <img src=x onerror=alert(1)> =cmd() [x](javascript:1)')
"""

LONE_SURROGATE = """
import labkit.bridge.executor
labkit.bridge.executor.Executor._to_handle = lambda self, value: {
    "$handle": [self._held.append(value) or len(self._held) - 1, "\\ud800", False]}
class Odd(Exception):
    def __str__(self): return "\\ud800\\u2028<script>alert(1)</script>"
def answer(*args, **kwargs):
    raise Odd()
"""

MARKUP = r"""<script>alert(1)</script>

<img src=x onerror=alert(1)> [x](javascript:alert(1)) [y](jAvA	script:alert(1))
[z](java&#115;cript:alert(1)) ![w](data:text/html,alert) [v]: vbscript:alert(1)

$\href{javascript:alert(1)}{x}$ <!-- ### BEGIN HIDDEN TESTS -->
"""


def markup_in_prose(notebook: dict) -> None:
    """Scripts in the written answers and in cells of the student's own."""
    for cell in notebook["cells"]:
        if cell_kind(cell) == "written":
            cell["source"] = MARKUP
    notebook["cells"].append({"cell_type": "markdown", "metadata": {}, "source": MARKUP})
    insert(notebook, f"'''{MARKUP}'''")


SAMPLES = [
    forged("x21", "01_memory", "text that files and pages do not take", LONE_SURROGATE, "answer"),
    Sample("<img src=x onerror=alert(1)>", "01_memory", "markup in outputs", add(OUTPUTS)),
    Sample("'\"><script>alert(1)<", "01_memory", "markup in written answers", markup_in_prose),
    Sample("=cmd()|'x'!A1", "01_memory", "markup and formulas in messages",
           replace(MESSAGES, "largest_model"), ("largest_model",), file_name="=1+1.ipynb"),
    Sample("@SUM(1+1)", "01_memory", "a formula for a name", leave_blank("01_memory"), ALL),
    Sample("O'Brien; DROP TABLE student;--", "01_memory", "a command for a name"),
    Sample("%s{0}{{7*7}}", "01_memory", "a template for a name"),
    Sample("-rf", "01_memory", "an option for a name"),
    Sample("\u0430da", "01_memory", "a Cyrillic letter in a neighbour's name",
           leave_blank("01_memory"), ALL),
    Sample("jose\u0301", "01_memory", "an accent of its own"),
    Sample("jos\u00e9", "01_memory", "an accent on its letter", leave_blank("01_memory"), ALL),
    Sample("李小龙 😀", "01_memory", "a name in another script", file_name="作业 (1).ipynb"),
    Sample("x?gnp.exe", "01_memory", "a name that runs backwards", folder="x\u202egnp.exe"),
    Sample("two?lines", "01_memory", "a name of two lines", folder="two\nlines"),
]  # fmt: skip
