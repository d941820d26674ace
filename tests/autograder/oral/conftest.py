import pytest
from oral_keys import LAB, slot_of

from autograder.builder.source import find_lab


@pytest.fixture(scope="module")
def slot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slot")
    folder.chmod(0o755)
    for parent in folder.parents:
        if parent.stat().st_uid == folder.stat().st_uid and len(parent.parts) > 2:
            parent.chmod(0o755)
    with slot_of(find_lab(LAB), folder) as slot:
        yield slot
