"""The trees that students see in the checks of `verify_tree`."""

from labkit.labs.speculative.checks.trees.nodes import TreeCase

# A kind, then a line for each node: token, parent | draft | target, in percent.
TREES = """
one
0 -1 |  7 12 73  8 | 24 27 29 20
3  0 | 27  6 18 49 |  7 44  8 41
one
2 -1 | 48 16  6 30 | 12 17 48 23
1  0 | 36 28 23 13 | 42 32  6 20
one
3 -1 | 23 24 24 29 | 27 33  9 31
0  0 | 20  7  6 67 | 18 21 27 34
order
3 -1 | 18 22 32 19  9 | 18 10 15 16 41
3  0 | 57  6 18 12  7 | 52 10 10  7 21
4  0 | 13 14  7 35 31 | 27  7 12 40 14
2  0 | 19 60  7  8  6 | 12 33 37 11  7
siblings
0 -1 | 28 18  7  6 24 17 |  7 23  6 20 15 29
2  0 | 41  8  8  8 12 23 | 16  6 28 11 15 24
4  0 | 41  8  8  8 12 23 | 11  6 59 11  6  7
siblings
4 -1 |  7 28 38 13  8  6 |  8 18 27 10 27 10
5  0 |  6 12 19 19 26 18 | 11 39  6  8  8 28
4  0 |  6  7  7 26 47  7 | 13 13 20 12 33  9
0  0 | 25  7  7 33  8 20 | 11  8 21 24 30  6
siblings
1 -1 |  7 18  8 11 36 20 | 27  7 23  9 19 15
1  0 | 14 12 29 27 11  7 | 39  7 33  6  7  8
1  0 | 18 34  6  8 25  9 |  6 21  6 15 15 37
4  0 | 16 11  7 21 20 25 | 14 30  9 20 12 15
siblings
3 -1 | 17 21 17 21 11 13 | 10  6 20 31 20 13
0  0 | 22 23  8 26 14  7 | 20 26 29  7 12  6
0  0 | 22 23  8 26 14  7 |  8  6 24 33 22  7
deep
1 -1 | 50  7 43 | 81  8 11
1  0 | 39 53  8 | 16 78  6
2  1 | 13 77 10 | 13 76 11
2  0 | 39 53  8 | 12 72 16
0  3 | 22 63 15 |  6 76 18
deep
2 -1 | 26  6 68 | 67 23 10
2  0 | 59  7 34 | 20 67 13
0  0 | 59  7 34 | 67 15 18
2  2 | 64 11 25 | 55  7 38
0  1 | 28 60 12 | 22 26 52
deep
2 -1 | 17 21 62 |  7 59 34
0  0 | 45 48  7 | 30 17 53
1  1 |  8 79 13 | 81  6 13
1  2 | 51 40  9 | 51 34 15
zeros
1 -1 | 12  6 14 24 12 32 |  0 20 12 16 38 14
5  0 | 23  8 31  6 11 21 |  8 41  0 19 12 20
0  0 | 23  8 31  6 11 21 |  0 28 46  6 10 10
plain
1 -1 | 44  9  8 39 | 33  6 54  7
"""


def trees_in(table: str) -> list[TreeCase]:
    """The trees of such a table."""
    found: list[tuple[str, list]] = []
    for line in table.strip().splitlines():
        if "|" not in line:
            found.append((line, []))
            continue
        (token, parent), *rows = (tuple(map(int, part.split())) for part in line.split("|"))
        shares = (tuple(percent / 100 for percent in row) for row in rows)
        found[-1][1].append((token, parent, *shares))
    return [TreeCase(kind, *zip(*nodes, strict=True)) for kind, nodes in found]


OPEN_CASES = {"verify_tree": trees_in(TREES)}
