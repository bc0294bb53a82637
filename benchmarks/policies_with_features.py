"""Regret of the policies of the related work that use features or know the visitor, for docs/context.md."""

from typing import Any

import slotwise as sw
from benchmarks.measure import Row, report
from slotwise.clickmodels._click_model import ClickModel, make_model
from slotwise.clickmodels._named_settings import NAMED_SETTINGS

ROUNDS, RUNS = 20_000, 40
Contender = tuple[str, dict[str, Any]]

COMPARED: dict[str, list[Contender]] = {
    "linear_cascade": [
        ("cascade_lin_ts", {}),
        ("cascade_lin_ucb", {}),
        ("c3_ucb", {}),
        ("cascade_ts", {}),
        ("cascade_kl_ucb", {}),
        ("uniform", {}),
    ],
    "linear_pbm": [
        ("lin_ts_pbm", {"kappa": "oracle"}),
        ("lin_ts_pbm", {"kappa": "learnt"}),
        ("slot_ts", {}),
        ("uniform", {}),
    ],
    "ratings": [
        ("particle_ts", {}),
        ("particle_ts", {"particles": 1}),
        ("particle_ts", {"noise": 1.0}),
        ("uniform", {}),
    ],
}
SPREADS = {"linear_cascade": (0.0, 1.0), "linear_pbm": (0.0, 1.0), "ratings": (0.0,)}


def visitors_of(name: str, spread: float) -> ClickModel:
    """The named setting. With a spread, its visitors differ."""
    setting = NAMED_SETTINGS[name]
    return make_model(name, setting.parameters() | {"spread": spread}) if spread else setting


def rows() -> list[Row]:
    """Regret, its standard error, and the time of a round, for each policy and each kind of visitors."""
    found = []
    for name, contenders in COMPARED.items():
        for spread in SPREADS[name]:
            for policy, params in contenders:
                result = sw.simulate(policy, visitors_of(name, spread), ROUNDS, RUNS, params=params)
                kind = f"{name}{', visitors differ' if spread else ''}"
                settings = "".join(f", {key} = {value}" for key, value in params.items())
                label = f"{kind}: {policy}{settings}"
                found += [
                    Row(f"{label}: regret", result.mean()[-1], ""),
                    Row(f"{label}: standard error", result.standard_error()[-1], ""),
                    Row(f"{label}: time of a round", 1e6 * result.seconds / (ROUNDS * RUNS), "µs"),
                ]
    return found


def main() -> bool:
    return report("policies with features", "policies_with_features", rows())


if __name__ == "__main__":
    main()
