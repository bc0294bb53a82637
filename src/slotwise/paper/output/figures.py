"""Draw the figures of each experiment from the results."""

from typing import Any, NamedTuple

from slotwise.charts import choice_chart, growth_chart, ratio_chart, regret_chart, spread_chart, time_chart
from slotwise.charts.common import COLOURS
from slotwise.paper.experiments import (
    EPSILON,
    FILLS,
    GREEDY_VERSIONS,
    PB_MHB,
    POOLED,
    RANDOM_SWEEPS,
    SWEEPS,
    UNIFORM,
    WARM,
    WIDTHS,
    Experiment,
    hyper,
    random_start,
    with_fill,
)
from slotwise.paper.output.result_rows import choice_rows, growth_rows, time_rows
from slotwise.paper.results import Results, panels
from slotwise.paper.statistics import format_mean
from slotwise.simulation.result import Result

QUICK = "QUICK: fewer runs and rounds; do not cite"
SETTING_TITLES = {
    "near-zero": "theta close to 0",
    "standard": "theta close to real data",
    "near-one": "theta close to 1",
}
SETTING_TITLES |= {POOLED: "mean of eight queries, with equally many runs"}
DASHED, DOTTED = [5, 3], [1, 3]
# variations of one contender share its colour; random starts, single sweeps and the mean fill are dashed
DASHES = {hyper(c, SWEEPS[0]).label: DASHED for c in WIDTHS} | {random_start(m).label: DASHED for m in RANDOM_SWEEPS}
DASHES |= {
    with_fill(contender, fill).label: dash
    for fill, dash in zip(FILLS, (DASHED, DOTTED), strict=True)
    for contender in GREEDY_VERSIONS
}
LINE_COLOURS = {hyper(c, m).label: COLOURS[k] for k, c in enumerate(WIDTHS) for m in SWEEPS}
LINE_COLOURS |= {
    with_fill(contender, fill).label: COLOURS[k] for fill in FILLS for k, contender in enumerate(GREEDY_VERSIONS)
}
LINE_COLOURS |= {UNIFORM.label: "#777777"}
BASELINES = (PB_MHB.label, WARM.label, hyper(100.0, 1).label)  # PB-MHB with the paper's settings, once in each figure


class Figure(NamedTuple):
    """A chart, the name of its files, and its text alternative."""

    name: str
    chart: Any
    alt_text: str
    title: str
    view: str = ""  # if not empty, this is another view of the figure with this title


def figures(experiment: Experiment, results: Results, quick: bool) -> list[Figure]:
    """All figures of an experiment."""
    notes = [QUICK] if quick else []
    all_figures = _spread(experiment, results, notes) if experiment.name == "fig-spread" else []
    if experiment.name != "fig-spread" and "curves" in experiment.run_sets:
        for setting in panels(experiment.run_sets["curves"]):
            all_figures += _regret(experiment, setting, results, notes)
    if "tuning" in experiment.run_sets:
        all_figures.append(_choice(experiment, results, notes))
    if experiment.name == "tab-time":
        all_figures += _times(experiment, results, notes)
    return all_figures


def _regret(experiment: Experiment, setting: str, results: Results, notes: list[str]) -> list[Figure]:
    panel = results.panel(experiment.name, setting)
    if "short" in experiment.run_sets:
        panel |= results.panel(experiment.name, setting, "short")
    panel = {_label_with_c(label, result): result for label, result in panel.items()}
    single = len(panels(experiment.run_sets["curves"])) == 1
    name = experiment.name if single else f"{experiment.name}-{setting}"
    title = f"{experiment.title}: {SETTING_TITLES[setting]}"
    ends = "; ".join(
        f"{label}: {format_mean(result)}"
        for label, result in sorted(panel.items(), key=lambda pair: pair[1].mean()[-1])
    )
    results_and_labels = (list(panel.values()), list(panel), title)
    style: dict[str, Any] = {
        "notes": notes,
        "dashes": {label: dash for label, dash in DASHES.items() if label in panel},
        "colours": LINE_COLOURS,
    }
    alt_text = f"{title}. Mean cumulative regret against rounds; at the last round: {ends}."
    logarithmic = regret_chart(*results_and_labels, **style)
    linear = regret_chart(*results_and_labels, log_regret=False, **style)
    all_figures = [
        Figure(name, logarithmic, alt_text, title),
        Figure(f"{name}-log-x", linear, alt_text, title, "regret on a linear axis"),
    ]
    for baseline in [label for label in BASELINES if label in panel]:
        ratio = ratio_chart(*results_and_labels, baseline=baseline, **style)
        all_figures.append(Figure(f"{name}-ratio", ratio, alt_text, title, f"regret / regret of {baseline}"))
    return all_figures


def _label_with_c(label: str, result: Result) -> str:
    """The label, with the chosen c instead of "best c"."""
    return f"ε-greedy, c = {result.params['c']:g}" if label == EPSILON.label else label


def _spread(experiment: Experiment, results: Results, notes: list[str]) -> list[Figure]:
    panel = results.panel(experiment.name, "standard")
    finals = {label: result.regret[:, -1] for label, result in panel.items()}
    first = next(iter(panel.values()))
    size = f"{first.runs:,} runs of {first.rounds[-1]:,} rounds each"
    ranges = "; ".join(
        f"{label} from {values.min():,.0f} to {values.max():,.0f}, median {sorted(values)[len(values) // 2]:,.0f}"
        for label, values in finals.items()
    )
    alt_text = f"{experiment.title}. Distribution of regret over {size}: {ranges}."
    chart = spread_chart(finals, experiment.title, [*notes, size])
    return [Figure(experiment.name, chart, alt_text, experiment.title)]


def _choice(experiment: Experiment, results: Results, notes: list[str]) -> Figure:
    rows = choice_rows(experiment, results)
    best = "; ".join(f"{row['setting']} c = {row['c']:g}" for row in rows if row["chosen"])
    title = "Choice of c for ε-greedy"
    chart = choice_chart(rows, title, [*notes, "on other visitors than in the figure of all competitors"])
    return Figure(f"{experiment.name}-choice", chart, f"{title}: regret against c. Chosen: {best}.", title)


def _times(experiment: Experiment, results: Results, notes: list[str]) -> list[Figure]:
    rows = time_rows(experiment, results)
    ours = "; ".join(f"{row['policy']} {row['milliseconds']:.2g} ms" for row in rows)
    title = "Time per recommendation"
    figure = Figure(experiment.name, time_chart(rows, title, notes), f"{title}, ours: {ours}.", title)
    if not results.growth:
        return [figure]
    title = "Time of PB-MHB against its random-walk steps"
    chart = growth_chart(growth_rows(results), title, [*notes, "one point for each N, L and m"])
    return [figure, Figure(f"{experiment.name}-growth", chart, f"{title}, for several N, L and m.", title)]
