"""Sessions of cells behind the wall."""

import shutil
from dataclasses import replace

import pytest

from autograder.intake.steps import Step
from autograder.judging.client import ZygoteHandle
from autograder.judging.jobs import Limits
from autograder.judging.session import Session
from autograder.judging.wall import ChildSettings, strongest_rung
from autograder.places import REPOSITORY

LIMITS = Limits(cell_s=2, check_s=0.3, cells_s=5)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """What students' code can import; it lies below /tmp."""
    path = tmp_path_factory.mktemp("student")
    path.chmod(0o755)
    shutil.copytree(REPOSITORY / "labkit", path / "labkit")
    return path


@pytest.fixture(scope="module")
def zygote(packages):
    settings = ChildSettings(
        student_path=packages,
        read_only=(packages,),
        n_open_files=64,
        rung=strongest_rung(),
        grace_s=0.2,
        call_s=1,
    )
    with ZygoteHandle(settings) as zygote:
        yield zygote


@pytest.fixture
def run(zygote):
    """Runs cells, with these limits besides the usual ones; gives the session."""
    started = []

    def run(*sources, **limits):
        steps = [s if isinstance(s, Step) else Step(s, i) for i, s in enumerate(sources)]
        started.append(Session(zygote, steps, {}, replace(LIMITS, **limits)))
        started[-1].run()
        return started[-1]

    yield run
    for session in started:
        session.close()
