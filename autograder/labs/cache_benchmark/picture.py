"""A prefix cache: a prompt's blocks are found by a chain of hashes, and old blocks are evicted."""

from autograder.builder.board import BLUE, GREEN, GREY, ORANGE, Board

STARTS, WIDTH = (20, 36, 52, 68, 84), 14
BLOCKS = ("instructions", "document", "document")


def draw() -> Board:
    """A prompt, the hashes of its full blocks, the kept blocks, and a tier for evicted ones."""
    board = Board(46)
    _prompt(board)
    _kept(board)
    return board


def _prompt(board: Board) -> None:
    board.words(1, 42, "prompt", size=9.5)
    board.words(1, 31, "hashes", size=9.5)
    board.words(14, 31, "salt", ha="right", size=9.5)
    for i, (x, text) in enumerate(zip(STARTS, BLOCKS, strict=False)):
        board.box(x, 39.5, WIDTH, 5, text, BLUE)
        board.box(x + 3, 28.5, 8, 5, f"h{i}", ORANGE)
        board.arrow(x + 7, 39, x + 7, 34)
        board.arrow(x - 5, 31, x + 2.6, 31)
        board.arrow(x + 7, 28, x + 7, 23)
    board.box(STARTS[3], 39.5, 9, 5, "question", BLUE)
    board.words(STARTS[3] + 10, 42, "not full: no hash", size=9.5)


def _kept(board: Board) -> None:
    """The blocks within the budget: those in use, and the others by their last use."""
    board.words(1, 18.5, "kept blocks", size=9.5)
    board.frame(18, 14.5, 81, 8, "")
    for x, text in zip(STARTS, (*["in use"] * 3, "used lately", "used long ago"), strict=True):
        board.box(x, 16, WIDTH, 5, text, GREEN if text == "in use" else GREY)
    board.words(43, 11.5, "found: these tokens are not computed", ha="center", size=9.5)
    board.arrow(91, 15.5, 91, 7)
    board.words(89, 11.5, "evicted", ha="right", size=9.5)
    board.box(STARTS[3], 1.5, 30, 5, "host memory or disk", GREY)
    board.arrow(67.4, 4, 58, 4)
    board.words(57, 4, "later: fetch it, or recompute it?", ha="right", size=9.5)
