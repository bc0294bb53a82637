"""A chart of what an order or a policy would have earned, by each estimator."""

from collections.abc import Mapping
from typing import Any

from slotwise.charts.common import COLOURS, framed, import_altair
from slotwise.inference.off_policy.estimators import ValueEstimate
from slotwise.inference.off_policy.evaluation import ESTIMATES, Evaluation

_ROW_HEIGHT = 28


def evaluation_chart(logged: Mapping[str, ValueEstimate], target: Evaluation, name: str, level: float) -> Any:
    """Each estimate as a point with its interval, below what the variants of the log earned themselves."""
    alt = import_altair()

    estimates = {f"the log itself: {variant}": estimate for variant, estimate in logged.items()}
    found = {label: getattr(target, field) for field, label in ESTIMATES.items()}
    estimates |= {label: estimate for label, estimate in found.items() if estimate is not None}
    rows = [
        {"estimate": label, "source": "log" if label not in found else "target", **estimate._asdict()}
        for label, estimate in estimates.items()
    ]
    colour = alt.Color("source:N", legend=None, scale=alt.Scale(domain=["log", "target"], range=COLOURS[:2]))
    y = alt.Y("estimate:N", sort=list(estimates), title=None, axis=alt.Axis(labelLimit=220, ticks=False, domain=False))
    x = {"title": "clicks per display", "scale": alt.Scale(zero=False, nice=True)}
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=y, color=colour)
    tooltip = ["estimate:N", *(alt.Tooltip(f"{field}:Q", format=".4~g") for field in ValueEstimate._fields)]
    layers = [
        base.mark_rule(strokeWidth=2, opacity=0.5).encode(x=alt.X("low:Q", **x), x2="high:Q"),
        base.mark_point(size=60, filled=True, opacity=1).encode(x=alt.X("value:Q", **x), tooltip=tooltip),
    ]
    notes = [f"{100 * level:g} % intervals"] + ([target.cannot_tell] if target.cannot_tell else [])
    return framed(alt, layers, f"What {name} earns", notes, height=_ROW_HEIGHT * len(rows))
