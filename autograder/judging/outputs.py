"""The outputs of notebook cells: the student's, which are hostile, and ours for the test cells.

What the student's process says it showed is opened later in a TA's browser. Kept are streams,
errors, and displays of a few harmless types, all bounded. HTML, JavaScript and SVG can carry
scripts and are dropped; Markdown loses its raw HTML and, like LaTeX, links that run; an image is
base64 or nothing.
"""

from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.judging.channel import clean_text
from autograder.markup import BASE64, harmless_latex, harmless_markdown
from autograder.record.results import CheckResult

MAX_OUTPUTS = 200
MAX_CHARS = 4 << 20
MAX_TEXT_CHARS = 300_000
MAX_IMAGE_CHARS = 2 << 20
MAX_TRACE_LINES, MAX_LINE_CHARS = 100, 2000

WORDS = {"passed": "passed", "unjudged": "not judged", "undecided": "not decided"}
_TEXTS = ("text/plain", "text/markdown", "text/latex")
_HARMLESS = {"text/markdown": harmless_markdown, "text/latex": harmless_latex}
_IMAGES = ("image/png", "image/jpeg")


def check_outputs(checks: list[CheckResult]) -> list[NotebookNode]:
    """A test cell's outputs: what was found, then the one score that nbgrader reads.

    nbgrader gives zero points for any stderr, and all points for no output. So there is never
    stderr, and always output.
    """
    lines = [
        f"{WORDS.get(check.status, 'FAILED')}  {check.claim or check.check}"
        + ("" if check.passed else f"\n        {check.explanation_before_the_end}")
        for check in checks
    ]
    earned = round(sum(check.points for check in checks), 2)
    return [
        new_output("stream", name="stdout", text="\n".join(lines) + "\n"),
        new_output("execute_result", data={"text/plain": f"{earned}"}, execution_count=1),
    ]


def clean_outputs(outputs: Any, max_chars: int = MAX_CHARS) -> list[NotebookNode]:
    """Hostile outputs in notebook format, cut with a note where they exceed `max_chars`."""
    kept: list[NotebookNode] = []
    n_chars = 0
    for output in outputs[:MAX_OUTPUTS] if isinstance(outputs, list) else []:
        cleaned = _clean(output) if isinstance(output, dict) else None
        if cleaned is None:
            continue
        n_chars += n_chars_of([cleaned])
        if n_chars > max_chars:
            note = "\n... the rest of the output was dropped: the notebook has shown too much\n"
            return [*kept, new_output("stream", name="stdout", text=note)]
        kept.append(cleaned)
    return kept


def n_chars_of(outputs: list[NotebookNode]) -> int:
    """The size of cleaned outputs."""
    n_chars = 0
    for output in outputs:
        texts = [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", ())]
        n_chars += sum(map(len, (*texts, *output.get("data", {}).values())))
    return n_chars


def _clean(output: dict) -> NotebookNode | None:
    match output.get("output_type"):
        case "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            text = clean_text(output.get("text"), MAX_TEXT_CHARS)
            return new_output("stream", name=name, text=text)
        case "display_data":
            return new_output("display_data", data=_clean_data(output.get("data")))
        case "execute_result":
            data = _clean_data(output.get("data"))
            return new_output("execute_result", data=data, execution_count=1)
        case "error":
            trace = output.get("traceback")
            lines = trace[:MAX_TRACE_LINES] if isinstance(trace, list) else []
            return new_output(
                "error",
                ename=clean_text(output.get("ename"), 200),
                evalue=clean_text(output.get("evalue"), MAX_LINE_CHARS),
                traceback=[clean_text(line, MAX_LINE_CHARS) for line in lines],
            )
    return None


def _clean_data(data: Any) -> dict[str, str]:
    kept = {}
    for mime in _TEXTS if isinstance(data, dict) else ():
        if isinstance(data.get(mime), str):
            kept[mime] = clean_text(data[mime], MAX_TEXT_CHARS)
    for mime, harmless in _HARMLESS.items():
        if mime in kept:
            kept[mime] = harmless(kept[mime])
    for mime in _IMAGES if isinstance(data, dict) else ():
        image = data.get(mime)
        if isinstance(image, str) and len(image) <= MAX_IMAGE_CHARS and BASE64.fullmatch(image):
            kept[mime] = image
    return kept
