"""A warning for reports of quick reproductions: what a quick reproduction cannot decide."""

from slotwise.paper.experiments import Experiment, RunSet, select_experiments
from slotwise.paper.reproduce import Reproduction


def quick_warning(reproduction: Reproduction) -> str:
    """Why the verdicts of a quick reproduction are weaker than those of a full one, or "" for a full one."""
    if not reproduction.scope.quick:
        return ""
    names = [experiment.name for experiment in reproduction.experiments]
    quick, full = (_run_sets(experiments) for experiments in (reproduction.experiments, select_experiments(names)))
    size = f"{_sizes(quick)} instead of {_sizes(full)}" if full else "shorter measurements"
    return (
        f"The verdicts here are weaker than those of the full reproduction, because they come from {size}. With fewer "
        "runs, standard errors are larger: chance decides more often, and a true difference may not show. With fewer "
        "rounds, policies have had less time to learn, so regrets and their order may differ from those of the paper. "
        "A verdict here says that the experiment works, not whether the claim holds: run slotwise reproduce without "
        "--quick for that."
    )


def _run_sets(experiments: list[Experiment]) -> list[RunSet]:
    return [run_set for experiment in experiments for run_set in experiment.run_sets.values()]


def _sizes(run_sets: list[RunSet]) -> str:
    """Text such as "5 to 60 runs of 10,000 rounds"."""
    runs, rounds = ([getattr(run_set, name) for run_set in run_sets] for name in ("runs", "rounds"))
    return f"{_range(runs)} runs of {_range(rounds)} rounds"


def _range(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
