"""Evidence: everything that was measured, as figures and claims look it up."""

from dataclasses import dataclass, field

import numpy as np

from slotwise.paper.experiments import POOLED, Plays
from slotwise.paper.svd_vs_em import FitGap
from slotwise.paper.timing import Growth, Time
from slotwise.simulation.result import Result


@dataclass
class Evidence:
    """What was measured, by experiment."""

    results: dict[tuple[str, str, str, str], Result] = field(default_factory=dict)
    choices: dict[tuple[str, str], float] = field(default_factory=dict)  # the best c, by experiment and setting
    times: dict[tuple[str, str], Time] = field(default_factory=dict)  # by experiment and label
    growth: list[Growth] = field(default_factory=list)
    fits: list[FitGap] = field(default_factory=list)

    def result(self, experiment: str, setting: str, label: str, plays: str = "curves") -> Result:
        """The result of a contender."""
        return self.results[experiment, plays, setting, label]

    def panel(self, experiment: str, setting: str, plays: str = "curves") -> dict[str, Result]:
        """The results of all contenders on a setting, by label."""
        return {
            label: result
            for (name, block, where, label), result in self.results.items()
            if (name, block, where) == (experiment, plays, setting)
        }

    def best(self, experiment: str, setting: str) -> float:
        """The c of the smallest mean regret at the last round, as the tuning of the experiment found it."""
        panel = self.panel(experiment, setting, "tuning")
        return float(min(panel.values(), key=lambda result: result.mean()[-1]).params["c"])


def panels(plays: Plays) -> tuple[str, ...]:
    """The settings that a figure shows: each by itself, or all pooled into one."""
    return (POOLED,) if plays.pooled else plays.settings


def pooled(results: list[Result]) -> Result:
    """Regret averaged over settings, run by run.

    Run r meets the same random numbers on every setting, so that runs on different settings are not independent of
    each other; averages over settings of one run are independent of those of another, which is all that errors need.
    """
    first = results[0]
    return Result(
        policy=first.policy,
        params=first.params,
        theta=first.theta,
        kappa=first.kappa,
        seed=first.seed,
        delay=0,
        rounds=first.rounds,
        regret=np.mean([result.regret for result in results], axis=0),
        seconds=sum(result.seconds for result in results),
    )
