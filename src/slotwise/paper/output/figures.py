"""The figures of each experiment, drawn from the evidence."""

from typing import Any, NamedTuple

from slotwise.charts import choice_chart, growth_chart, regret_chart, spread_chart, time_chart
from slotwise.charts.axes import COLOURS
from slotwise.paper.experiments import (
    EPSILON,
    GREEDY_VERSIONS,
    POOLED,
    RANDOM_SWEEPS,
    SWEEPS,
    UNIFORM,
    WIDTHS,
    Experiment,
    by_mean,
    hyper,
    random_start,
)
from slotwise.paper.output.tables import choice_rows, growth_rows, time_rows
from slotwise.paper.results import Evidence, panels
from slotwise.paper.statistics import mean_and_error
from slotwise.simulation.result import Result

QUICK = "QUICK: fewer runs and rounds; do not cite"
WHERE = {"near-zero": "theta close to 0", "standard": "theta close to real data", "near-one": "theta close to 1"}
WHERE |= {POOLED: "mean of eight queries, as many runs of each"}
DASHED = [5, 3]
# what differs in one respect shares a colour: random starts are dashed, so are single sweeps and the other fill
DASHES = {hyper(c, SWEEPS[0]).label: DASHED for c in WIDTHS} | {random_start(m).label: DASHED for m in RANDOM_SWEEPS}
DASHES |= {by_mean(who).label: DASHED for who in GREEDY_VERSIONS}
SHADES = {hyper(c, m).label: COLOURS[k] for k, c in enumerate(WIDTHS) for m in SWEEPS}
SHADES |= {by_mean(who).label: COLOURS[k] for k, who in enumerate(GREEDY_VERSIONS)}
SHADES |= {UNIFORM.label: "#777777"}


class Figure(NamedTuple):
    """A chart, what to call its files, and what it shows in words."""

    name: str
    chart: Any
    alternative: str
    title: str
    variant: str = ""  # the same figure on other axes


def figures(experiment: Experiment, evidence: Evidence, quick: bool) -> list[Figure]:
    """Everything that an experiment draws."""
    notes = [QUICK] if quick else []
    drawn = _spread(experiment, evidence, notes) if experiment.name == "fig-spread" else []
    if experiment.name != "fig-spread" and "curves" in experiment.plays:
        for setting in panels(experiment.plays["curves"]):
            drawn += _regret(experiment, setting, evidence, notes)
    if "tuning" in experiment.plays:
        drawn.append(_choice(experiment, evidence, notes))
    if experiment.name == "tab-time":
        drawn += _times(experiment, evidence, notes)
    return drawn


def _regret(experiment: Experiment, setting: str, evidence: Evidence, notes: list[str]) -> list[Figure]:
    panel = evidence.panel(experiment.name, setting)
    if "short" in experiment.plays:
        panel |= evidence.panel(experiment.name, setting, "short")
    panel = {_named(label, result): result for label, result in panel.items()}
    alone = len(panels(experiment.plays["curves"])) == 1
    name = experiment.name if alone else f"{experiment.name}-{setting}"
    title = f"{experiment.title}: {WHERE[setting]}"
    ends = "; ".join(
        f"{label}: {mean_and_error(result)}"
        for label, result in sorted(panel.items(), key=lambda pair: pair[1].mean()[-1])
    )
    drawn = []
    for variant, log_regret in (("", True), ("log-x", False)):
        chart = regret_chart(
            list(panel.values()),
            list(panel),
            title,
            notes=notes,
            log_regret=log_regret,
            dashes={label: dash for label, dash in DASHES.items() if label in panel},
            colours=SHADES,
        )
        words = f"{title}. Mean cumulative regret against rounds; at the last round: {ends}."
        drawn.append(Figure(f"{name}-{variant}" if variant else name, chart, words, title, variant))
    return drawn


def _named(label: str, result: Result) -> str:
    """The label, with the c that was chosen where it says best."""
    return f"ε-greedy, c = {result.params['c']:g}" if label == EPSILON.label else label


def _spread(experiment: Experiment, evidence: Evidence, notes: list[str]) -> list[Figure]:
    panel = evidence.panel(experiment.name, "standard")
    finals = {label: result.regret[:, -1] for label, result in panel.items()}
    first = next(iter(panel.values()))
    size = f"{first.runs:,} runs of {first.rounds[-1]:,} rounds each"
    middles = "; ".join(
        f"{label} from {values.min():,.0f} to {values.max():,.0f}, median {sorted(values)[len(values) // 2]:,.0f}"
        for label, values in finals.items()
    )
    words = f"{experiment.title}. Distribution of regret over {size}: {middles}."
    chart = spread_chart(finals, experiment.title, [*notes, size])
    return [Figure(experiment.name, chart, words, experiment.title)]


def _choice(experiment: Experiment, evidence: Evidence, notes: list[str]) -> Figure:
    rows = choice_rows(experiment, evidence)
    best = "; ".join(f"{row['setting']} c = {row['c']:g}" for row in rows if row["chosen"])
    title = "How c of ε-greedy was chosen"
    chart = choice_chart(rows, title, [*notes, "on other visitors than those of the figure"])
    return Figure(f"{experiment.name}-choice", chart, f"{title}: regret against c. Chosen: {best}.", title)


def _times(experiment: Experiment, evidence: Evidence, notes: list[str]) -> list[Figure]:
    rows = time_rows(experiment, evidence)
    ours = "; ".join(f"{row['policy']} {row['milliseconds']:.2g} ms" for row in rows)
    title = "Time per recommendation"
    figure = Figure(experiment.name, time_chart(rows, title, notes), f"{title}, ours: {ours}.", title)
    if not evidence.growth:
        return [figure]
    title = "Time of PB-MHB against its random-walk steps"
    chart = growth_chart(growth_rows(evidence), title, [*notes, "one point for each N, L and m"])
    return [figure, Figure(f"{experiment.name}-growth", chart, f"{title}, for several N, L and m.", title)]
