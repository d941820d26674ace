"""The master notebook of a lab: what submissions are rebuilt on."""

from dataclasses import dataclass
from functools import cached_property

from nbformat import NotebookNode

from autograder.names import squeeze, statements

OPEN_KINDS = ("exercise", "answer", "written", "experiment")


@dataclass(frozen=True)
class MasterCell:
    """A cell of the master, with the kind that the builder gave it."""

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
    """The cells of a lab, in order."""

    lab: str
    cells: tuple[MasterCell, ...]
    metadata: dict

    @property
    def topic(self) -> str:
        """The topic of the lab, whose checks judge it; "" for an assignment that is no lab."""
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
    """The master of a lab, from our builder or from nbgrader's source folder."""
    cells = []
    for i, node in enumerate(notebook.cells):
        ours = node.metadata.get("labkit", {})
        cells.append(MasterCell(ours.get("kind", "prose"), ours.get("name", f"cell-{i}"), node))
    return Master(lab, tuple(cells), dict(notebook.metadata))
