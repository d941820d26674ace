"""The README's table of labs, made from the sources: nobody writes points twice."""

import ast

from autograder.builder.source import REPOSITORY, Lab, read_labs

README = REPOSITORY / "README.md"
BEGIN, END = "<!-- labs: `autograder build` writes this table -->\n", "<!-- end of labs -->\n"


def readme_with_table() -> str:
    """The README with the table of labs as it should be. Raises: ValueError without its marks."""
    before, begin, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md has no lines {BEGIN.strip()!r} and {END.strip()!r}")
    return before + begin + _table() + end + after


def _table() -> str:
    rows = ["| lab | what students build | points | by hand |", "|---|---|---|---|"]
    return "\n".join([*rows, *map(_row, read_labs())]) + "\n"


def _row(lab: Lab) -> str:
    by_checks = sum(cell.points for cell in lab.marked)
    by_hand = sum(cell.points for cell in lab.cells if cell.kind == "written")
    link = f"[{lab.name}](notebooks/{lab.name}.ipynb)"
    return f"| {link} | {summary(lab)} | {by_checks:g} | {by_hand:g} |"


def summary(lab: Lab) -> str:
    """What students build: the first line of the package that ships beside the answers."""
    text = (REPOSITORY / f"labkit/labs/{lab.topic}/__init__.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(text)).splitlines()[0].removesuffix(".")
