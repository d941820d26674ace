"""What tests of several modules need."""

import sys

import pytest


@pytest.fixture
def no_ipywidgets(monkeypatch):
    """A Python that has no ipywidgets."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
