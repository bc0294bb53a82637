"""Is it worth it? What learning earns, in one sentence."""

from markupsafe import Markup

from slotwise.inference.uplift.uplift import Uplift
from slotwise.service.web.numbers import integer, percent, signed_percent


def verdict(uplift: Uplift, mode: str, holdout: float) -> Markup:
    """What learning earns, or what is missing to say it."""
    if mode != "learn":
        return Markup("Learning is off: visitors see the default order, so there is nothing to compare.")
    if holdout == 0.0:
        return Markup("Not measured. Set a share without learning above 0 % to compare learning with your own order.")
    if uplift.clicks is None:
        more = Markup("")
        if uplift.displays_needed:
            more = Markup(" About {} more displays are needed.").format(integer(uplift.displays_needed))
        return Markup("Not enough data yet: {}.{}").format(uplift.note, more)
    gain = uplift.clicks
    if gain.low > 0.0:
        return Markup("Yes. Learning earns {} clicks. It is 90 % sure that the gain lies between {} and {}.").format(
            signed_percent(gain.gain), signed_percent(gain.low), signed_percent(gain.high)
        )
    if gain.high < 0.0:
        return Markup("No. Learning loses clicks: {}. It is 90 % sure that the loss lies between {} and {}.").format(
            signed_percent(gain.gain), signed_percent(gain.low), signed_percent(gain.high)
        )
    needed = Markup("")
    if uplift.displays_needed:
        needed = Markup(" About {} more displays will tell.").format(integer(uplift.displays_needed))
    return Markup("Not decided yet: {}, between {} and {}; learning is better with a probability of {}.{}").format(
        signed_percent(gain.gain), signed_percent(gain.low), signed_percent(gain.high),
        percent(uplift.better or 0.0, 0), needed,
    )  # fmt: skip
