"""Right submissions of another design."""

from autograder.builder.source import find_lab, read_labs
from autograder.practice import Edit, Sample, cell_called
from tests.known import variants_of


def write_differently(lab: str) -> Edit:
    """Take, for every exercise, the first right variant instead of the reference."""

    def edit(notebook: dict) -> None:
        for variant in reversed(variants_of(find_lab(lab))):
            cell_called(notebook, variant.exercise)["source"] = variant.source

    return edit


SAMPLES = [
    Sample("berta", lab.name, "perfect, written differently", write_differently(lab.name))
    for lab in read_labs()
]
