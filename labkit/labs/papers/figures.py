"""Figures of the questions, drawn from the records of earlier labs, without their own sentences."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from matplotlib.ticker import NullFormatter, NullLocator

from labkit.measuring.drawn import break_even
from labkit.measuring.panels import WIDTH, name_ends, panels, say
from labkit.measuring.plots import COLORS, CourseFigure
from labkit.measuring.records import Record, Row, recorded_results

Line = tuple[str, list[tuple[float, float]]]  # its colour's name, and its points
Lines = Mapping[str, Line]
GAMMAS = range(1, 11)


@dataclass(frozen=True)
class Plot:
    """What a question shows. x, y: the names of the axes; logs: the axes that are logarithmic."""

    record: str
    title: str
    x: str
    y: str
    lines: Callable[[Record], Lines]
    logs: str = ""
    has_break_even: bool = False


def figure_of(item: str, language: str = "en") -> CourseFigure | None:
    """The figure of the item of this name, with a caption in the language; None if it has none."""
    plot = PLOTS.get(item)
    return plot and draw(plot, CAPTIONS[language].format(title=TITLES_ZH[plot.title]))


def draw(plot: Plot, caption: str) -> CourseFigure:
    """The lines, each named at its end; ticks where points are."""
    record = recorded_results(f"{plot.record}.jsonl")[plot.record]
    lines = plot.lines(record)
    places = sorted({x for _, points in lines.values() for x, _ in points})
    with panels(1, 1, (WIDTH, 3.0)) as (figure, ((axes,),)):
        for name, (color, points) in lines.items():
            look = "o--" if "n-gram" in name else "o-"
            axes.plot(*zip(*points, strict=True), look, color=COLORS[color], label=name, ms=4)
        if "x" in plot.logs:
            axes.set_xscale("log", base=2)
        if "y" in plot.logs:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
        else:
            axes.set_ylim(0, 1.08 * max(y for _, points in lines.values() for _, y in points))
        names = [f"{place:,.3g}" if place % 1 else f"{place:,.0f}" for place in places]
        axes.set_xticks(places, names)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(plot.x)
        axes.set_ylabel(plot.y)
        if plot.has_break_even:
            break_even(axes)
        say(figure, plot.title, f"{record.provenance}: data/results/{plot.record}.jsonl", caption)
        name_ends(axes)
    return figure


def _rows(record: Record, experiment: str, **fits: object) -> list[Row]:
    """The rows of an experiment that are ok, and whose fields have these values."""
    rows = [row for row in record.of(experiment) if row.is_ok]
    return [row for row in rows if all(getattr(row, name) == v for name, v in fits.items())]


def _passes(record: Record) -> Lines:
    colors = {"Qwen3-8B": "weights", "Qwen3-1.7B": "other"}
    return {
        model: (color, [(row.n_input, 1e3 * row.time_s) for row in rows])
        for model, color in colors.items()
        for rows in [_rows(record, "decode_steps", setting="captured", short_model=model)]
    }


def _pairs(record: Record) -> Lines:
    colors = {"qwen3-8b-1.7b": "weights", "qwen3-8b-0.6b": "method", "llama-8b-1b": "cache"}
    return {
        pair: (color, [(_gamma(row), _per_token(alone) / _per_token(row)) for row in rows])
        for pair, color in colors.items()
        for alone, *rows in [_rows(record, "speculation", short_model=pair)]
    }


def _by_kind(ratio: Callable[[Row, Row], float], **kinds: str) -> Callable[[Record], Lines]:
    """A ratio of each row to the target alone, by γ: a line for each of these ends of settings."""

    def lines(record: Record) -> Lines:
        found = {row.setting: row for row in _rows(record, "regimes")}
        return {
            f"{prompts}, {draft}": (color, [
                (gamma, ratio(found[f"gamma {gamma}, {kind}, {draft}"], found[f"alone, {kind}"]))
                for gamma in GAMMAS
            ])
            for prompts, color in kinds.items() for kind in [f"{prompts}, 64 new"]
            for draft in ("model", "n-gram")
        }  # fmt: skip

    return lines


def _parts(record: Record) -> Lines:
    found = {row.setting: row for row in _rows(record, "regimes")}
    rows = {gamma: found[f"gamma {gamma}, simple, 64 new, model"] for gamma in GAMMAS}
    step_ms = 1e3 * found["alone, simple, 64 new"].counts["target_step_s"]
    return {
        "whole block": ("plain", [
            (gamma, 1e3 * (row.time_s - row.counts["prefill_s"]) * _runs(row))
            for gamma, row in rows.items()
        ]),
        "target, checking": ("weights", [
            (gamma, 1e3 * row.counts["target_step_s"]) for gamma, row in rows.items()
        ]),
        "target, one token": ("reference", [(gamma, step_ms) for gamma in GAMMAS]),
    }  # fmt: skip


def _kernels(
    y: Callable[[Row], float], setting: str, **kernels: tuple[str, str]
) -> Callable[[Record], Lines]:
    """A line for each kernel, with the color and the name that stand beside it."""
    return lambda record: {
        name: (color, [(row.n_input, y(row)) for row in rows])
        for kernel, (color, name) in kernels.items()
        for rows in [_rows(record, "sdpa", setting=setting, short_model=kernel)]
    }


def _head_dims(record: Record) -> Lines:
    return {
        f"heads of {d}": (color, [(row.n_input, _tflops(row)) for row in rows])
        for d, color in ((128, "weights"), (64, "cache"))
        for rows in [_rows(record, "sdpa", setting=f"D {d}", short_model="cudnn")]
    }


def _gain_of_tiles(record: Record) -> Lines:
    plain, flash = (
        {row.n_input: row.time_s for row in _rows(record, "sdpa", setting="D 64", short_model=name)}
        for name in ("plain", "flash")
    )
    points = [(n, plain[n] / flash[n]) for n in sorted(set(plain) & set(flash))]
    return {"standard / flash": ("method", points)}


def _rounds(record: Record) -> Lines:
    looks = {"without prefix cache": (False, "plain"), "with prefix cache": (True, "cache")}
    return {
        name: (color, [(place, 1e3 * row.time_s) for place, row in enumerate(rows, start=1)])
        for name, (use_cache, color) in looks.items()
        for rows in [_rows(record, "multi_turn", use_cache=use_cache)]
    }


def _offloaded(record: Record) -> Lines:
    rows = [row for row in _rows(record, "offload") if "overlapping" not in row.setting]
    points = [(row.counts["offloaded_bytes"] / 1e9, 1e3 * _per_token(row)) for row in rows]
    return {"one sequence": ("weights", points)}


def _moved(record: Record) -> Lines:
    colors = {"whole": "weights", "layer by layer": "other"}
    return {
        name: (color, [(row.n_input, 1e3 * row.time_s) for row in rows])
        for name, color in colors.items()
        for rows in [_rows(record, "kv_transfer", setting=f"peer copy, {name}")]
    }


def _beside(record: Record) -> Lines:
    colors = {64: "cache", 16: "method", 0: "plain"}
    return {
        f"beside {n} answers": (color, [(row.n_input, 1e3 * row.time_s) for row in rows])
        for n, color in colors.items()
        for rows in [_rows(record, "mixed_pass", setting=f"beside {n} running, 2048 cached")]
    }


def _by_batch(record: Record) -> Lines:
    alone, drafted = (
        {row.batch_size: row for row in _rows(record, "batch_sweep", setting=setting)}
        for setting in ("alone", "gamma 3")
    )
    points = [(n, _per_token(row) / _per_token(drafted[n])) for n, row in alone.items()]
    return {"tiny pair, γ = 3": ("method", points)}


def _gamma(row: Row) -> int:
    return int(row.setting.split()[1].rstrip(","))


def _per_token(row: Row) -> float:
    return row.time_s / row.n_new


def _runs(row: Row) -> float:
    return row.counts["runs"] / row.counts["blocks"]


def _tokens_per_block(row: Row, _: Row) -> float:
    return row.n_new * _runs(row)


def _speedup(row: Row, alone: Row) -> float:
    return alone.time_s / row.time_s


def _tflops(row: Row) -> float:
    """Of the two products, without a mask."""
    heads, d = row.counts["n_heads"], row.counts["head_dim"]
    return 4 * row.batch_size * heads * row.n_input**2 * d / row.time_s / 1e12


CAPTIONS = {
    "en": "The points come from the record named below them.",
    "zh": "{title}各點出自圖下註明的紀錄。",
}
TITLES_ZH = {
    "A pass over several tokens, on an H100":
        "H100 上，一次 forward 計算幾個 token 所花的時間。",
    "Three pairs of target and draft model, on an H100":
        "H100 上，三對目標模型與草稿模型的加速倍率。",
    "Attention with 16 heads of 64, forward and backward, on an H200":
        "H200 上，attention 的 forward 與 backward 合計的時間（16 個 head，每個 64 維）。",
    "Two kernels of attention with heads of 128, on an H200":
        "H200 上，兩種 attention kernel 的運算速度（head 為 128 維）。",
    "Tokens that a step writes, for both kinds of prompts":
        "兩種 prompt 下，一步寫出的 token 數。",
    "The table as a figure, with the values of γ between":
        "把表畫成圖，並補上其間的 γ。",
    "A block and its parts, by the number of drafts":
        "一輪與其中各部分的時間，依草稿數。",
    "What tiles gain on an H200, measured with 16 heads of 64":
        "H200 上實測分塊的加速倍率（16 個 head，每個 64 維）。",
    "Four questions on one document, on an H100":
        "H100 上，對同一份文件問四個問題。",
    "Weights that stay on the host of an H100":
        "H100 的權重留在主機上時，一步的時間。",
    "A KV cache of Llama-3.1-8B goes to another GPU":
        "Llama-3.1-8B 的 KV cache 搬到另一張 GPU 的時間。",
    "Drafts of our small pair, by the number of texts at once":
        "我們的小型模型對，同時寫幾段文字時草稿的加速倍率。",
    "One kernel (cuDNN) with two head sizes, on an H200":
        "H200 上，同一個 kernel（cuDNN）在兩種 head 維度下的運算速度。",
    "A chunk of a prompt beside answers (Llama-3.1-8B, H200)":
        "H200 上，一段 prompt 與正在寫的答案一起計算所花的時間（Llama-3.1-8B）。",
}  # fmt: skip
KINDS = {"simple": "weights", "normal": "cache"}
LENGTHS = "length of the sequence, tokens"
SPEEDUP = "speed-up"
FLASH = {"plain": ("plain", "standard"), "flash": ("method", "FlashAttention-2")}
HOPPER = {"cudnn": ("weights", "kernel for Hopper (cuDNN)"), "flash": FLASH["flash"]}
TRANSFER = Plot("serving-2gpu-h200", "A KV cache of Llama-3.1-8B goes to another GPU",
                "tokens in the cache", "ms", _moved, "xy")  # fmt: skip
PLOTS = {
    "q02": Plot("speculative-h100", "A pass over several tokens, on an H100",
                "tokens in the pass", "ms of a pass", _passes),
    "q03": Plot("speculative-h100", "Three pairs of target and draft model, on an H100",
                "drafts in a step, γ", SPEEDUP, _pairs, has_break_even=True),
    "q07": Plot("flash-h200", "Attention with 16 heads of 64, forward and backward, on an H200",
                LENGTHS, "ms", _kernels(lambda row: 1e3 * row.time_s, "D 64, and back", **FLASH),
                "xy"),
    "q09": Plot("flash-h200", "Two kernels of attention with heads of 128, on an H200",
                LENGTHS, "TFLOP/s", _kernels(_tflops, "D 128", **HOPPER), "x"),
    "q13": Plot("regimes-cpu", "Tokens that a step writes, for both kinds of prompts",
                "drafts in a step, γ", "tokens per step", _by_kind(_tokens_per_block, **KINDS)),
    "q14": Plot("regimes-cpu", "The table as a figure, with the values of γ between",
                "drafts in a step, γ", SPEEDUP, _by_kind(_speedup, **KINDS), has_break_even=True),
    "q15": Plot("regimes-cpu", "A block and its parts, by the number of drafts",
                "drafts in a step, γ", "ms", _parts),
    "q17": Plot("flash-h200", "What tiles gain on an H200, measured with 16 heads of 64",
                LENGTHS, "times as fast as standard", _gain_of_tiles, "x"),
    "q18": Plot("cache-h100", "Four questions on one document, on an H100",
                "round", "ms until the first token", _rounds),
    "q20": Plot("cache-h100", "Weights that stay on the host of an H100",
                "GB on the host", "ms of a step", _offloaded),
    "deepseek_v3": Plot("speculative-h100", "A pass over several tokens, on an H100",
                        "tokens in the pass", "ms of a pass", _passes),
    "distserve": TRANSFER,
    "eagle_3": Plot("batched-cpu", "Drafts of our small pair, by the number of texts at once",
                    "texts at once", SPEEDUP, _by_batch, "x", has_break_even=True),
    "flash_attention_4": Plot("flash-h200", "One kernel (cuDNN) with two head sizes, on an H200",
                              LENGTHS, "TFLOP/s", _head_dims, "x"),
    "mooncake": TRANSFER,
    "sarathi_serve": Plot("serving-2gpu-h200",
                          "A chunk of a prompt beside answers (Llama-3.1-8B, H200)",
                          "tokens in the chunk", "ms of a pass", _beside, "xy"),
}  # fmt: skip
