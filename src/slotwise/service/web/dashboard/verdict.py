"""Is it worth it? What learning earns, in a few sentences."""

from markupsafe import Markup

from slotwise.inference.uplift.uplift import Uplift, UpliftEstimate
from slotwise.service.web.numbers import integer, percent, probability, signed_percent

WIDE = 0.1  # an interval at least this wide is written without decimals


def verdict(uplift: Uplift, mode: str, holdout: float) -> Markup:
    """What learning earns, or what is missing to say it."""
    if mode != "learn":
        return Markup("Learning is off: visitors see the default order, so there is nothing to compare.")
    if holdout == 0.0:
        return Markup(
            "Not measured. Under <i>Settings</i>, keep a few visitors without learning. Then this box compares them "
            "with the others."
        )
    if uplift.clicks is None:
        return Markup("Not enough data yet to compare visitors with and without learning.{}").format(
            _needed(uplift, "It takes about {} more displays.")
        )
    gain, low, high = gain_texts(uplift.clicks)
    if uplift.clicks.low > 0.0:
        return Markup("Yes. Learning earns {} clicks: it is {} sure that the gain lies between {} and {}.").format(
            gain, percent(0.9, 0), low, high
        )
    if uplift.clicks.high < 0.0:
        return Markup("No. Learning costs clicks, {}: it is {} sure that the change lies between {} and {}.").format(
            gain, percent(0.9, 0), low, high
        )
    return Markup("Not decided yet. So far {} clicks, but anything from {} to {} is possible.{}").format(
        gain, low, high, _needed(uplift, "About {} more displays will decide.")
    )


def details(uplift: Uplift, has_values: bool) -> list[Markup]:
    """What else is known about the gain, in short sentences."""
    found = []
    if uplift.better is not None:
        found.append(Markup("Learning is better with a probability of {}.").format(probability(uplift.better)))
    if has_values and uplift.value is not None:
        texts = gain_texts(uplift.value)
        found.append(Markup("Clicks weighted by their value: {}, between {} and {}.").format(*texts))
    if uplift.realised is not None:
        text = Markup("The page already gets {} of what the best display could gain.")
        found.append(text.format(percent(uplift.realised, 0)))
    return found


def gain_texts(estimate: UpliftEstimate) -> tuple[Markup, Markup, Markup]:
    """A gain and the bounds of its interval, without more digits than are known."""
    digits = 0 if estimate.high - estimate.low >= WIDE else 1
    gain, low, high = (signed_percent(value, digits) for value in (estimate.gain, estimate.low, estimate.high))
    return gain, low, high


def _needed(uplift: Uplift, text: str) -> Markup:
    if not uplift.displays_needed:
        return Markup("")
    return Markup(" " + text).format(integer(float(f"{uplift.displays_needed:.2g}")))
