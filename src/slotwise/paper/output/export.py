"""The numbers behind figures and claims, as CSV and as Parquet."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from slotwise.files import write_whole
from slotwise.paper.claims.claim import Judgement
from slotwise.paper.output.tables import (
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

TIMES = "times"  # a folder apart: what is in it is never the same twice


def write_data(found: Reproduction, folder: Path) -> None:
    """Every table of numbers; times and what is judged by them in a folder of their own."""
    (folder / TIMES).mkdir(parents=True, exist_ok=True)
    for name, rows in tables(found):
        if rows:
            write_whole(folder / f"{name}.csv", _csv(rows))
            write_whole(folder / f"{name}.parquet", _parquet(rows))


def tables(found: Reproduction) -> Iterator[tuple[str, list[Row]]]:
    """The tables by name."""
    evidence = found.evidence
    for experiment in found.experiments:
        yield experiment.name, curve_rows(experiment, evidence)
        yield f"{experiment.name}-runs", run_rows(experiment, evidence)
        if "tuning" in experiment.plays:
            yield f"{experiment.name}-choice", choice_rows(experiment, evidence)
        if experiment.timed:
            yield f"{TIMES}/{experiment.name}", time_rows(experiment, evidence)
        if experiment.growth:
            yield f"{TIMES}/{experiment.name}-growth", growth_rows(evidence)
        if experiment.fits:
            yield f"{experiment.name}-fits", fit_rows(evidence)
        if experiment.data:
            yield experiment.name, data_rows()
    yield "claims", _claim_rows([one for one in found.judgements if not one.claim.timed])
    yield f"{TIMES}/claims", _claim_rows([one for one in found.judgements if one.claim.timed])


def _claim_rows(judgements: Sequence[Judgement]) -> list[Row]:
    return [
        {
            "claim": one.claim.name,
            "experiment": one.claim.experiment,
            "verdict": one.verdict,
            "where": part.where,
            "holds": part.holds,
            "measured": part.measured,
        }
        for one in judgements
        for part in one.parts
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
