"""The shared tasks: cheapest paths by tool call, multiple choice, open answers judged by a rubric.

`python -m training.evaluate MODEL` evaluates a model on all three.
"""

from training.tasks.items import SPLIT_SIZES, TASKS, Item, Score, items

__all__ = ["SPLIT_SIZES", "TASKS", "Item", "Score", "items"]
