"""Results: all measurements that figures and claims use."""

from dataclasses import dataclass, field, replace

import numpy as np

from slotwise.paper.experiments import POOLED, RunSet
from slotwise.paper.svd_vs_em import FitGap
from slotwise.paper.timing import GrowthPoint, MeasuredTime
from slotwise.simulation.result import Result


@dataclass
class Results:
    """The measurements of all experiments."""

    # (experiment, run set, setting, label) -> result
    simulations: dict[tuple[str, str, str, str], Result] = field(default_factory=dict)
    chosen_c: dict[tuple[str, str], float] = field(default_factory=dict)  # (experiment, setting) -> the best c
    times: dict[tuple[str, str], MeasuredTime] = field(default_factory=dict)  # (experiment, label) -> time
    growth: list[GrowthPoint] = field(default_factory=list)
    fits: list[FitGap] = field(default_factory=list)

    def result(self, experiment: str, setting: str, label: str, run_set: str = "curves") -> Result:
        return self.simulations[experiment, run_set, setting, label]

    def panel(self, experiment: str, setting: str, run_set: str = "curves") -> dict[str, Result]:
        """The results of all contenders on a setting, as {label: result}."""
        return {
            key[-1]: result for key, result in self.simulations.items() if key[:-1] == (experiment, run_set, setting)
        }

    def best_c(self, experiment: str, setting: str) -> float:
        """The c with the smallest mean regret at the last round of the tuning runs."""
        panel = self.panel(experiment, setting, "tuning")
        return float(min(panel.values(), key=lambda result: result.mean()[-1]).params["c"])


def panels(run_set: RunSet) -> tuple[str, ...]:
    """The panels of a figure: one panel for each setting, or a single panel that pools the settings."""
    return (POOLED,) if run_set.pooled else run_set.settings


def pool(results: list[Result]) -> Result:
    """Average the regret of each run over the settings.

    Run r uses the same random numbers on every setting, so its regrets on different settings are not independent. But
    the averages of different runs are independent, and this is all that standard errors need.
    """
    return replace(
        results[0],
        delay=0,
        regret=np.mean([result.regret for result in results], axis=0),
        seconds=sum(result.seconds for result in results),
    )
