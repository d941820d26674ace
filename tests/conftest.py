"""What holds for all tests."""

import gc
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from autograder.builder.source import find_lab

TESTS = Path(__file__).parent
LABS = TESTS / "labs"
LONGEST = (  # first what takes longest
    *("autograder/proof/test_matrix.py", "labkit/measuring/test_room.py", "notebooks", "commands"),
    *("browser", "autograder/proof"),
    *("autograder/grading", "labkit/measuring/test_every_figure.py", "autograder"),
    "labs/batching/test_serving_real.py",
)
REST = (  # modules and claims that take ten seconds or more: `make test-rest` plays them all
    *("autograder/builder/test_first_cell.py", "autograder/builder/test_first_install.py"),
    "autograder/builder/test_closure.py::test_the_setup_cell_of_an_older_notebook",
    "autograder/builder/test_labs.py::test_without_the_places_of_a_lab",
    "autograder/builder/test_new.py::test_a_new_lab_and_a_new_exercise_build",
    "autograder/builder/test_new.py::test_a_lab_is_removed",
    "autograder/builder/test_new.py::test_the_tests_of_a_new_lab_and_of_a_new_exercise",
    "autograder/desk/test_store.py::test_every_mark_that_was_acknowledged",
    *("autograder/grading/test_cluster.py", "autograder/grading/test_durability.py"),
    "autograder/grading/test_grade.py::test_two_jobs_that_are_killed",
    *("autograder/proof/test_busy.py", "autograder/proof/test_cheats.py"),
    *("autograder/proof/test_class.py", "autograder/record/test_nbgrader_tools.py"),
    "autograder/record/test_database.py::test_a_folder_of_any_name",
    *("autograder/record/test_other_assignments.py", "autograder/test_readme.py"),
    *("browser/test_accessibility.py::test_nothing_of_ours", "browser/test_desk_class.py"),
    *("browser/test_desk_kills.py", "browser/test_formgrader.py", "browser/test_questions.py"),
    *("browser/test_jupyterlab.py::test_players_appear", "browser/test_website.py"),
    "browser/test_jupyterlab.py::test_keys_alone",
    *("browser/test_slides.py::test_no_slide", "commands/test_commands.py::test_the_commands_of"),
    *("labkit/measuring/test_out_of_memory.py", "labkit/measuring/test_room.py"),
    *("labkit/test_package.py::test_the_wheels_alone", "labkit/zoo/test_zoo_hub.py"),
    *("labs/batching/test_serving_real.py", "labs/flash_attention/test_flash_widget.py"),
    *("labs/speculative/test_speculative_widget.py", "test_distribution.py::test_sdist_and_wheel"),
    *("test_environments.py", "training/test_pair.py::test_acceptance", "training/test_train.py"),
    "browser/test_pages_axe.py::test_a_class_of_1200",
    "autograder/grading/test_ids.py::test_answers_to_a_friends_questions",
    "autograder/oral/test_keys.py::test_in_a_class_no_question_dominates",
    "browser/test_accessibility.py::test_a_notebook_without_trust",
    "browser/test_slides.py::test_a_player_fills_its_slide",
    "labs/batching/test_serving_measured.py::test_it_goes_on",
    "labs/batching/test_serving_measured.py::test_two_devices",
    *("labs/batching/test_serving_served.py::test_the_rows", "notebooks/test_without_room.py"),
)
TOGETHER = {  # modules that share what takes seconds to start: one worker has them all
    **{f"tests/notebooks/test_{name}.py": "kernels" for name in
       ("solved_notebooks", "blank_notebooks", "checks_in_a_kernel")},
    **{f"tests/browser/test_{name}.py": "JupyterLab" for name in
       ("jupyterlab", "accessibility", "questions")},
}  # fmt: skip

gc.disable()  # while all tests are imported: a quarter of that time
# Not `explain`: to trace a failing test has held a worker of Python 3.11 in one bytecode for ever.
PLAIN = settings(deadline=None, phases=[phase for phase in Phase if phase is not Phase.explain])
settings.register_profile("short", PLAIN, max_examples=30, derandomize=True)  # one set of inputs
settings.register_profile("long", PLAIN, max_examples=300)
settings.load_profile("short")


def pytest_addoption(parser):
    parser.addoption(
        "--large",
        action="store_true",
        help="experiments of notebooks as large as students', all right variants behind the wall",
    )
    parser.addoption(
        "--lab", help="only what concerns one lab: 04_kv_cache, kv_cache or 04", metavar="LAB"
    )


def pytest_configure(config):
    try:
        config.lab = find_lab(name) if (name := config.getoption("--lab")) else None
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_ignore_collect(collection_path, config):
    """Folders of other labs are not even read; the rest is, to see what it does for each lab."""
    if config.lab and collection_path.parent == LABS and collection_path.name != config.lab.topic:
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A claim that stands in slow instances alone is an error, but for those of `REST`."""
    report = yield
    names = [(each.name.partition("[")[0], each) for each in report.result or ()]
    shown = {
        name for name, each in names if not each.get_closest_marker("slow") or is_in_rest(each)
    }
    if hidden := {name for name, _ in names} - shown:
        report.outcome = "failed"
        report.longrepr = f"{sorted(hidden)}: leave one instance that is not slow"
    return report


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(config, items):
    """Drop what is not of the lab asked for; begin with what takes longest, for an even end."""
    items.sort(key=place_of)
    for item in filter(is_in_rest, items):
        item.add_marker("slow")
    if config.lab:
        others = [item for item in items if not concerns(item, config.lab)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if concerns(item, config.lab)]


def is_in_rest(node):
    """Whether a test, or its module, is named in `REST`."""
    return node.nodeid.removeprefix("tests/").startswith(REST)


def place_of(item):
    """Where a test stands in `LONGEST`, or after all of it."""
    path = item.path.relative_to(TESTS).as_posix()
    return next((i for i, name in enumerate(LONGEST) if path.startswith(name)), len(LONGEST))


@pytest.hookimpl(optionalhook=True)  # without xdist there is no such hook
def pytest_xdist_make_scheduler(config, log):
    """Modules of `TOGETHER` go to one worker, each other module to any."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            module = super()._split_scope(nodeid)
            return TOGETHER.get(module, module)

    return Scheduling(config, log)


def concerns(item, lab):
    """Whether a test lies in the lab's folder, or the id of its parameters names the lab."""
    ids = item.callspec.id.split("-") if hasattr(item, "callspec") else ()
    return LABS / lab.topic in item.path.parents or lab.name in ids


def pytest_collection_finish():
    """What is imported by now stays, so the collector need not walk it, not even once."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module")
def warm_slots(tmp_path_factory):
    """A module's gradings in this process share slots: to start one takes seconds."""
    from shared_slots import shared_slots

    with shared_slots(tmp_path_factory.mktemp("slots")):
        yield


@pytest.fixture
def no_ipywidgets(monkeypatch):
    """A Python that has no ipywidgets."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
