"""A request's way through two servers."""

from autograder.builder.board import BLUE, GREEN, ORANGE, Board


def draw() -> Board:
    """Prefill server, store, decode server, and what moves between them."""
    board = Board(36)
    for x, width, title in (
        (20, 18, "prefill server"), (47, 12, "store"), (68, 18, "decode server")
    ):  # fmt: skip
        board.frame(x, 9, width, 18, title)
    for i in range(3):
        board.box(2, 11 + 5 * i, 9, 4, "request", BLUE)
        board.box(22, 11 + 5 * i, (14, 12, 13)[i], 4, "prompt", BLUE)
    for i in range(2):
        board.box(49, 12.5 + 6 * i, 8, 4.5, "KV", ORANGE)
    for i in range(3):
        board.box(70, 11 + 5 * i, 5, 4, "KV", ORANGE)
        for j in range((3, 1, 2)[i]):
            board.box(75.5 + 3.2 * j, 11 + 5 * i, 3, 4, "", GREEN)
    for x, to_x, text in (
        (11.5, 19.5, ""),
        (38.5, 46.5, "save"),
        (59.5, 67.5, "load"),
        (86.5, 92, ""),
    ):
        board.arrow(x, 18, to_x, 18)
        board.words((x + to_x) / 2, 21, text, ha="center", size=9)
    board.words(93, 18, "answer")
    board.words(29, 4.5, "all tokens of a prompt at once", ha="center", size=9.5)
    board.words(77, 4.5, "one token per request and step", ha="center", size=9.5)
    return board
