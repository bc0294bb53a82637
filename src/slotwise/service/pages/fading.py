"""How counts fade. A page with a half-life counts in epochs, and each new epoch lowers the weight of the past."""

from slotwise.checks import Floats

EPOCHS_PER_HALF_LIFE = 8


def weight(epochs: int) -> float:
    """The weight of a count that is this many epochs old, relative to a new one."""
    return float(0.5 ** (epochs / EPOCHS_PER_HALF_LIFE)) if epochs else 1.0


def weights(epochs: Floats) -> Floats:
    """The weights of counts of these ages."""
    result: Floats = 0.5 ** (epochs / EPOCHS_PER_HALF_LIFE)
    return result
