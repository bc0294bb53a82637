"""The reproduction as a reader meets it: sections of figures, tables and verdicts, for the report and for the page."""

import os
import platform
import time
from typing import NamedTuple

import numba

from slotwise.paper.claims.claim import HOLDS, IN_PART, NOT, Judgement
from slotwise.paper.experiments import Experiment
from slotwise.paper.output.figures import Figure, figures
from slotwise.paper.output.tables import choice_rows, data_rows, final_rows, fit_rows, time_rows
from slotwise.paper.reproduce import Reproduction

SIGNS = {HOLDS: "✓", IN_PART: "◐", NOT: "✗"}


class Table(NamedTuple):
    """A table in words; numbers are texts already."""

    caption: str
    heads: list[str]
    rows: list[list[str]]


class Section(NamedTuple):
    """One experiment."""

    experiment: Experiment
    size: str
    figures: list[Figure]
    tables: list[Table]
    judgements: list[Judgement]


class Facts(NamedTuple):
    """When, where and how the reproduction was made."""

    date: str
    machine: str
    command: str


def facts(found: Reproduction, command: str) -> Facts:
    """The kind of machine, never its name."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    versions = f"Python {platform.python_version()}, numba {numba.__version__}"
    return Facts(time.strftime("%Y-%m-%d"), f"{machine}, {versions}", command)


def sections(found: Reproduction) -> list[Section]:
    """One for each experiment, in the order of the paper."""
    return [
        Section(
            experiment,
            _size(experiment),
            figures(experiment, found.evidence, found.quick),
            _tables(experiment, found),
            [one for one in found.judgements if one.claim.experiment == experiment.name],
        )
        for experiment in found.experiments
    ]


def tally(judgements: list[Judgement]) -> str:
    """How many claims hold, in words."""
    counts = {verdict: sum(one.verdict == verdict for one in judgements) for verdict in SIGNS}
    return f"{counts[HOLDS]} hold, {counts[IN_PART]} hold in part, {counts[NOT]} do not hold"


def spent_table(found: Reproduction) -> Table:
    """Where the time went."""
    rows = [
        [name, f"{spent.rounds:,}", _seconds(spent.seconds), _seconds(spent.seconds_now)]
        for name, spent in found.spent.items()
    ]
    whole = [sum(getattr(spent, key) for spent in found.spent.values()) for key in ("rounds", "seconds", "seconds_now")]
    rows.append(["all", f"{whole[0]:,}", _seconds(whole[1]), _seconds(whole[2])])
    caption = (
        "Rounds played for each experiment and processor seconds of their compiled loops; what several experiments "
        f"share counts for the first. This time: {_seconds(found.wall_seconds)} from start to end, compilation "
        "included, drawing not. At the times per recommendation of the paper's table, the same rounds of the policies "
        f"in it would take {_long(found.paper_seconds)} of one core."
    )
    return Table(caption, ["experiment", "rounds", "processor time", "of which this time"], rows)


def _long(seconds: float) -> str:
    return f"{seconds / 86400:,.0f} days" if seconds > 2 * 86400 else f"{seconds / 3600:,.1f} hours"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _size(experiment: Experiment) -> str:
    sizes = [
        f"{name}: {_count(len(plays.contenders), 'contender')}, {_count(len(plays.settings), 'setting')}, "
        f"{plays.runs:,} runs of {plays.rounds:,} rounds"
        for name, plays in experiment.plays.items()
    ]
    return "; ".join(sizes)


def _tables(experiment: Experiment, found: Reproduction) -> list[Table]:
    evidence = found.evidence
    drawn = []
    for name in experiment.plays:
        if name != "tuning":
            drawn.append(_finals(experiment, found, name))
    if "tuning" in experiment.plays:
        drawn.append(_choices(experiment, found))
    if experiment.timed:
        drawn.append(_times(experiment, found))
    if experiment.fits:
        heads = ["setting", "theta apart", "kappa apart", "largest error, SVD", "largest error, EM"]
        rows = [[_text(value) for value in row.values()] for row in fit_rows(evidence)]
        drawn.append(Table("theta and kappa by SVD and by EM from the same counts.", heads, rows))
    if experiment.data:
        rows = [[_text(value) for value in row.values()] for row in data_rows()]
        drawn.append(Table("Ours, then what the paper prints.", list(data_rows()[0]), rows))
    return drawn


def _finals(experiment: Experiment, found: Reproduction, plays: str) -> Table:
    rows = final_rows(experiment, found.evidence, plays)
    caption = f"Regret at round {rows[0]['rounds']:,}, {rows[0]['runs']:,} runs, smallest first."
    heads = ["setting", "policy", "mean", "standard error", "median", "95 %", "worst run"]
    keys = ("setting", "policy", "regret", "standard_error", "median", "q95", "worst")
    return Table(caption, heads, [[_text(row[key]) for key in keys] for row in rows])


def _choices(experiment: Experiment, found: Reproduction) -> Table:
    rows = choice_rows(experiment, found.evidence)
    texts = [
        [
            row["setting"],
            f"{row['c']:g}",
            f"{_text(row['regret'])} ± {_text(row['standard_error'])}",
            "chosen" if row["chosen"] else "",
        ]
        for row in rows
    ]
    return Table(
        "Regret of ε-greedy for each c, on the visitors it was chosen on.", ["setting", "c", "regret", ""], texts
    )


def _times(experiment: Experiment, found: Reproduction) -> Table:
    heads = ["policy", "rounds", "ours: s", "ours: ms per round", "paper: min", "paper: ms per round", "times faster"]
    rows = [
        [
            row["policy"],
            f"{row['rounds']:,}",
            f"{row['seconds']:.3g}",
            f"{row['milliseconds']:.2g}",
            _text(row["paper_minutes"]),
            _text(row["paper_milliseconds"]),
            "" if row["faster"] is None else f"{row['faster']:,.0f}",
        ]
        for row in time_rows(experiment, found.evidence)
    ]
    return Table(
        "Times on one core, the middle one of three runs. They vary from one measurement to the next.", heads, rows
    )


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
