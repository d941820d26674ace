"""Arena, ring and pages: three ways to store keys and values."""

from autograder.builder.board import BLUE, GREEN, ORANGE, Board


def draw() -> Board:
    """Each store holds a few tokens, by their positions."""
    board = Board(46)
    board.words(1, 41, "Arena", weight="bold")
    for i in range(10):
        board.box(14 + 5 * i, 38.5, 5, 5, str(i) if i < 6 else "", BLUE if i < 6 else "white")
    board.arrow(44, 35, 44, 38)
    board.words(46, 35.5, "length: rewind only moves this arrow", size=9.5)
    board.words(1, 26, "Ring", weight="bold")
    for i, position in enumerate((4, 5, 2, 3)):
        board.box(14 + 5 * i, 23.5, 5, 5, str(position), ORANGE if position > 3 else BLUE)
    board.words(37, 26, "window 4: position 4 replaced 0, and 5 replaced 1", size=9.5)
    board.words(1, 10, "Pages", weight="bold")
    for i, (text, color) in enumerate(
        (
            ("a: 0-3", BLUE),
            ("b: 0-2", GREEN),
            ("a: 4-5", BLUE),
            ("free", "white"),
            ("free", "white"),
        )
    ):
        board.box(14 + 12 * i, 7.5, 11, 5, text, color)
    board.words(14, 16, "blocks of 4 tokens", size=9.5)
    board.words(14, 3.5, "block table of a: [0, 2]    of b: [1]", size=9.5)
    return board
