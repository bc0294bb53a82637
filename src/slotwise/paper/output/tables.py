"""The paper's tables beside what was measured, and the numbers behind every figure, as plain rows."""

from typing import Any

from slotwise.paper.experiments import Experiment, Timed
from slotwise.paper.results import Evidence, panels
from slotwise.paper.settings import BEHAVIORAL
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
    """N and the range of the parameters of each query, ours and (in brackets) the paper's."""
    return [{"query": name, **dict(zip(COLUMNS, _ranges(name), strict=True)), **_printed(name)} for name in BEHAVIORAL]


def published_gaps() -> dict[str, float]:
    """For each query, the largest distance between ours and what the paper prints."""
    return {
        name: max(abs(ours - theirs) for ours, theirs in zip(_ranges(name), PUBLISHED[name], strict=True))
        for name in BEHAVIORAL
    }


def time_rows(experiment: Experiment, evidence: Evidence) -> list[Row]:
    """Our times beside the paper's, and how many times faster."""
    return [_time_row(row, experiment, evidence) for row in experiment.timed]


def growth_rows(evidence: Evidence) -> list[Row]:
    """The time of PB-MHB over the grid of sizes."""
    return [
        {
            "items": point.items,
            "positions": point.positions,
            "sweeps": point.sweeps,
            "steps": point.steps,
            "milliseconds": point.milliseconds,
        }
        for point in evidence.growth
    ]


def fit_rows(evidence: Evidence) -> list[Row]:
    """How far SVD and EM are apart, and from the truth."""
    return [gap._asdict() for gap in evidence.fits]


def choice_rows(experiment: Experiment, evidence: Evidence) -> list[Row]:
    """The regret of each c on the visitors it was chosen on, and which one was chosen."""
    rows = []
    for setting in panels(experiment.plays["tuning"]):
        best = evidence.choices[experiment.name, setting]
        for result in evidence.panel(experiment.name, setting, "tuning").values():
            mean, error = float(result.mean()[-1]), float(result.standard_error()[-1])
            c = result.params["c"]
            rows.append({"setting": setting, "c": c, "regret": mean, "standard_error": error, "chosen": c == best})
    return rows


def final_rows(experiment: Experiment, evidence: Evidence, plays: str = "curves") -> list[Row]:
    """Regret at the last round, smallest first: means, medians, tails."""
    rows = []
    for setting in panels(experiment.plays[plays]):
        panel = evidence.panel(experiment.name, setting, plays)
        for label, result in sorted(panel.items(), key=lambda pair: pair[1].mean()[-1]):
            rows.append({"setting": setting, "policy": label} | _end(result))
    return rows


def curve_rows(experiment: Experiment, evidence: Evidence) -> list[Row]:
    """Every curve of an experiment at every checkpoint."""
    rows = []
    for (name, plays, setting, label), result in evidence.results.items():
        if name == experiment.name:
            middle, low, high = result.quantiles([0.5, 0.05, 0.95])
            columns = zip(result.rounds, result.mean(), result.standard_error(), middle, low, high, strict=True)
            rows += [
                {"part": plays, "setting": setting, "policy": label, "runs": result.runs}
                | dict(
                    zip(("round", "mean", "standard_error", "median", "q05", "q95"), map(_plain, column), strict=True)
                )
                for column in columns
            ]
    return rows


def run_rows(experiment: Experiment, evidence: Evidence) -> list[Row]:
    """The regret of every single run at the last round."""
    return [
        {"part": plays, "setting": setting, "policy": label, "run": run, "regret": float(regret)}
        for (name, plays, setting, label), result in evidence.results.items()
        if name == experiment.name
        for run, regret in enumerate(result.regret[:, -1])
    ]


def _end(result: Result) -> Row:
    middle, high = result.quantiles([0.5, 0.95])[:, -1]
    return {
        "regret": float(result.mean()[-1]),
        "standard_error": float(result.standard_error()[-1]),
        "median": float(middle),
        "q95": float(high),
        "worst": float(result.regret[:, -1].max()),
        "runs": result.runs,
        "rounds": int(result.rounds[-1]),
    }


def _time_row(row: Timed, experiment: Experiment, evidence: Evidence) -> Row:
    time = evidence.times[experiment.name, row.contender.label]
    paper = row.paper_milliseconds
    return {
        "policy": row.contender.label,
        "rounds": row.rounds,
        "seconds": time.milliseconds * row.rounds / 1e3,
        "milliseconds": time.milliseconds,
        "paper_minutes": row.paper_minutes,
        "paper_milliseconds": paper,
        "faster": None if paper is None else paper / time.milliseconds,
    }


def _ranges(name: str) -> tuple[float, ...]:
    theta, kappa = BEHAVIORAL[name]
    return (len(theta), min(theta), max(theta), *kappa)


def _printed(name: str) -> Row:
    return {f"paper: {column}": value for column, value in zip(COLUMNS, PUBLISHED[name], strict=True)}


def _plain(value: Any) -> Any:
    return value.item()
