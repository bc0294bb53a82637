"""The error messages of the faulty policy in simulations. Run as a program, it prints them for plain Python."""

import json
from pathlib import Path

import slotwise as sw

FILE = Path(__file__).parent / "faulty_policy.py"
MODEL = sw.PBM([0.5, 0.4, 0.3, 0.2, 0.1], [1.0, 0.6, 0.3])
ROUND = 4  # the first one with a mistake
MISTAKES = ["nothing_filled", "last_not_filled", "too_large", "negative", "twice", "index", "step", "raise", "helper"]
MISTAKES += ["update_raise", "update_index", "update_writes", "long_order", "counts", "init"]
MISTAKES += ["add", "shift_many", "init_add", "none"]


def message(mistake: str, **settings: object) -> str:
    """The error of a simulation, or an empty text."""
    params = {"mistake": mistake, "after": ROUND - 1}
    try:
        sw.simulate(str(FILE), MODEL, params=params, **({"rounds": 9, "runs": 2, "delay": 2} | settings))  # type: ignore[arg-type]
    except sw.BadInput as error:
        return str(error)
    return ""


if __name__ == "__main__":
    print(json.dumps({mistake: message(mistake, runs=1, threads=1) for mistake in MISTAKES}))
