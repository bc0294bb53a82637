"""The sections of the report and of the Markdown page: figures, tables and verdicts of each experiment."""

import os
import platform
import time
from typing import NamedTuple

import numba

from slotwise.paper.claims.claim import HOLDS, IN_PART, NOT, Judgement
from slotwise.paper.experiments import EXPERIMENTS, Experiment
from slotwise.paper.output.figures import Figure, figures
from slotwise.paper.output.power_rows import power_rows
from slotwise.paper.output.result_rows import COLUMNS, choice_rows, data_rows, final_rows, fit_rows, time_rows
from slotwise.paper.power import SAMPLES
from slotwise.paper.reproduce import Reproduction

SIGNS = {HOLDS: "✓", IN_PART: "◐", NOT: "✗"}


class Table(NamedTuple):
    """A table whose numbers are already formatted."""

    caption: str
    heads: list[str]
    rows: list[list[str]]


class Section(NamedTuple):
    """The figures, tables and judgements of one experiment."""

    experiment: Experiment
    size: str
    figures: list[Figure]
    tables: list[Table]
    judgements: list[Judgement]


class Provenance(NamedTuple):
    """When, where and by which command the reproduction was made."""

    date: str
    machine: str
    command: str


def make_provenance(command: str) -> Provenance:
    """The provenance of a reproduction. It describes the kind of machine, but not its name."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    versions = f"Python {platform.python_version()}, numba {numba.__version__}"
    return Provenance(time.strftime("%Y-%m-%d"), f"{machine}, {versions}", command)


def make_sections(reproduction: Reproduction) -> list[Section]:
    """One section per experiment, in the order of the paper."""
    return [_section(experiment, reproduction) for experiment in reproduction.experiments]


def _section(experiment: Experiment, reproduction: Reproduction) -> Section:
    judgements = [judgement for judgement in reproduction.judgements if judgement.claim.experiment == experiment.name]
    return Section(
        experiment,
        _size(experiment),
        figures(experiment, reproduction.results, reproduction.scope.quick),
        [*_power_tables(judgements), *_tables(experiment, reproduction)],
        judgements,
    )


def summarize_verdicts(judgements: list[Judgement]) -> str:
    """How many claims were tested, and how many of them have each verdict, as a sentence."""
    counts = {verdict: sum(judgement.verdict == verdict for judgement in judgements) for verdict in SIGNS}
    parts = [
        f"{counts[HOLDS]} {'holds' if counts[HOLDS] == 1 else 'hold'}",
        f"{counts[IN_PART]} {'holds' if counts[IN_PART] == 1 else 'hold'} in part",
        f"{counts[NOT]} {'does' if counts[NOT] == 1 else 'do'} not hold",
    ]
    return f"Of {_count(len(judgements), 'claim')}, {', '.join(parts)}."


def left_out(reproduction: Reproduction) -> str:
    """A sentence that says which experiments were run, or an empty string if all were run."""
    names = [experiment.name for experiment in reproduction.experiments]
    if len(names) == len(EXPERIMENTS):
        return ""
    return (
        f"This report covers {len(names)} of the paper's {len(EXPERIMENTS)} experiments: {', '.join(names)}. The "
        "claims of the other experiments are not tested here."
    )


def cost_table(reproduction: Reproduction) -> Table:
    """The rounds and CPU time of each experiment."""
    rows = [
        [name, f"{cost.rounds:,}", _format_seconds(cost.seconds), _format_seconds(cost.seconds_now)]
        for name, cost in reproduction.costs.items()
    ]
    fields = ("rounds", "seconds", "seconds_now")
    totals = [sum(getattr(cost, field) for cost in reproduction.costs.values()) for field in fields]
    rows.append(["all", f"{totals[0]:,}", _format_seconds(totals[1]), _format_seconds(totals[2])])
    caption = (
        "Rounds of each experiment and CPU time of their compiled loops. Rounds that several experiments share count "
        f"for the first one. This call took {_format_seconds(reproduction.wall_seconds)}, including compilation but "
        "not drawing. At the times per recommendation of the paper's table, the same rounds of the policies in it "
        f"would take {_format_long_time(reproduction.paper_seconds)} on one core."
    )
    return Table(caption, ["experiment", "rounds", "CPU time", "CPU time of this call"], rows)


def _format_long_time(seconds: float) -> str:
    return f"{seconds / 86400:,.0f} days" if seconds > 2 * 86400 else f"{seconds / 3600:,.1f} hours"


def _format_seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _size(experiment: Experiment) -> str:
    sizes = [
        f"{name}: {_count(len(run_set.contenders), 'contender')}, {_count(len(run_set.settings), 'setting')}, "
        f"{run_set.runs:,} runs of {run_set.rounds:,} rounds"
        for name, run_set in experiment.run_sets.items()
    ]
    return "; ".join(sizes)


def _tables(experiment: Experiment, reproduction: Reproduction) -> list[Table]:
    results = reproduction.results
    tables = []
    for name in experiment.run_sets:
        if name != "tuning":
            tables.append(_final_table(experiment, reproduction, name))
    if "tuning" in experiment.run_sets:
        tables.append(_choice_table(experiment, reproduction))
    if experiment.timed_policies:
        tables.append(_time_table(experiment, reproduction))
    if experiment.fits:
        heads = ["setting", "theta difference", "kappa difference", "largest error, SVD", "largest error, EM"]
        rows = [[_format(value) for value in row.values()] for row in fit_rows(results)]
        tables.append(Table("theta and kappa estimated by SVD and by EM from the same counts.", heads, rows))
    if experiment.data:
        tables.append(_data_table())
    return tables


def _data_table() -> Table:
    """Our value and the paper's value share a cell, because two columns for each would not fit the page."""
    rows = [
        [row["query"], *(f"{_format(row[column])} ({_format(row[f'paper: {column}'])})" for column in COLUMNS)]
        for row in data_rows()
    ]
    return Table("Our values, and in parentheses those that the paper prints.", ["query", *COLUMNS], rows)


def _power_tables(judgements: list[Judgement]) -> list[Table]:
    """The power of the tests on runs, if there are any."""
    rows = [
        [
            row["claim"],
            row["where"],
            f"{row['runs']:,}",
            f"{row['holds_if_true']:.0%} if {row['true']}",
            f"{row['holds_if_false']:.0%} if {row['false']}",
            f"{row['holds_as_measured']:.0%}",
        ]
        for row in power_rows(judgements)
    ]
    caption = (
        f"Power: how often each test says “holds”, in {SAMPLES} samples of as many runs as were measured. The samples "
        "are drawn from the measured runs, changed so that the claim is true, changed so that it is false, and as "
        "measured. In the last column, a share far from 0 and 100 % means that another sample could decide otherwise."
    )
    heads = ["claim", "where", "runs", "where the claim is true", "where it is false", "as measured"]
    return [Table(caption, heads, rows)] if rows else []


def _final_table(experiment: Experiment, reproduction: Reproduction, run_set: str) -> Table:
    rows = final_rows(experiment, reproduction.results, run_set)
    caption = f"Regret at round {rows[0]['rounds']:,}, {rows[0]['runs']:,} runs, smallest first."
    heads = ["setting", "policy", "mean", "standard error", "median", "95 %", "worst run"]
    keys = ("setting", "policy", "regret", "standard_error", "median", "q95", "worst")
    return Table(caption, heads, [[_format(row[key]) for key in keys] for row in rows])


def _choice_table(experiment: Experiment, reproduction: Reproduction) -> Table:
    rows = choice_rows(experiment, reproduction.results)
    texts = [
        [
            row["setting"],
            f"{row['c']:g}",
            f"{_format(row['regret'])} ± {_format(row['standard_error'])}",
            "chosen" if row["chosen"] else "",
        ]
        for row in rows
    ]
    return Table(
        "Regret of ε-greedy for each c, on the visitors of the tuning runs.", ["setting", "c", "regret", ""], texts
    )


def _time_table(experiment: Experiment, reproduction: Reproduction) -> Table:
    heads = ["policy", "rounds", "ours: s", "ours: ms per round", "paper: min", "paper: ms per round", "speed-up"]
    rows = [
        [
            row["policy"],
            f"{row['rounds']:,}",
            f"{row['seconds']:.3g}",
            f"{row['milliseconds']:.2g}",
            _format(row["paper_minutes"]),
            _format(row["paper_milliseconds"]),
            "" if row["faster"] is None else f"{row['faster']:,.0f}",
        ]
        for row in time_rows(experiment, reproduction.results)
    ]
    return Table("Times on one core, median of three runs. They vary between measurements.", heads, rows)


def _format(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
