"""Draft, verify, residual, as areas."""

from autograder.builder.board import BLUE, GREEN, GREY, ORANGE, RED, Board

DRAFT, TARGET = (0.5, 0.25, 0.15, 0.1), (0.3, 0.4, 0.1, 0.2)


def draw() -> Board:
    """A step on the left; accepted and residual areas of one position on the right."""
    board = Board(44)
    board.words(1, 40.5, "One step", weight="bold")
    for i, word in enumerate(("the", "cat", "sat", "up")):
        board.box(14 + 8 * i, 29, 7.5, 5, word, (GREY, BLUE, BLUE, BLUE)[i])
    board.words(1, 31.5, "draft", size=9.5)
    board.words(1, 20.5, "target", size=9.5)
    board.box(14, 18, 31.5, 5, "one pass checks all three", ORANGE)
    for i, (word, color) in enumerate(
        (("the", GREY), ("cat", GREEN), ("sat", GREEN), ("down", RED))
    ):
        board.box(14 + 8 * i, 7, 7.5, 5, word, color)
    board.words(1, 9.5, "text", size=9.5)
    board.words(14, 3, "two accepted, one drawn from the residual", size=9.5)
    board.words(57, 40.5, "One position", weight="bold")
    for i, (draft, target) in enumerate(zip(DRAFT, TARGET, strict=True)):
        x, low, scale = 58 + 10 * i, min(draft, target), 45
        board.box(x, 12, 7, scale * low, "", GREEN)
        if draft > target:
            board.box(x, 12 + scale * low, 7, scale * (draft - target), "", "white")
        else:
            board.box(x, 12 + scale * low, 7, scale * (target - draft), "", RED)
        board.words(x + 3.5, 9.5, "ABCD"[i], ha="center", size=9.5)
    for x, color, text in (
        (57, GREEN, "accepted"),
        (70, "white", "rejected"),
        (83, RED, "residual"),
    ):
        board.box(x, 3, 2.5, 2.5, "", color)
        board.words(x + 3.3, 4.2, text, size=9)
    return board
