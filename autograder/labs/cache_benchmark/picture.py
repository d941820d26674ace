"""Two floors that overlap: the longer of launching and computing counts."""

from autograder.builder.board import BLUE, ORANGE, Board

ROWS = (("1 token", 3), ("500 tokens", 15), ("1,650 tokens", 40), ("3,000 tokens", 73))


def draw() -> Board:
    """Passes of growing length: launching takes the same time, the GPU's work grows."""
    board = Board(46)
    board.words(17, 43, "the host launches", size=9.5)
    board.box(12, 41.8, 4, 2.6, "", BLUE)
    board.words(47, 43, "the GPU moves and computes, at the same time", size=9.5)
    board.box(42, 41.8, 4, 2.6, "", ORANGE)
    for i, (tokens, width) in enumerate(ROWS):
        y = 31 - 9 * i
        board.words(1, y + 3.5, tokens, size=9.5)
        board.box(17, y + 3.6, 40, 3.2, "", BLUE)
        board.box(17, y, width, 3.2, "", ORANGE)
    board.axes.axvline(57, 0.05, 0.87, color="#5f6b7a", lw=1, ls="--")
    board.words(58, 38.5, "a cache saves nothing up to here", size=9.5)
    board.words(72, 8.6, "here it saves time", size=9.5)
    return board
