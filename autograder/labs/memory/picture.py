"""Query heads that share KV heads: what a token leaves in the cache."""

from autograder.builder.board import BLUE, ORANGE, Board


def draw() -> Board:
    """Eight query heads with eight KV heads, and with two."""
    board = Board(34)
    for x, n_kv_heads, title, cost in (
        (4, 8, "One KV head for each query head", "Llama-2-7B: 524,288 bytes per token"),
        (54, 2, "Four query heads share a KV head", "Llama-3.1-8B: 131,072 bytes per token"),
    ):
        board.words(x, 31, title, weight="bold")
        for i in range(8):
            board.box(x + 5 * i, 21, 4, 4.5, "Q", BLUE)
            kv = i * n_kv_heads // 8
            width = 40 / n_kv_heads
            board.arrow(x + 5 * i + 2, 21, x + width * kv + (width - 1) / 2, 14.7)
        for i in range(n_kv_heads):
            board.box(x + 40 / n_kv_heads * i, 10, 40 / n_kv_heads - 1, 4.5, "KV", ORANGE)
        board.words(x, 5, cost)
    return board
