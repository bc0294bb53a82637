"""Numbers and times as text. The browser replaces them by those of the reader's locale."""

from datetime import UTC, datetime

from markupsafe import Markup


def integer(value: float) -> Markup:
    """A whole number."""
    return Markup('<data value="{}" data-number="integer">{:,}</data>').format(round(value), round(value))


def percent(value: float, digits: int = 1) -> Markup:
    """A share as percent."""
    return Markup('<data value="{}" data-number="percent-{}">{:.{}f} %</data>').format(
        f"{value:.6g}", digits, 100.0 * value, digits
    )


def probability(value: float) -> Markup:
    """A probability as percent. It is an estimate, so it is never written as 100 %."""
    if value >= 0.995:
        return Markup("more than {}").format(percent(0.99, 0))
    return percent(value, 0)


def signed_percent(value: float, digits: int = 1) -> Markup:
    """A gain as percent, with its sign."""
    return Markup('<data value="{}" data-number="gain-{}">{:+.{}f} %</data>').format(
        f"{value:.6g}", digits, 100.0 * value, digits
    )


def decimal(value: float) -> Markup:
    """A number with up to two decimals."""
    return Markup('<data value="{}" data-number="decimal">{:.4g}</data>').format(f"{value:.6g}", value)


def moment(seconds: float) -> Markup:
    """A time."""
    when = datetime.fromtimestamp(seconds, UTC)
    return Markup('<time datetime="{}" data-time="moment">{:%Y-%m-%d %H:%M} UTC</time>').format(when.isoformat(), when)


def ago(seconds: float, now: float) -> Markup:
    """How long ago something happened."""
    when = datetime.fromtimestamp(seconds, UTC)
    return Markup('<time datetime="{}" data-time="ago" title="{:%Y-%m-%d %H:%M} UTC">{}</time>').format(
        when.isoformat(), when, _age(now - seconds)
    )


def _age(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"


def seconds_ago(seconds: float) -> Markup:
    """A short time, such as `0.4 seconds ago`, or a long one in minutes and hours."""
    if seconds >= 60.0:
        return Markup("{}").format(_age(seconds))
    return Markup('<data value="{}" data-number="seconds">{:.1f} seconds ago</data>').format(f"{seconds:.1f}", seconds)


def short_time(seconds: float) -> str:
    """A time on the axis of a chart."""
    return f"{datetime.fromtimestamp(seconds, UTC):%m-%d %H:%M}"


FILTERS = {
    "short_time": short_time,
    "seconds_ago": seconds_ago,
    "integer": integer,
    "percent": percent,
    "probability": probability,
    "decimal": decimal,
    "moment": moment,
    "ago": ago,
}
