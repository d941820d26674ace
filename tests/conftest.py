"""What holds for all tests."""

import gc
import sys

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--large",
        action="store_true",
        help="experiments in the browser as large as students', all right variants behind the wall",
    )


def pytest_collection_finish():
    """What is imported by now stays, so the collector need not walk it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_ipywidgets(monkeypatch):
    """A Python that has no ipywidgets."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
