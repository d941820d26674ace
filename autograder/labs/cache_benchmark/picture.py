"""Two bounds of a pass, on one axis: the longer of launching and computing counts."""

from autograder.builder.board import BLUE, ORANGE, Board

LAUNCH_WIDTH = 40  # of 24 ms; 4.5, 7.1, 24 and 44.7 ms are the floors of Llama-3.1-8B on an H100
ROWS = (("1 token", 4.5), ("500 tokens", 7.1), ("1,650 tokens", 24), ("3,000 tokens", 44.7))


def draw() -> Board:
    """Passes of growing length: launching takes the same time, the GPU's work grows."""
    board = Board(46)
    board.words(17, 43, "the host launches", size=9.5)
    board.box(12, 41.8, 4, 2.6, "", BLUE)
    board.words(47, 43, "the GPU moves and computes, at the same time", size=9.5)
    board.box(42, 41.8, 4, 2.6, "", ORANGE)
    for i, (tokens, floor_ms) in enumerate(ROWS):
        y = 31 - 9 * i
        board.words(1, y + 3.5, tokens, size=9.5)
        board.box(17, y + 3.6, LAUNCH_WIDTH, 3.2, "", BLUE)
        board.box(17, y, LAUNCH_WIDTH * floor_ms / 24, 3.2, "", ORANGE)
    board.axes.axvline(57, 0.05, 0.87, color="#5f6b7a", lw=1, ls="--")
    board.words(58, 38.5, "a cache saves nothing up to here", size=9.5)
    board.words(72, 8.6, "here it saves time", size=9.5)
    return board
