"""The numbers behind figures and claims, as CSV and Parquet."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from slotwise.extras import is_installed
from slotwise.files import write_whole
from slotwise.paper.claims.claim import Judgement
from slotwise.paper.output.power_rows import power_rows
from slotwise.paper.output.result_rows import (
    Row,
    choice_rows,
    curve_rows,
    data_rows,
    fit_rows,
    growth_rows,
    run_rows,
    time_rows,
)
from slotwise.paper.reproduce import Reproduction

TIMES = "times"  # a separate folder: these numbers differ between reproductions


def write_data(reproduction: Reproduction, folder: Path) -> None:
    """Write every table as CSV and, if pyarrow is installed, as Parquet.

    Times, and claims judged by times, go into a separate folder.
    """
    (folder / TIMES).mkdir(parents=True, exist_ok=True)
    for name, rows in tables(reproduction):
        if rows:
            write_whole(folder / f"{name}.csv", _csv(rows))
            if is_installed("pyarrow"):
                write_whole(folder / f"{name}.parquet", _parquet(rows))


def tables(reproduction: Reproduction) -> Iterator[tuple[str, list[Row]]]:
    """All tables as pairs of a file name and rows."""
    results = reproduction.results
    for experiment in reproduction.experiments:
        yield experiment.name, curve_rows(experiment, results)
        yield f"{experiment.name}-runs", run_rows(experiment, results)
        if "tuning" in experiment.run_sets:
            yield f"{experiment.name}-choice", choice_rows(experiment, results)
        if experiment.timed_policies:
            yield f"{TIMES}/{experiment.name}", time_rows(experiment, results)
        if experiment.growth:
            yield f"{TIMES}/{experiment.name}-growth", growth_rows(results)
        if experiment.fits:
            yield f"{experiment.name}-fits", fit_rows(results)
        if experiment.data:
            yield experiment.name, data_rows()
    yield "power", power_rows(reproduction.judgements)
    yield "claims", _claim_rows([judgement for judgement in reproduction.judgements if not judgement.claim.uses_times])
    yield (
        f"{TIMES}/claims",
        _claim_rows([judgement for judgement in reproduction.judgements if judgement.claim.uses_times]),
    )


def _claim_rows(judgements: Sequence[Judgement]) -> list[Row]:
    return [
        {
            "claim": judgement.claim.name,
            "experiment": judgement.claim.experiment,
            "verdict": judgement.verdict,
            "where": criterion.where,
            "holds": criterion.holds,
            "measured": criterion.measured,
        }
        for judgement in judgements
        for criterion in judgement.criteria
    ]


def _csv(rows: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _parquet(rows: list[Row]) -> bytes:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    sink = arrow.BufferOutputStream()
    parquet.write_table(arrow.Table.from_pylist(rows), sink)
    return bytes(sink.getvalue().to_pybytes())
