"""Figures in equal windows of the run, and whether they stay flat: the last third compared with the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean, median

from everthread.bench.metrics import percentile

WINDOW_COUNT = 9  # three in each third
WARM_S = 60.0  # after a start, before memory is compared
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """The server at one moment: seconds since the start of the run, and since its own; bytes, descriptors, lines."""

    at_s: float
    age_s: float
    memory: int
    descriptors: int
    file_bytes: int
    lines: int


@dataclass(frozen=True, slots=True)
class Window:
    """The figures of one window; None where nothing was measured. Times are in milliseconds, memory in MiB."""

    end_s: float
    calls: int
    recall_p50: float | None
    recall_p95: float | None
    observe_p50: float | None
    memory: float | None
    descriptors: int | None
    lines: int
    bytes_per_line: float | None


FIGURES = ("recall_p50", "recall_p95", "observe_p50", "memory", "descriptors", "bytes_per_line")


def build_windows(times: Sequence[tuple[str, float, float]], samples: Sequence[Sample], seconds: float) -> list[Window]:
    """Return the figures of `WINDOW_COUNT` equal windows.

    Args:
        times: of calls: their name, seconds since the start, and milliseconds.
        samples: of the server.
        seconds: the duration of the run.
    """
    edges = [seconds * number / WINDOW_COUNT for number in range(WINDOW_COUNT + 1)]
    return [
        _build_window(
            [row for row in times if start <= row[1] < end],
            [sample for sample in samples if start <= sample.at_s < end],
            end,
        )
        for start, end in pairwise(edges)
    ]


def _build_window(times: Sequence[tuple[str, float, float]], samples: Sequence[Sample], end: float) -> Window:
    recall, observe = ([row[2] for row in times if row[0] == name] for name in ("recall", "observe"))
    last = samples[-1] if samples else None
    return Window(
        end_s=end,
        calls=len(times),
        recall_p50=percentile(recall, 50) if recall else None,
        recall_p95=percentile(recall, 95) if recall else None,
        observe_p50=percentile(observe, 50) if observe else None,
        memory=max(sample.memory for sample in samples) / MIB if samples else None,
        descriptors=max(sample.descriptors for sample in samples) if samples else None,
        lines=last.lines if last else 0,
        bytes_per_line=last.file_bytes / last.lines if last and last.lines else None,
    )


def compare_thirds(windows: Sequence[Window]) -> dict[str, float]:
    """Return each figure's mean over the last third of the windows, divided by that of the first third."""
    third, ratios = len(windows) // 3, dict[str, float]()
    for name in FIGURES:
        first, last = (
            [value for window in part if (value := asdict(window)[name]) is not None]
            for part in (windows[:third], windows[-third:])
        )
        if first and last and fmean(first):
            ratios[name] = fmean(last) / fmean(first)
    return ratios


def measure_growth(samples: Sequence[Sample]) -> float | None:
    """Return by how many MiB an hour the memory of a server grows, the median of those that ran without a restart.

    The first WARM_S of each are left out. None if none ran three times as long.
    """
    lives: list[list[Sample]] = [[]]
    for sample in samples:
        if lives[-1] and sample.age_s < lives[-1][-1].age_s:
            lives.append([])
        lives[-1].append(sample)
    rates = [rate for life in lives if (rate := _fit_rate([each for each in life if each.age_s >= WARM_S])) is not None]
    return median(rates) if rates else None


def _fit_rate(samples: Sequence[Sample]) -> float | None:
    """Return the slope of the memory in MiB an hour, by least squares; None for less than two times WARM_S."""
    if not samples or samples[-1].at_s - samples[0].at_s < 2 * WARM_S:
        return None
    middle, mean = fmean(sample.at_s for sample in samples), fmean(sample.memory for sample in samples)
    covariance = sum((sample.at_s - middle) * (sample.memory - mean) for sample in samples)
    return 3600 * covariance / sum((sample.at_s - middle) ** 2 for sample in samples) / MIB


def table(windows: Sequence[Window]) -> str:
    """Return the figures as rows, with the ratios of the last third to the first."""
    head = ("minute", "calls", "lines", "recall p50", "p95 ms", "observe p50", "MiB", "descriptors", "bytes a line")
    rows = [
        (
            f"{window.end_s / 60:.1f}",
            f"{window.calls:,}",
            f"{window.lines:,}",
            *map(_format, (window.recall_p50, window.recall_p95, window.observe_p50, window.memory)),
            _format(window.descriptors, 0),
            _format(window.bytes_per_line, 0),
        )
        for window in windows
    ]
    ratios = compare_thirds(windows)
    last = ("ratio", "", "", *(_format(ratios.get(name), 2) for name in FIGURES))
    return "\n".join("  ".join(f"{cell:>11}" for cell in row) for row in (head, *rows, last))


def _format(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
