"""Where the course lies in its repository, and what its labs are called."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
NOTEBOOKS = REPOSITORY / "notebooks"
SOURCES = NOTEBOOKS / "source"
COURSE = NOTEBOOKS / "course.toml"
ORAL = "_oral"  # what ends the name of the notebook of questions about a lab


def lab_sources() -> list[Path]:
    """The source of each lab, in order. Raises: ValueError where the repository is not."""
    if not SOURCES.is_dir():
        raise ValueError(
            f"the labs are not here: {SOURCES} is missing. autograder works in its repository: "
            "clone it, and install it there with pip install --editable '.[grade]'"
        )
    return sorted(SOURCES.glob("[0-9][0-9]_*.py"))


def lab_names() -> list[str]:
    """The names of all labs, in order: "01_memory" and so on."""
    return [path.stem for path in lab_sources()]


def source_of(name: str) -> Path:
    """The source of the lab called "04_kv_cache", "kv_cache" or "04".

    Raises: ValueError naming the known ones.
    """
    for path in lab_sources():
        number, _, topic = path.stem.partition("_")
        if name in (path.stem, topic, number, number.lstrip("0")):
            return path
    raise ValueError(f"there is no lab {name!r}; there are {', '.join(lab_names())}")


def assignment_of(name: str) -> str:
    """The full name of a lab, or of the notebook of questions about it: "04_oral" is one, too.

    Raises: ValueError naming the known labs.
    """
    lab = source_of(name.removesuffix(ORAL)).stem
    return lab + ORAL if name.endswith(ORAL) else lab
