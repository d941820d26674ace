"""The judge of an assignment of a teacher's own: nbgrader's marks, and none that are forged.

Every notebook runs twice. Inside: as nbgrader runs it, test cells and all, in one walled process.
Outside: without its test cells; they run in the judge, which asks for values. A mark is nbgrader's,
from the outputs inside. Where outside gives less, a person marks the cell. Before anybody is graded
the solved and the blank notebook show for each test cell what holds for it:

    outside   the solution earns everything and the blank nothing, inside and outside
    inside    the same inside only: the mark is nbgrader's and is shown as not protected
    by hand   not even that: a person marks the cell
"""

from collections.abc import Sequence
from dataclasses import dataclass

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.intake.master import Master
from autograder.judging.client import Zygote
from autograder.judging.jobs import Limits
from autograder.judging.own.inside import OwnRun
from autograder.judging.own.outside import Outside, TeachersNames

OUTSIDE, INSIDE, BY_HAND = "outside", "inside", "by hand"


@dataclass(frozen=True)
class OwnStanding:
    """How a test cell is judged, and why not better: "outside" has no reason."""

    how: str
    reason: str = ""


class OwnJudge:
    """Judges the notebooks of one assignment. standings: of its test cells, by name."""

    def __init__(
        self,
        master: Master,
        blank: Sequence[NotebookNode],
        files: dict[str, bytes],
        zygote: Zygote,
        limits: Limits,
    ) -> None:
        """blank: the notebook as students get it; files: what lies beside it."""
        self._zygote, self._limits = zygote, limits
        self._teachers = TeachersNames(master.cells, files)
        solved = [cell.node for cell in master.cells]
        tests = {name_of(node): node for node in solved if is_test(node)}
        sides = [self._inside, self._outside]
        full, none = ([look(nodes, files) for look in sides] for nodes in (solved, blank))
        self.standings = {
            name: _standing(node, [seen[name] for seen in full], [seen[name] for seen in none])
            for name, node in tests.items()
        }

    def judge(
        self, nodes: Sequence[NotebookNode], files: dict[str, bytes]
    ) -> dict[str, OwnStanding]:
        """Run a submission that was put back on the master, and give its cells their outputs.

        Returns how each test cell was judged in the end: "by hand" where a person has to mark it.
        """
        inside = self._inside(nodes, files, keep=True)
        is_asked = OUTSIDE in {standing.how for standing in self.standings.values()}
        outside = self._outside(nodes, files) if is_asked else {}
        final = {}
        for node in filter(is_test, nodes):
            name = name_of(node)
            final[name] = _verdict(node, self.standings[name], inside[name], outside.get(name))
            node.outputs = [*_shown(final[name]), *inside[name]]
        return final

    def _inside(
        self, nodes: Sequence[NotebookNode], files: dict[str, bytes], keep: bool = False
    ) -> dict[str, list[NotebookNode]]:
        """The outputs of the test cells as nbgrader has them; `keep` gives them to all cells."""
        run = OwnRun(self._zygote, files, self._limits)
        seen = {}
        try:
            for node in nodes:
                if node.cell_type != "code":
                    continue
                outputs = run.cell(node.source) if node.source.strip() else []
                if is_test(node):
                    seen[name_of(node)] = outputs
                if keep:
                    node.outputs, node.execution_count = outputs, None
        finally:
            run.close()
        return seen

    def _outside(
        self, nodes: Sequence[NotebookNode], files: dict[str, bytes]
    ) -> dict[str, list[NotebookNode]]:
        """What the judge finds for each test cell with the names as they stand at its place."""
        run, tests = OwnRun(self._zygote, files, self._limits), Outside(self._teachers)
        seen = {}
        try:
            for node in nodes:
                if is_test(node):
                    seen[name_of(node)] = run.ask(lambda s, node=node: tests.run(node.source, s))
                elif node.cell_type == "code" and node.source.strip():
                    run.cell(node.source)
        finally:
            run.close()
        return seen


def is_test(node: NotebookNode) -> bool:
    """Whether a cell is one that nbgrader reads a score from."""
    flags = node.metadata.get("nbgrader", {})
    return bool(node.cell_type == "code" and flags.get("grade") and not flags.get("solution"))


def name_of(node: NotebookNode) -> str:
    """A marked cell's name."""
    return node.metadata["nbgrader"]["grade_id"]


def score_of(node: NotebookNode, outputs: list[NotebookNode]) -> float | None:
    """What nbgrader gives a test cell for these outputs; None for more than all points."""
    from nbgrader.utils import determine_grade  # nbgrader takes seconds to import

    try:
        return determine_grade(NotebookNode(node, outputs=outputs))[0]
    except ValueError:
        return None


def _standing(node: NotebookNode, full: list, none: list) -> OwnStanding:
    """full, none: the outputs of the solved and of the blank notebook, inside and outside."""
    points = float(node.metadata["nbgrader"]["points"])
    (solved, solved_out), (blank, blank_out) = (
        [score_of(node, outputs) for outputs in sides] for sides in (full, none)
    )
    if solved != points:
        got = "more than all points" if solved is None else f"{solved:g} of {points:g}"
        return OwnStanding(BY_HAND, f"the solution itself gets {got}{_cause(full[0])}")
    if blank != 0 and points:
        got = "more than all points" if blank is None else f"{blank:g} of {points:g}"
        return OwnStanding(BY_HAND, f"a notebook without answers gets {got}")
    if solved_out != points:
        return OwnStanding(INSIDE, f"it cannot run outside the student's process{_cause(full[1])}")
    if blank_out != 0 and points:
        return OwnStanding(
            INSIDE, "outside the student's process a notebook without answers passes"
        )
    return OwnStanding(OUTSIDE)


def _verdict(
    node: NotebookNode,
    standing: OwnStanding,
    inside: list[NotebookNode],
    outside: list[NotebookNode] | None,
) -> OwnStanding:
    if standing.how == BY_HAND:
        return standing
    score = score_of(node, inside)
    if score is None:
        return OwnStanding(BY_HAND, "the test gives more than all points")
    if any(output.get("ename") == "NotRun" for output in inside):
        return OwnStanding(BY_HAND, f"it did not run{_cause(inside)}")
    if standing.how == INSIDE:
        return standing
    score_outside = score_of(node, outside)
    if score_outside is None or score_outside < score:
        reason = "the test passes in the student's process and not outside it"
        return OwnStanding(BY_HAND, f"{reason}{_cause(outside)}")
    return standing


def _cause(outputs: list[NotebookNode]) -> str:
    """The error among some outputs, after a colon."""
    for output in outputs:
        if output.output_type == "error":
            text = output.evalue.strip().split("\n")[0][:200]
            return f" ({output.ename}: {text})" if text else f" ({output.ename})"
    return ""


def _shown(standing: OwnStanding) -> list[NotebookNode]:
    """What stands above a test cell's outputs; nbgrader reads no score from it."""
    match standing.how:
        case "outside":
            return []
        case "inside":
            text = f"Not protected, student code could change this verdict: {standing.reason}."
        case _:
            text = f"A person marks this cell: {standing.reason}."
    return [new_output("stream", name="stdout", text=f"{text}\n")]
