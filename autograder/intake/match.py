"""Matching the cells of a submission with its master: by name, by text, by defined names."""

from collections.abc import Mapping
from itertools import pairwise

from autograder.intake.master import Master, MasterCell
from autograder.intake.read import SubmittedCell
from autograder.intake.written import WrittenAnswers
from autograder.names import (
    assigned_names,
    checked_exercise,
    is_check_call,
    is_install_cell,
    parsed,
    squeeze,
)
from labkit.checks.names import bound_names


class Match:
    """Which submitted cells belong to which cell of the master. places: by the master's name."""

    def __init__(
        self, master: Master, submitted: list[SubmittedCell], files: Mapping[str, bytes]
    ) -> None:
        self.master = master
        self.submitted = submitted
        self.notes: list[str] = []
        self.places: dict[str, list[int]] = {}
        self._own: list[int] = []
        self._beside: set[str] = set()  # what other cells define than its own
        self._match_by_name_and_text()
        self._match_by_definition()
        self._match_by_question()
        self._note_repairs()
        self.best = {cell.name: self._last_filled(cell) for cell in master.cells if cell.is_open}
        self.owner = {i: cell for cell in master.cells for i in self.places.get(cell.name, ())}
        self.written = WrittenAnswers(master, submitted, self.places, self.owner, files)
        self.notes += self.written.notes

    def _match_by_name_and_text(self) -> None:
        by_name = {cell.node.get("id"): cell for cell in self.master.cells}
        by_name |= {cell.name: cell for cell in self.master.cells}
        by_text = {
            squeeze(cell.source): cell
            for cell in self.master.cells
            if not cell.is_open or cell.kind == "experiment"
        }
        for i, cell in enumerate(self.submitted):
            claimed = next((by_name[name] for name in cell.names if name in by_name), None)
            if claimed is None or not self._may_be(claimed, cell):
                claimed = by_text.get(squeeze(cell.source)) or self._install_for(cell)
            if claimed is None:
                self._own.append(i)
            else:
                self.places.setdefault(claimed.name, []).append(i)

    def _install_for(self, cell: SubmittedCell) -> MasterCell | None:
        """The master's install cell, for that of any release of the lab."""
        is_install = cell.is_code and is_install_cell(cell.source)
        return next(iter(self.master.of_kind("install")), None) if is_install else None

    @staticmethod
    def _may_be(claimed: MasterCell, cell: SubmittedCell) -> bool:
        """Whether a cell may stand for the one its metadata names.

        An open cell may hold anything; of a locked one only the untouched copy is the master's,
        anything else is code of the student's own.
        """
        if claimed.is_open:
            return True
        return squeeze(cell.source) == squeeze(claimed.source) or is_check_call(cell.source)

    def _match_by_definition(self) -> None:
        """Answers whose cells are gone, or as they were handed out: other cells may define them."""
        defined = {i: bound_names(self.submitted[i].source) for i in self._own}
        for cell in self.master.of_kind("exercise", "answer"):
            places, wanted = self.places.get(cell.name, []), bound_names(cell.source)
            found = [i for i in self._own if wanted & defined[i]]
            if not places and found:
                self._take(cell, found, f"the cell {cell.name} was recognised by what it defines")
            elif not places:
                self.notes.append(f"no cell for {cell.name} was handed in")
            elif all(self._is_untouched(cell, i) for i in places):
                found = [i for i in found if cell.name in self._assigned(i, cell)]
                if found:
                    told = f"the cell {cell.name} is as it was handed out, but cell {found[-1] + 1}"
                    self._take(cell, found, f"{told} defines {cell.name}: it counts")
                    self.places[cell.name] = [*places, *found]
                    self._beside.add(cell.name)

    def _is_untouched(self, cell: MasterCell, place: int) -> bool:
        source = self.submitted[place].source
        return not source.strip() or cell.is_stub(source)

    def _assigned(self, place: int, stub: MasterCell) -> set[str]:
        """The names that a cell gives for good; none if it is a text, or one more stub."""
        cell = self.submitted[place]
        is_code = cell.is_code or parsed(cell.source) is not None
        return assigned_names(cell.source) if is_code and not stub.is_stub(cell.source) else set()

    def _match_by_question(self) -> None:
        by_text = {
            squeeze(cell.source): i for i, cell in enumerate(self.submitted) if not cell.is_code
        }
        for before, cell in pairwise(self.master.cells):
            question = by_text.get(squeeze(before.source))
            if cell.kind != "written" or cell.name in self.places or question is None:
                continue
            below = question + 1
            if below in self._own and not self.submitted[below].is_code:
                self._take(cell, [below], f"the answer {cell.name} was recognised by its question")

    def _take(self, cell: MasterCell, found: list[int], note: str) -> None:
        self.places[cell.name] = found
        taken = set(found)
        self._own = [i for i in self._own if i not in taken]
        self.notes.append(note)

    def _note_repairs(self) -> None:
        for cell in self.master.cells:
            n_copies = len(self.places.get(cell.name, ()))
            is_open = cell.kind in ("exercise", "answer", "written")
            if is_open and n_copies > 1 and cell.name not in self._beside:
                self.notes.append(f"the cell {cell.name} appears {n_copies} times")
            if cell.kind == "check" and n_copies == 0:
                self.notes.append(f"the test cell {cell.name} was missing or changed")

    def problem(self) -> str:
        """Why this is another assignment's notebook: no cells of this one, or checks of others.

        A notebook with at least half of the cells counts as this assignment.
        """
        wanted = [cell.name for cell in self.master.of_kind("exercise", "answer", "written")]
        n_found = sum(name in self.places for name in wanted)
        known = {cell.name.removeprefix("check_") for cell in self.master.of_kind("check")}
        called = {checked_exercise(self.submitted[i].source) for i in self._own} - {""}
        others = sorted(called - known)
        if 2 * n_found >= len(wanted) or (n_found and not others):
            return ""
        if not n_found and any(cell.is_foreign for cell in self.submitted):
            return (
                "it is a notebook of an nbgrader assignment that is no lab, and `nbgrader "
                f"autograde` grades those: hand in the file of {self.master.lab}"
            )
        checks = f", and it checks {', '.join(others[:3])}" if others else ""
        return (
            f"the notebook has {n_found} of the {len(wanted)} cells to fill in of {self.master.lab}"
            f"{checks}: it seems to be another one; hand in the right file"
        )

    def is_blank(self) -> bool:
        """Whether the student wrote nothing into or beside the cells to fill in."""
        answers = self.written.answers
        if not all(answer.is_blank for answer in answers.values()):
            return False
        for cell in self.master.of_kind("exercise", "answer", "written"):
            if cell.name in answers:
                continue
            place = self.best[cell.name]
            text = "" if place is None else self.submitted[place].source
            if text.strip() and not cell.is_stub(text):
                return False
        return True

    def _last_filled(self, cell: MasterCell) -> int | None:
        """Of several copies the last one that was filled in."""
        indices = self.places.get(cell.name, [])
        stub = squeeze(cell.source)
        filled = [i for i in indices if squeeze(self.submitted[i].source) not in ("", stub)]
        is_code = cell.node.cell_type == "code"
        fitting = [i for i in filled if self.submitted[i].is_code == is_code]
        return next(reversed(fitting or filled or indices), None)

    def unrun(self) -> dict[str, int]:
        """The names whose cell was turned into text, and where it stands."""
        found: dict[str, int] = {}
        for cell in self.master.of_kind("exercise", "answer"):
            place = self.best[cell.name]
            if place is None or self.submitted[place].is_code or cell.node.cell_type != "code":
                continue
            found |= dict.fromkeys(bound_names(cell.source), place)
            self.notes.append(f"the cell {cell.name} is not a code cell, so it did not run")
        return found
