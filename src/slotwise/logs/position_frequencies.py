"""PositionFrequencies: which positions occur in a log, and in how many lines."""

from typing import NamedTuple

MOST_POSITIONS = 50  # different positions that are counted; a column with more values does not hold positions
_MOST_NAMED = 6  # positions in one message


class PositionFrequencies(NamedTuple):
    """The numbers of lines with each numbered position, with each named position, and without a position."""

    numbers: dict[int, int]
    named: dict[str, int]
    missing: int = 0

    @classmethod
    def of(cls, lines: dict[str | None, int]) -> "PositionFrequencies":
        """Merge positions as they are written in the log. For example, 1 and 1.0 are the same position."""
        numbers: dict[int, int] = {}
        named: dict[str, int] = {}
        missing = 0
        for text, count in lines.items():
            number = _whole_number(text)
            if not text:
                missing += count
            elif number is None:
                named[text] = count
            else:
                numbers[number] = numbers.get(number, 0) + count
        return cls(dict(sorted(numbers.items())), named, missing)

    @property
    def zeros(self) -> int:
        """The number of lines with position 0."""
        return self.numbers.get(0, 0)

    @property
    def highest(self) -> int:
        """The highest position number in the log."""
        return max(self.numbers, default=0)

    @property
    def names(self) -> list[str]:
        """The positions that are not whole numbers. Those with the most lines come first."""
        return sorted(self.named, key=lambda name: (-self.named[name], name))

    @property
    def start_at_zero(self) -> bool:
        """Whether position 0 occurs about as often as the other positions, as one expects of a first position."""
        others = [count for number, count in self.numbers.items() if number > 0]
        return self.zeros > 0 and 2 * self.zeros * len(others) >= sum(others)

    def __str__(self) -> str:
        counts = [(str(number), count) for number, count in self.numbers.items()]
        counts += [(repr(name), self.named[name]) for name in self.names]
        listed = ", ".join(f"{name} in {count:,}" for name, count in counts[:_MOST_NAMED])
        return f"{listed}{', ...' if len(counts) > _MOST_NAMED else ''} lines"


def _whole_number(text: str | None) -> int | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return int(number) if number.is_integer() else None
