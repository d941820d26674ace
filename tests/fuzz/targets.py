"""What is fuzzed: each target plays bytes that nobody vouches for, and says what holds of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from answer_targets import any_answer, play_answer
from check_targets import any_replies, play_checks
from delivery_targets import any_folder, any_zip, play_folder, play_zip
from frame_inputs import any_conversation, any_frames, any_requests
from frame_targets import play_conversation, play_executor, play_frames
from hypothesis.strategies import SearchStrategy
from log_targets import any_log, play_log
from notebook_inputs import any_notebook, any_outputs, any_script
from notebook_targets import play_notebook, play_outputs, play_script
from table_targets import any_policy, any_roster, play_policy, play_roster


@dataclass(frozen=True)
class Target:
    """play: raises if something does not hold of the bytes; inputs: what is worth trying."""

    play: Callable[[bytes], object]
    inputs: SearchStrategy[bytes]


TARGETS = {
    "notebook": Target(play_notebook, any_notebook),
    "script": Target(play_script, any_script),
    "outputs": Target(play_outputs, any_outputs),
    "frames": Target(play_frames, any_frames),
    "conversation": Target(play_conversation, any_conversation),
    "executor": Target(play_executor, any_requests),
    "checks": Target(play_checks, any_replies),
    "answers": Target(play_answer, any_answer),
    "zip": Target(play_zip, any_zip),
    "folder": Target(play_folder, any_folder),
    "log": Target(play_log, any_log),
    "policy": Target(play_policy, any_policy),
    "roster": Target(play_roster, any_roster),
}
