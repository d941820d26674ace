"""Slots that stay warm between the gradings of one test module: to start one takes seconds."""

from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import cache

import pytest

from autograder.grading import grade, pool, pools
from autograder.grading.slot_files import write_slot_files


@contextmanager
def shared_slots(folder):
    """Gradings in this process share a slot for each lab, seed and choice of exercises."""
    with ExitStack() as stack:

        @cache
        def files_of(lab):
            (folder / lab.name).mkdir()
            return write_slot_files(lab, folder / lab.name)

        @cache
        def slot_of(settings):
            return stack.enter_context(closing(pool.SteadySlot(settings)))

        class SharedSlots:
            """Stands in for `Slots`."""

            def __init__(self, settings, jobs):
                self._slot = slot_of(replace(settings, uid=pool.uid_of(0)))

            def grade(self, todo):
                return map(self._slot.grade, todo)

            def close(self):
                """It stays warm for others."""

        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(grade, "write_slot_files", lambda lab, scratch: files_of(lab))
        patch.setattr(pools, "Slots", SharedSlots)
        yield
