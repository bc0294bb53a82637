"""Results: all measurements, which figures and claims look up."""

from dataclasses import dataclass, field, replace

import numpy as np

from slotwise.paper.experiments import POOLED, RunSet
from slotwise.paper.svd_vs_em import FitGap
from slotwise.paper.timing import GrowthPoint, MeasuredTime
from slotwise.simulation.result import Result


@dataclass
class Results:
    """The measurements of all experiments."""

    # by experiment, run set, setting and label
    simulations: dict[tuple[str, str, str, str], Result] = field(default_factory=dict)
    chosen_c: dict[tuple[str, str], float] = field(default_factory=dict)  # the best c, by experiment and setting
    times: dict[tuple[str, str], MeasuredTime] = field(default_factory=dict)  # by experiment and label
    growth: list[GrowthPoint] = field(default_factory=list)
    fits: list[FitGap] = field(default_factory=list)

    def result(self, experiment: str, setting: str, label: str, run_set: str = "curves") -> Result:
        return self.simulations[experiment, run_set, setting, label]

    def panel(self, experiment: str, setting: str, run_set: str = "curves") -> dict[str, Result]:
        """The results of all contenders on a setting, by label."""
        return {
            key[-1]: result for key, result in self.simulations.items() if key[:-1] == (experiment, run_set, setting)
        }

    def best_c(self, experiment: str, setting: str) -> float:
        """The c with the smallest mean regret at the last round of the tuning runs."""
        panel = self.panel(experiment, setting, "tuning")
        return float(min(panel.values(), key=lambda result: result.mean()[-1]).params["c"])


def panels(run_set: RunSet) -> tuple[str, ...]:
    """The panels of a figure: one for each setting, or a single one that pools them."""
    return (POOLED,) if run_set.pooled else run_set.settings


def pool(results: list[Result]) -> Result:
    """Regret averaged over settings, run by run.

    Run r uses the same random numbers on every setting, so runs on different settings are not independent. But the
    averages of different runs over the settings are independent, which is all that standard errors need.
    """
    return replace(
        results[0],
        delay=0,
        regret=np.mean([result.regret for result in results], axis=0),
        seconds=sum(result.seconds for result in results),
    )
