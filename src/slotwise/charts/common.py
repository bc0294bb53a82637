"""The common parts of all charts: colours, logarithmic axes, titles with notes, and the frame."""

import math
from collections.abc import Sequence
from typing import Any

from slotwise.extras import require

# First the palette of Okabe and Ito, whose colours colour-blind readers can distinguish, without its yellow, which is
# too pale on white. Then further colours.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
COLOURS += ["#882255", "#999933", "#6633AA", "#117733", "#AA7744", "#777777"]
WIDTH, HEIGHT = 560, 340
NUMBER_LABEL = "format(datum.value, datum.value < 1 ? '~g' : '~s')"  # 10k, but 0.1 rather than 100m


def import_altair() -> Any:
    """Import Altair only when a chart is drawn, because the import takes a third of a second."""
    require("charts", "a chart")
    import altair

    return altair


def log_axis(alt: Any, low: float, high: float) -> dict[str, Any]:
    """A logarithmic axis from `low` to `high`. It has a grid line at each tick and nowhere else."""
    return {
        "scale": alt.Scale(type="log", nice=False, domain=[low, high]),
        "axis": alt.Axis(values=log_ticks(low, high), labelExpr=NUMBER_LABEL, gridOpacity=0.6),
    }


def log_axis_around(alt: Any, values: Sequence[float], margin: float) -> dict[str, Any]:
    """A logarithmic axis from the least value divided by `margin` to the largest times `margin`."""
    return log_axis(alt, min(values) / margin, max(values) * margin)


def log_ticks(low: float, high: float) -> list[float]:
    """The powers of ten in a range. If there are fewer than three, also twice and five times each power."""
    powers = [10.0**k for k in range(math.floor(math.log10(low)), math.floor(math.log10(high) + 1e-9) + 1)]
    inside = [power for power in powers if low * (1 - 1e-9) <= power]
    if len(inside) >= 3:
        return inside
    finer = [factor * power for power in powers for factor in (1, 2, 5)]
    return [tick for tick in finer if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)] or [low, high]


def title_with_notes(alt: Any, title: str, notes: Sequence[str]) -> Any:
    """A title at the left with its notes below."""
    return alt.TitleParams(title, subtitle=list(notes), anchor="start")


def framed(alt: Any, layers: Sequence[Any], title: str, notes: Sequence[str], height: int = HEIGHT) -> Any:
    """Combine layers into one chart of the usual size. It has a title and notes, and no border."""
    heading = title_with_notes(alt, title, notes)
    return alt.layer(*layers).properties(width=WIDTH, height=height, title=heading).configure_view(stroke=None)
