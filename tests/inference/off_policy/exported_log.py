"""Logs with propensities, as the service exports them."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.inference.off_policy.simulated_log import ENSEMBLE, MODEL, VALUES, propensities

POSITIONS = ("hero", "left", "right")
ITEMS = ("hat", "scarf", "bag", "belt", "tie")


def log_lines(n_holdout: int, n_learnt: int, seed: int = 0, **changes: Any) -> list[dict[str, Any]]:
    """Displays in random order, and picks from eight draws. Visitors click by the model. `changes` replace fields."""
    rng = np.random.default_rng(seed)
    shares = propensities(ENSEMBLE, np.full(8, 1.0 / 8.0))
    lines = []
    for k in range(n_holdout + n_learnt):
        holdout = k < n_holdout
        display = rng.permutation(5)[:3] if holdout else ENSEMBLE[rng.integers(8)]
        common = {"display": f"d{seed}-{k}", "issued": 1.7e9 + k, "page": "shop", "segment": "", "layout": "default"}
        common |= {"variant": "holdout" if holdout else "learnt", "shown": 1, "bucket": int(rng.integers(512))}
        for position, item in enumerate(display.tolist()):
            clicked = int(rng.random() < MODEL.theta[item] * MODEL.kappa[position])
            own = {"position": POSITIONS[position], "item": ITEMS[item], "clicked": clicked, "value": VALUES[item]}
            own["propensity"] = 0.2 if holdout else float(shares[item, position])
            lines.append({**common, **own, **changes})
    return lines


def without(lines: list[dict[str, Any]], *columns: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name not in columns} for line in lines]


def write(path: Path, lines: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def expected(order: str, valued: bool = False) -> float:
    """What an order earns per display, by the model."""
    shown = [ITEMS.index(name) for name in order.split(",")]
    return float((MODEL.theta[shown] * (VALUES[shown] if valued else 1.0) * MODEL.kappa).sum())
