"""The course's rule on AI assistants: what follows from `ai` in notebooks/course.toml.

The rule stands on the course page and below each notebook's title. `AGENTS.md` tells it to an
assistant. If everything is allowed, each lab ends with a work log, which a person marks.
"""

from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK_LOG = HERE / "work_log.txt"  # its cells, as a lab's source has them

RULES = {
    "none": """\
2. **Use no AI assistant.** Do not ask one about a lab, and switch off what completes code in your
   editor. You may translate the text of a lab. You must be able to explain every line that you hand
   in. `AGENTS.md` in the zip of a lab tells assistants not to help.
""",
    "tutor": """\
2. **Use AI assistants to learn, not to answer.** You may ask an assistant to explain a paper, a
   concept or an error message. Do not hand in code or text that it wrote. Say in the notebook which
   assistant you used and for what. You must be able to explain every line that you hand in.
   `AGENTS.md` in the zip of a lab tells an assistant how to help. Keep it in the folder of the
   notebook, or begin a chat with its text.
""",
    "free": """\
2. **You may use AI assistants for everything, and you keep a log.** The last section of each
   notebook is your work log. A person marks it: not how much help you had, but how you checked what
   came. You must be able to explain every line that you hand in. `AGENTS.md` in the zip of a lab
   tells an assistant about the log. Keep it in the folder of the notebook, or begin a chat with its
   text.
""",
}
OPENINGS = {
    "none": "No AI assistants",
    "tutor": "AI assistants may explain, but not answer",
    "free": "AI assistants are allowed, and you keep a work log",
}


def opening(ai: str) -> str:
    """The sentence below a notebook's title."""
    return f"{OPENINGS[ai]}: see rule 2 of [the course](../docs/course.md)."
