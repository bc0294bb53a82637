"""Save charts as files. The suffix of the name selects the format."""

import json
import os
from pathlib import Path
from typing import Any

from slotwise.charts.chart_page import chart_page
from slotwise.checks import BadInput
from slotwise.extras import require
from slotwise.files import write_whole

SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")
PNG_SCALE = 2.0
# A browser may draw the text of an SVG in a wider font than the one that measured it. Then the legend needs more room.
_SVG_PADDING = {"left": 5, "top": 5, "right": 36, "bottom": 5}


def save_chart(chart: Any, path: str | os.PathLike[str], scale: float = PNG_SCALE) -> None:
    """Write the chart as SVG, PNG, PDF, a self-contained HTML page or Vega-Lite JSON, depending on the suffix.

    A PNG has `scale` pixels per unit of the chart.

    >>> import slotwise as sw
    >>> visitors = sw.PBM(theta=[0.3, 0.2, 0.1], kappa=[1.0, 0.5])
    >>> save_chart(sw.regret_chart([sw.simulate("uniform", visitors, rounds=100, runs=2)]), "regret.svg")
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise BadInput(f"cannot save a chart as {str(path)!r}: the name must end in one of {', '.join(SUFFIXES)}")
    require("charts", "saving a chart")
    import vl_convert

    specification = chart.to_json()
    if suffix == ".svg":
        content = vl_convert.vegalite_to_svg(json.loads(specification) | {"padding": _SVG_PADDING}).encode()
    elif suffix == ".png":
        content = vl_convert.vegalite_to_png(specification, scale=scale)
    elif suffix == ".pdf":
        content = vl_convert.vegalite_to_pdf(specification)
    elif suffix == ".html":
        content = chart_page(chart).encode()
    else:
        content = specification.encode()
    write_whole(path, content)
