"""Questions to click in a notebook: options in one's own order, fields for one's own numbers.

What is clicked is stored in the output below the question and in a file beside the notebook, and
set as the variable of that name. Without widgets the question is text, and the variable counts.
"""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from labkit.labs.papers.answers import (
    Unreadable,
    both,
    clean,
    code_line,
    is_blank,
    is_twofold,
    letters_of,
    numbers_of,
    shown,
)
from labkit.labs.papers.items import id_in, item_of, items
from labkit.labs.papers.store import FILE_NAME, AnswerFile, as_output, this_notebook
from labkit.labs.papers.text import Question, answers_table
from labkit.labs.papers.words import language_of, say


class Asker:
    """Shows questions and takes answers into the names of a notebook.

    ask = Asker(globals())
    ask("q02", q02)
    """

    def __init__(self, namespace: MutableMapping[str, Any], folder: str | Path = ".") -> None:
        self._names = namespace
        self._file = AnswerFile(Path(folder) / FILE_NAME)
        if has_widgets():
            self._file.fill_from(this_notebook())

    def __call__(self, name: str, answer: Any = None) -> None:
        """Show the question that the variable `name` answers; never raises."""
        try:
            self._show(name, answer)
        except Exception as error:
            print(f"{shown(name)}: {type(error).__name__}: {error}")

    def summary(self) -> None:
        """Print what is read of every answer."""
        from labkit.bridge.local import local_student
        from labkit.labs.papers.checks.notebook import what_is_read

        student = local_student(self._names)
        names = [name for item in items().values() for name in item.answers]
        print(answers_table({name: what_is_read(student, name) for name in names}))

    def _show(self, name: str, written: Any) -> None:
        item, language = item_of(name), language_of(self._names.get("language"))
        student_id = id_in(self._names.get("student_id"))
        if not student_id:
            print(say("no id", language))
            return
        if is_twofold(written):
            written = written["written"]
        asked = Asked(item, name, student_id, language, written)
        if has_widgets():
            Panel(asked, self._names, self._file).show()
        else:
            show_text(asked)


@dataclass(frozen=True)
class Asked(Question):
    """A question that is asked in a cell. written: what the cell's text answers."""

    written: Any

    def read(self, answer: Any) -> Any:
        """The letters or numbers of an answer. Raises: Unreadable if it is not complete."""
        if not self.is_numbers:
            return letters_of(self.item, answer, self.language)
        values = numbers_of(self.item, answer, self.language)
        if any(map(is_blank, values.values())):
            raise Unreadable("blank", self.language)
        return values

    def line(self, clicked: Any) -> str:
        """What is stored, as people read it."""
        answer = both(self.item, self.written, clicked)
        if is_blank(answer):
            return say("nothing stored", self.language)
        if is_twofold(answer):
            return say("twice", self.language, **{key: shown(answer[key]) for key in answer})
        if is_blank(clicked):
            text = shown(answer)
            line = code_line(self.name, text) if answer == text else f"{self.name} = {text}"
            return say("written", self.language, line=line)
        stored = say("stored", self.language, line=code_line(self.name, clicked))
        n, wanted = self._n_of(answer if isinstance(answer, Mapping) else clicked)
        return stored + (say("to go", self.language, n=n, wanted=wanted) if n != wanted else "")

    def explanation(self, clicked: Any) -> str:
        """Why it is so, if the edition says why and the answer is complete."""
        try:
            self.read(both(self.item, self.written, clicked))
        except Unreadable:
            return ""
        return self.explained_html()

    def _n_of(self, answer: Any) -> tuple[int, int]:
        """How many letters or numbers there are of those that are wanted, typed or clicked."""
        if isinstance(answer, Mapping):
            fields = self.item.numbers.fields
            return sum(not is_blank(answer.get(name)) for name in fields), len(fields)
        return len(answer.split()), self.item.n_letters


class Panel:
    """A question with its controls; every click is stored."""

    def __init__(self, asked: Asked, names: MutableMapping[str, Any], file: AnswerFile) -> None:
        import ipywidgets

        from labkit.labs.papers.controls import controls_for

        self._asked, self._names, self._file = asked, names, file
        self._clicked: Any = file.get(asked.student_id, asked.name)
        self._was_clicked = False
        self._why = ipywidgets.HTML()
        self._clear = ipywidgets.Button(
            description=say("clear", asked.language), layout={"width": "6em"}
        )
        self._clear.on_click(self._start_again)
        self._controls = controls_for(asked, self._clicked, self._take)
        head = ipywidgets.HTML(asked.head_html())
        self._box = _box_with_text(asked.as_markdown())(
            [head, self._controls.box, self._clear, self._why]
        )

    def show(self) -> None:
        """Display the question, and below it what is stored."""
        from IPython.display import display

        display(self._box)
        self._handle = display(self._record(), raw=True, display_id=True)
        self._set()

    def _take(self, answer: Any) -> None:
        self._clicked, self._was_clicked = clean(self._asked.name, answer), True
        self._file.put(self._asked.student_id, self._asked.name, self._clicked)
        self._handle.update(self._record(), raw=True)
        self._set()

    def _start_again(self, _: Any) -> None:
        self._controls.clear()
        self._take("")

    def _set(self) -> None:
        """The variable is what counts: the text, the click, or both if they differ."""
        if not is_blank(self._clicked):
            asked = self._asked
            self._names[asked.name] = both(asked.item, asked.written, self._clicked)
        elif self._was_clicked:
            self._names[self._asked.name] = self._asked.written
        self._why.value = self._asked.explanation(self._clicked)

    def _record(self) -> dict:
        asked = self._asked
        return as_output(asked.name, asked.student_id, self._clicked, asked.line(self._clicked))


def show_text(asked: Asked) -> None:
    """The question for a viewer without widgets."""
    text = asked.as_markdown()
    if shell() is None:
        print(f"{text}\n\n{asked.line('')}")
        return
    from IPython.display import HTML, display

    display({"text/markdown": text, "text/plain": text}, raw=True)
    display({"text/plain": asked.line("")}, raw=True)
    if why := asked.explanation(""):
        display(HTML(why))


def shell() -> Any:
    """The IPython that runs this; None outside of one."""
    if find_spec("IPython") is None:
        return None
    from IPython import get_ipython

    return get_ipython()


def has_widgets() -> bool:
    """Whether there is a kernel behind a front end, and ipywidgets to show there."""
    return getattr(shell(), "kernel", None) is not None and find_spec("ipywidgets") is not None


def _box_with_text(text: str) -> type:
    """A box that takes the question along as text, for viewers that know no widgets."""
    import ipywidgets

    class Question(ipywidgets.VBox):
        def _repr_mimebundle_(self, **kwargs: Any) -> dict:
            shown_as = super()._repr_mimebundle_(**kwargs) or {}
            return shown_as | {"text/markdown": text}

    return Question
