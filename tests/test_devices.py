"""What students run finds its numbers on the device that it has."""

import ast

import pytest

from autograder.places import REPOSITORY, SOURCES


def places():
    kit = [path for path in (REPOSITORY / "labkit").rglob("*.py") if "checks" not in path.parts]
    return [*kit, *SOURCES.glob("*.py")]


@pytest.mark.parametrize("path", places(), ids=lambda path: path.stem)
def test_every_generator_names_its_device(path):
    """A bare `Generator()` is on the CPU, and a tensor on a GPU cannot be drawn with it."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    bare = [
        node.lineno
        for node in calls
        if ast.unparse(node.func).split(".")[-1] == "Generator" and not (node.args or node.keywords)
    ]
    assert bare == []
