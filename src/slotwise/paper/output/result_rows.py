"""The results as rows: the data of every figure and export, and our measurements next to the paper's tables."""

from typing import Any

from slotwise.paper.experiments import Experiment, TimedPolicy
from slotwise.paper.named_click_models import BEHAVIORAL
from slotwise.paper.results import Results, panels
from slotwise.simulation.result import Result

Row = dict[str, Any]
# Table 1 of the paper: number of ads, smallest and largest theta, kappa
PUBLISHED = {
    "q2": (5, 0.016, 0.077, 1.00, 0.503, 0.403),
    "q19": (5, 0.031, 0.050, 1.00, 0.486, 0.330),
    "q7": (6, 0.025, 0.067, 1.00, 0.491, 0.345),
    "q9": (6, 0.017, 0.069, 1.00, 0.546, 0.529),
    "q10": (6, 0.004, 0.148, 1.00, 0.411, 0.275),
    "q8": (8, 0.108, 0.146, 1.00, 0.178, 0.101),
    "q1": (11, 0.022, 0.149, 1.00, 0.473, 0.328),
    "q4": (11, 0.022, 0.084, 1.00, 0.478, 0.349),
}
COLUMNS = ("items", "smallest theta", "largest theta", "kappa 1", "kappa 2", "kappa 3")


def data_rows() -> list[Row]:
    """The number of items and the range of the parameters of each query, next to the paper's numbers."""
    return [{"query": name, **dict(zip(COLUMNS, _ranges(name), strict=True)), **_printed(name)} for name in BEHAVIORAL]


def published_gaps() -> dict[str, float]:
    """For each query, the largest difference between our values and the values that the paper prints."""
    return {
        name: max(abs(ours - theirs) for ours, theirs in zip(_ranges(name), PUBLISHED[name], strict=True))
        for name in BEHAVIORAL
    }


def time_rows(experiment: Experiment, results: Results) -> list[Row]:
    """Our times, the paper's times, and the speed-up."""
    return [_time_row(timed, experiment, results) for timed in experiment.timed_policies]


def growth_rows(results: Results) -> list[Row]:
    """The time of PB-MHB over the grid of sizes."""
    return [
        {
            "items": point.items,
            "positions": point.positions,
            "sweeps": point.sweeps,
            "steps": point.steps,
            "milliseconds": point.milliseconds,
        }
        for point in results.growth
    ]


def fit_rows(results: Results) -> list[Row]:
    """The differences between SVD and EM, and their errors."""
    return [gap._asdict() for gap in results.fits]


def choice_rows(experiment: Experiment, results: Results) -> list[Row]:
    """The regret of each c in the tuning runs, and whether this c was chosen."""
    rows = []
    for setting in panels(experiment.run_sets["tuning"]):
        best = results.chosen_c[experiment.name, setting]
        for result in results.panel(experiment.name, setting, "tuning").values():
            mean, error = float(result.mean()[-1]), float(result.standard_error()[-1])
            c = result.params["c"]
            rows.append({"setting": setting, "c": c, "regret": mean, "standard_error": error, "chosen": c == best})
    return rows


def final_rows(experiment: Experiment, results: Results, run_set: str = "curves") -> list[Row]:
    """Regret at the last round, smallest first: means, medians and tails."""
    rows = []
    for setting in panels(experiment.run_sets[run_set]):
        panel = results.panel(experiment.name, setting, run_set)
        for label, result in sorted(panel.items(), key=lambda pair: pair[1].mean()[-1]):
            rows.append({"setting": setting, "policy": label} | _final_row(result))
    return rows


def curve_rows(experiment: Experiment, results: Results) -> list[Row]:
    """All curves of an experiment at all checkpoints."""
    rows = []
    for (name, run_set, setting, label), result in results.simulations.items():
        if name == experiment.name:
            median, low, high = result.quantiles([0.5, 0.05, 0.95])
            columns = zip(result.rounds, result.mean(), result.standard_error(), median, low, high, strict=True)
            rows += [
                {"part": run_set, "setting": setting, "policy": label, "runs": result.runs}
                | dict(
                    zip(
                        ("round", "mean", "standard_error", "median", "q05", "q95"),
                        map(_to_python, column),
                        strict=True,
                    )
                )
                for column in columns
            ]
    return rows


def run_rows(experiment: Experiment, results: Results) -> list[Row]:
    """The regret of every run at the last round."""
    return [
        {"part": run_set, "setting": setting, "policy": label, "run": run, "regret": float(regret)}
        for (name, run_set, setting, label), result in results.simulations.items()
        if name == experiment.name
        for run, regret in enumerate(result.regret[:, -1])
    ]


def _final_row(result: Result) -> Row:
    median, high = result.quantiles([0.5, 0.95])[:, -1]
    return {
        "regret": float(result.mean()[-1]),
        "standard_error": float(result.standard_error()[-1]),
        "median": float(median),
        "q95": float(high),
        "worst": float(result.regret[:, -1].max()),
        "runs": result.runs,
        "rounds": int(result.rounds[-1]),
    }


def _time_row(timed: TimedPolicy, experiment: Experiment, results: Results) -> Row:
    time = results.times[experiment.name, timed.contender.label]
    paper = timed.paper_milliseconds
    return {
        "policy": timed.contender.label,
        "rounds": timed.rounds,
        "seconds": time.milliseconds * timed.rounds / 1e3,
        "milliseconds": time.milliseconds,
        "paper_minutes": timed.paper_minutes,
        "paper_milliseconds": paper,
        "faster": None if paper is None else paper / time.milliseconds,
    }


def _ranges(name: str) -> tuple[float, ...]:
    theta, kappa = BEHAVIORAL[name]
    return (len(theta), min(theta), max(theta), *kappa)


def _printed(name: str) -> Row:
    return {f"paper: {column}": value for column, value in zip(COLUMNS, PUBLISHED[name], strict=True)}


def _to_python(value: Any) -> Any:
    return value.item()
