"""The desk of two people and a reader, served for the class in a module's fixture `out`."""

import pytest
from desk_server import served, signed_in


@pytest.fixture(scope="module")
def desk(out):
    with served(out, "bea", "carl", readers=["lee"]) as (origin, people):
        yield origin, people


@pytest.fixture
def bea(desk):
    with signed_in(desk[0], desk[1]["bea"]) as client:
        yield client
