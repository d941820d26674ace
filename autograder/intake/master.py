"""The master notebook: what submissions are rebuilt on. Any nbgrader assignment can be one."""

from dataclasses import dataclass
from functools import cached_property

from nbformat import NotebookNode

from autograder.names import squeeze, statements

OPEN_KINDS = ("exercise", "answer", "written", "experiment")


@dataclass(frozen=True)
class MasterCell:
    """A cell of the master. kind: the builder's, or read off nbgrader's flags."""

    kind: str
    name: str
    node: NotebookNode

    @property
    def source(self) -> str:
        return self.node.source

    @property
    def points(self) -> float:
        return float(self.node.metadata.get("nbgrader", {}).get("points", 0))

    @property
    def is_open(self) -> bool:
        """Whether the student's text counts here, and not the master's."""
        return self.kind in OPEN_KINDS

    def is_stub(self, source: str) -> bool:
        """Whether a submitted text is this cell as it was handed out."""
        return squeeze(source) == squeeze(self.source)


@dataclass(frozen=True)
class Master:
    """The cells of an assignment, in order."""

    lab: str
    cells: tuple[MasterCell, ...]
    metadata: dict

    @property
    def topic(self) -> str:
        """The topic of a lab of ours, whose checks judge it; "" for any other assignment."""
        return self.metadata.get("labkit", {}).get("lab", "").partition("_")[2]

    @cached_property
    def experiment_statements(self) -> set[str]:
        """The statements of all experiments, squeezed."""
        experiments = [cell.source for cell in self.of_kind("experiment")]
        return {squeeze(part) for source in experiments for part in statements(source)}

    def of_kind(self, *kinds: str) -> list[MasterCell]:
        """The cells of these kinds, in order."""
        return [cell for cell in self.cells if cell.kind in kinds]


def read_master(notebook: NotebookNode, lab: str) -> Master:
    """The master of an assignment, from our builder or from nbgrader's source folder."""
    cells = []
    for i, node in enumerate(notebook.cells):
        ours, flags = node.metadata.get("labkit", {}), node.metadata.get("nbgrader", {})
        name = ours.get("name") or flags.get("grade_id") or f"cell-{i}"
        cells.append(MasterCell(ours.get("kind") or _kind_by_flags(node, flags), name, node))
    return Master(lab, tuple(cells), dict(notebook.metadata))


def _kind_by_flags(node: NotebookNode, flags: dict) -> str:
    if flags.get("grade"):
        return "written" if flags.get("solution") else "check"
    if flags.get("solution"):
        return "exercise" if node.cell_type == "code" else "prose"
    if flags.get("locked") and node.cell_type == "code":
        return "given"
    return "experiment" if node.cell_type == "code" else "prose"
