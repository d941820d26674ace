"""The queue of launches and the clock."""

from autograder.builder.board import BLUE, ORANGE, RED, Board


def draw() -> Board:
    """Six launches on the host, six kernels on the GPU, and two readings of the clock."""
    board = Board(34)
    board.words(2, 24, "host", weight="bold")
    board.words(2, 12, "GPU", weight="bold")
    for i in range(6):
        board.box(12 + 4.5 * i, 21.5, 4, 5, str(i + 1), BLUE)
        board.box(17 + 12.5 * i, 9.5, 12, 5, f"kernel {i + 1}", ORANGE)
    board.box(39, 21.5, 52.5, 5, "wait_for_device()", "white")
    board.axes.axvline(39, 0.08, 0.82, color=RED, lw=2)
    board.axes.axvline(92, 0.08, 0.9, color="#1a7f37", lw=2)
    board.words(12, 30.5, "launches: the host only queues work")
    board.words(40, 5, "clock read here: you measure the queue")
    board.words(91, 1.5, "clock read here: you measure the run", ha="right")
    return board
