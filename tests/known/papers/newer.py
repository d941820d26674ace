"""What the newer papers print, and every number in bold of the questions on them, computed anew."""

from math import ceil

FA4 = {"forward": (1024, 1024, 768), "backward": (2560, 1024, 3328)}  # products, exp, shared memory
EAGLE = {"13B, EAGLE-2": (4.26, 4.83), "13B, EAGLE-3": (5.58, 6.65), "8B, EAGLE-3": (4.40, 6.13)}
SGLANG_TOKENS_PER_S, SGLANG_AT_64 = (158.34, 373.25), 1.38
DEEPSEEK = {"accepted": (0.85, 0.90), "gain": 1.8, "main_b": 36.7, "module_b": 2.4}
MOONCAKE = {"limit": (100, 400), "moved": (87, 190), "tcp": (2.4, 4.6)}  # of both networks
SARATHI = {  # of chats TTFT and TBT, of summaries TTFT and TBT
    "hybrid": (0.53, 0.68, 3.78, 1.38),
    "chunks": (1.04, 0.17, 5.38, 0.20),
    "both": (0.76, 0.14, 3.90, 0.17),
}
DISTSERVE = {  # by rate: vLLM, simulated, DistServe, simulated; in percent
    1.0: (97.0, 96.8, 100.0, 100.0),
    1.5: (65.5, 65.1, 100.0, 100.0),
    2.0: (52.8, 51.0, 99.3, 99.3),
    2.5: (44.9, 46.1, 87.3, 88.3),
    3.0: (36.7, 38.3, 83.0, 84.1),
    3.5: (27.8, 28.0, 77.3, 77.0),
    4.0: (23.6, 24.1, 70.0, 68.9),
}
PRINTED = {  # the rows of each table, as they stand in the question
    "deepseek_v3": ["0.85", "0.90", "1.8", "36.7 billion", "2.4 billion", "512 + 64", "61"],
    "distserve": [
        " | ".join([f"| {rate}", *(f"{share} %" for share in shares)]) + " |"
        for rate, shares in DISTSERVE.items()
    ],
    "eagle_3": [f"{name} | {gain:.2f} | {tau:.2f} |" for name, (gain, tau) in EAGLE.items()]
    + [f"{SGLANG_TOKENS_PER_S[0]}", f"{SGLANG_TOKENS_PER_S[1]}", f"{SGLANG_AT_64}"],
    "flash_attention_4": [" = 1,024 |", " = 2,560 |", "| 768 | 3,328 |", "1,613", "2,250"],
    "mooncake": ["| 100 GB/s | 87 GB/s | 2.4 ", "| 400 GB/s | 190 GB/s | 4.6 ", "498 %"],
    "sarathi_serve": [
        " | ".join(f"{time:.2f}" for time in row) + " |" for row in SARATHI.values()
    ] + ["7,059", "1,024"],
}  # fmt: skip


def flash_attention_4() -> dict[str, float]:
    """Source: arXiv:2603.05451, Tables 1 and 3."""
    m = n = d = 128
    assert FA4["forward"][:2] == (4 * m * n * d / 8192, m * n / 16)
    assert FA4["backward"][:2] == (10 * m * n * d / 8192, m * n / 16)
    return {
        "backward": FA4["backward"][2] / FA4["backward"][0],
        "overlap": FA4["forward"][0] + FA4["forward"][1],
        "peak": 1613 / 2250,
        "smaller-heads": (m * n / 16) / (4 * m * n * 64 / 8192),
        "software": 0.75 * FA4["forward"][1],
    }


def eagle_3() -> dict[str, float]:
    """Source: arXiv:2503.01840, Tables 1, 3 and 4."""
    gain, tau = EAGLE["13B, EAGLE-3"]
    assert tau / EAGLE["13B, EAGLE-2"][1] > gain / EAGLE["13B, EAGLE-2"][0]
    return {
        "batch": 1 / SGLANG_AT_64,
        "drafts": tau - 1,
        "engine": SGLANG_TOKENS_PER_S[1] / SGLANG_TOKENS_PER_S[0],
        "gain": gain / EAGLE["13B, EAGLE-2"][0],
        "step": EAGLE["8B, EAGLE-3"][1] / EAGLE["8B, EAGLE-3"][0],
    }


def deepseek_v3() -> dict[str, float]:
    """Source: arXiv:2412.19437, sections 2.2 and 5.4.3."""
    low, high = DEEPSEEK["accepted"]
    assert 2 * 128 * 128 / (512 + 64) == 512 / 9  # 57 times, says a reason
    return {
        "cache": 61 * (512 + 64) * 2,
        "cost": (1 + low) / DEEPSEEK["gain"],
        "passes": 1000 / (1 + low),
        "share": DEEPSEEK["module_b"] / DEEPSEEK["main_b"],
        "tokens": 1 + high,
    }


def mooncake() -> dict[str, float]:
    """Source: Mooncake (FAST 2025), and the notes on its transfer engine."""
    moved = MOONCAKE["moved"]
    assert [*MOONCAKE["limit"]] == [4 * 200 / 8, 8 * 400 / 8]
    assert 131_072 * 2 * 80 * 8 * 128 * 2 == 40 * 2**30
    return {
        "capacity": 1 + 4.98,
        "links": moved[1] / moved[0],
        "seconds": 40 / moved[0],
        "tcp": moved[1] / MOONCAKE["tcp"][1],
        "token": 2 * 80 * 8 * 128 * 2,
    }


def distserve() -> dict[str, float]:
    """Source: arXiv:2401.09670, Table 2."""
    errors = [
        (100 * abs(row[i + 1] / row[i] - 1), abs(row[i + 1] - row[i]))
        for row in DISTSERVE.values()
        for i in (0, 2)
    ]
    assert max(points for _, points in errors) < 2
    together, separate = goodput(0), goodput(2)
    return {
        "error": max(percent for percent, _ in errors),
        "headline": separate / together,
        "overload": 4.0 * DISTSERVE[4.0][0] / 100,
        "separate": separate,
        "together": together,
    }


def goodput(column: int, share: float = 90) -> float:
    """The rate at which this share keeps the limits, on the line between two rows."""
    rows = [(rate, row[column]) for rate, row in DISTSERVE.items()]
    before = [row for row in rows if row[1] >= share][-1]
    after = rows[rows.index(before) + 1]
    return before[0] + (after[0] - before[0]) * (before[1] - share) / (before[1] - after[1])


def sarathi_serve() -> dict[str, float]:
    """Source: arXiv:2403.02310, Tables 2 and 4."""
    both, columns = SARATHI["both"], zip(*SARATHI.values(), strict=True)
    return {
        "best": sum(column[2] == min(column) for column in columns),
        "chunks-alone": SARATHI["chunks"][0] / both[0],
        "passes": ceil(7059 / 1024),
        "price": both[0] / SARATHI["hybrid"][0],
        "stall": SARATHI["hybrid"][3] / both[3],
    }


NEWER = {
    "deepseek_v3": deepseek_v3,
    "distserve": distserve,
    "eagle_3": eagle_3,
    "flash_attention_4": flash_attention_4,
    "mooncake": mooncake,
    "sarathi_serve": sarathi_serve,
}
