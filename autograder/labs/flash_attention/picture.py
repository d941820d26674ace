"""Tiles in memory and on the chip."""

from autograder.builder.board import BLUE, GREEN, GREY, ORANGE, Board


def draw() -> Board:
    """Q, K, V and O lie in memory; one tile of each is on the chip, with its scores."""
    board = Board(44)
    board.frame(2, 6, 44, 31, "memory (HBM): large and slow")
    board.frame(60, 6, 38, 31, "chip (SRAM): small and fast")
    for j, (name, color) in enumerate((("Q", BLUE), ("K", ORANGE), ("V", ORANGE), ("O", GREEN))):
        for i in range(4):
            is_loaded = i == (1 if name in "QO" else 2)
            board.box(6 + 10 * j, 26 - 5.5 * i, 7, 5, "", color if is_loaded else "white")
        board.words(9.5 + 10 * j, 33.5, name, ha="center", weight="bold")
    board.arrow(47, 26, 59, 26)
    board.words(53, 28.5, "load", ha="center", size=9.5)
    board.arrow(59, 15, 47, 15)
    board.words(53, 17.5, "store", ha="center", size=9.5)
    board.box(63, 24, 7, 5, "Q", BLUE)
    board.box(73, 31, 10, 4, "K", ORANGE)
    board.box(73, 22, 10, 8, "scores", GREY)
    board.box(86, 22, 7, 8, "V", ORANGE)
    board.box(73, 11, 10, 5, "O", GREEN)
    board.arrow(78, 22, 78, 16.3)
    board.words(79, 8.4, "scores never leave the chip", ha="center", size=9.5)
    return board
