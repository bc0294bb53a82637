"""Put a chart on one self-contained HTML page. The chart fills the window, on a phone or on a wide screen."""

import json
import re
from importlib import resources
from typing import Any

from slotwise.extras import require


def chart_page(chart: Any) -> str:
    """The HTML page of a chart. It shows the chart's title and notes as text, and needs no network."""
    require("charts", "a chart as a page")
    import jinja2

    specification = chart.to_dict()
    title = specification.get("title", "")
    heading = title if isinstance(title, dict) else {"text": title}
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_asset("chart_page.html")).render(
        title=heading.get("text", ""),
        notes=heading.get("subtitle", []),
        specification=script_json(specification),
        library=drawing_library(),
        script=_asset("chart_page.js"),
    )


def drawing_library() -> str:
    """The source of vega-embed, Vega-Lite and Vega, for a script element."""
    import vl_convert

    bundle: Any = vl_convert.javascript_bundle  # the type stub requires an argument that is optional
    return re.sub("</(script)", r"<\\/\1", bundle(), flags=re.IGNORECASE)


def script_json(value: Any) -> str:
    """A value as JSON for a script element. Names may contain HTML, so every `<` is escaped."""
    return json.dumps(value).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return resources.files("slotwise.charts").joinpath(name).read_text(encoding="utf-8")
