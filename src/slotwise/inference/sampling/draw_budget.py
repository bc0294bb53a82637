"""How many draws a page gets, and how a long computation is split into compiled calls."""

DRAWS, LEAST_DRAWS = 64, 16  # very large pages have fewer draws
CELLS_SWEPT = 32_000_000  # cells of the count matrix x sweeps: the budget of all draws, a second or two
_CALL_SIZE = 3_000_000  # cells x sweeps in one compiled call, so that a thread can be stopped between two calls


def number_of_draws(wanted: int, cells: int) -> int:
    """How many draws fit into the budget. `cells` is the size of the count matrix."""
    return min(wanted, max(CELLS_SWEPT // max(cells, 1), LEAST_DRAWS))


def steps(total: int, size: int) -> list[int]:
    """Split a number of sweeps, each of this size, into calls."""
    step = max(_CALL_SIZE // max(size, 1), 1)
    return [min(step, total - done) for done in range(0, total, step)]
