"""The layout: what may import what, and where a lab lies."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from autograder.builder.source import read_labs
from autograder.places import REPOSITORY
from labkit.checks.names import bound_names

ROOTS = ("labkit", "autograder", "training", "benchmarks")
LABS = {lab.topic: lab for lab in read_labs()}
PLACES = ("labkit/labs", "autograder/labs", "tests/known", "tests/labs")
MOST_FILES = 20
IMPORTS = re.compile(r"^ *from ([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)
COLLECTIONS = ("wrong", "right")  # one file an exercise


def module_name(path):
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for root in ROOTS for path in (REPOSITORY / root).rglob("*.py")}


def parts_that_run(node):
    """All below a node but what stands under `if TYPE_CHECKING`, which is for annotations alone."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from parts_that_run(child)


def imported(path):
    """The modules of ours that a file imports, those inside of functions included."""
    for node in parts_that_run(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module


@cache
def arrows():
    """(module, a module that it imports), of all modules of ours."""
    return [
        (name, other)
        for name, path in MODULES.items()
        for other in imported(path)
        if other in MODULES and other != name
    ]


@cache
def bound_in(module):
    return bound_names(MODULES[module].read_text(encoding="utf-8"))


def folder_of(module):
    """labkit.checks, labkit.labs.kv_cache; a file that lies loose is a folder of its own."""
    n_parts = 3 if module.split(".")[1:2] == ["labs"] else 2
    return ".".join(module.split(".")[:n_parts])


def island_of(module):
    """The topic in whose folder a module lies, if it is a lab's."""
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["labs"] and len(parts) > 2 and parts[2] in LABS else None


def answers_of(module):
    """The topic whose answers a module holds, if it is a lab's file of answers."""
    root, _, topic = module.partition(".")
    return topic if root == "labkit" and topic in LABS else None


def circles(pairs):
    graph = nx.DiGraph((start, end) for start, end in pairs if start != end)
    return [sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1]


def test_imports_in_functions_and_circles_are_seen():
    assert ("labkit.cli", "labkit.measuring.machine.hardware") in arrows()
    assert circles([("a", "b"), ("b", "c"), ("c", "b")]) == [["b", "c"]]


def test_no_module_imports_the_folder_of_a_lab_but_the_lab_itself():
    assert [
        f"{name} imports {other}"
        for name, other in arrows()
        if not name.startswith("benchmarks.")
        and island_of(other)
        and island_of(other) not in (island_of(name), answers_of(name))
    ] == []


@pytest.mark.parametrize("lab", LABS.values(), ids=lambda lab: lab.name)
def test_a_notebook_imports_the_folder_of_no_other_lab(lab):
    code = "\n".join(cell.text for cell in lab.cells if cell.kind not in ("prose", "written"))
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    assert {island_of(node.module) for node in imports} <= {lab.topic, None}


def test_a_lab_imports_no_answers_of_a_later_lab():
    """They are blank in what its students get."""
    wrong = []
    for name, other in arrows():
        own, topic = island_of(name) or answers_of(name), answers_of(other)
        if own and topic and LABS[topic].number > LABS[own].number:
            wrong.append(f"{name} imports {other}")
    assert wrong == []


@pytest.mark.parametrize(
    ("root", "others"),
    [
        ("labkit", {"autograder", "training", "benchmarks"}),
        ("autograder", {"training", "benchmarks"}),
    ],
)
def test_what_students_get_imports_nothing_that_they_do_not_get(root, others):
    assert [arrow for arrow in arrows() if arrow[0].split(".")[0] == root
            and arrow[1].split(".")[0] in others] == []  # fmt: skip


def test_the_product_imports_no_tests():
    product = [path for name, path in MODULES.items() if name.startswith(("labkit", "autograder"))]
    imports = re.compile(r"^ *(from|import) tests\b", re.MULTILINE)
    assert [path for path in product if imports.search(path.read_text(encoding="utf-8"))] == []


def test_no_modules_import_each_other_in_a_circle():
    assert circles(arrows()) == []


def test_no_folders_import_each_other_in_a_circle():
    assert circles((folder_of(name), folder_of(other)) for name, other in arrows()) == []


def test_a_name_that_is_imported_from_a_module_of_ours_is_there():
    """Also in scripts that no test starts, such as those for a GPU."""
    missing = [
        f"{path.relative_to(REPOSITORY)}: {name} of {module}"
        for path in (*MODULES.values(), *(REPOSITORY / "tests").rglob("*.py"))
        for module, names in IMPORTS.findall(path.read_text(encoding="utf-8"))
        if module in MODULES
        for name in re.findall(r"(\w+)(?: as \w+)?", re.sub("#.*", "", names))
        if f"{module}.{name}" not in MODULES and not {name, "__getattr__"} & bound_in(module)
    ]
    assert missing == []


def test_the_packages_stay_small_at_the_top_and_no_folder_holds_too_many_files():
    at_most = Counter({REPOSITORY / "labkit": 12, REPOSITORY / "autograder": 9})
    n_files = Counter(
        path.parent
        for root in (*ROOTS, "tests")
        for path in (REPOSITORY / root).rglob("*.py")
        if path.parent.name not in COLLECTIONS
    )
    assert {
        str(folder): n for folder, n in n_files.items() if n > (at_most[folder] or MOST_FILES)
    } == {}


@pytest.mark.parametrize("lab", LABS.values(), ids=lambda lab: lab.name)
def test_a_lab_has_its_places_and_all_its_answers_are_in_one_file(lab):
    assert {cell.target.module for cell in lab.exercises} <= {f"labkit.{lab.topic}"}
    assert [place for place in PLACES if not (REPOSITORY / place / lab.topic).is_dir()] == []


@pytest.mark.parametrize("place", PLACES)
def test_every_folder_of_a_lab_has_its_source(place):
    folders = {path.parent.name for path in (REPOSITORY / place).glob("*/*.*")}
    assert folders - LABS.keys() - {"__pycache__"} == set()


def lists_in(path):
    """The strings of each list, tuple, set or dict, and the words of each string, in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            yield {part.value for part in parts if isinstance(part, ast.Constant)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield set(node.value.split())


def test_no_shared_file_lists_the_labs():
    """So that a lab is added, or taken out, by its places alone."""
    shared = [path for name, path in MODULES.items() if not island_of(name)]
    own = {REPOSITORY / "tests/labs", REPOSITORY / "tests/known"}
    shared += [
        path for path in Path(REPOSITORY / "tests").rglob("*.py") if not own & set(path.parents)
    ]
    names = [{topic, lab.name} for topic, lab in LABS.items()]
    assert {
        str(path.relative_to(REPOSITORY))
        for path in shared
        for some in lists_in(path)
        if sum(bool(one & some) for one in names) > 4
    } == set()
