"""Write an exported log as the Open Bandit Dataset, which the Open Bandit Pipeline reads.

`OpenBanditDataset(behavior_policy, campaign, data_path)` of that package reads two files in the folder
`data_path/behavior_policy/campaign`. It knows two behaviour policies, `random` and `bts`, and three campaigns.
"""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slotwise.checks import BadInput
from slotwise.files import beside
from slotwise.logs.display_lines import only_name, open_display_log, parse_display_lines
from slotwise.logs.line_account import LineAccount, account_for_lines
from slotwise.logs.opened_log import DEFAULT_OPTIONS, CountOptions, number_of_lines
from slotwise.logs.position_frequencies import PositionFrequencies
from slotwise.logs.position_order import in_page_order, page_orders
from slotwise.logs.schema import natural_sort_key

if TYPE_CHECKING:
    import pyarrow as pa

CAMPAIGN = "all"
RANDOM, LEARNT = "random", "bts"  # the names of the behaviour policies
HOLDOUT = "holdout"
LINE_COLUMNS = ("", "timestamp", "item_id", "position", "click", "propensity_score", "user_feature_0")
ITEM_COLUMNS = ("", "item_id", "item_feature_0", "item_feature_1")


class OpenBanditFiles(NamedTuple):
    """What was written: two files in a folder, and an account of the lines of the log."""

    folder: Path
    lines: int
    without_propensity: int  # lines that were left out, because their display has no propensities
    account: LineAccount


def export_open_bandit(
    files: str | Iterable[str], folder: Path, variant: str, options: CountOptions = DEFAULT_OPTIONS
) -> OpenBanditFiles:
    """Write the displays of one variant of a page. The log has one page and layout, or filters leave only one."""
    target = folder / (RANDOM if variant == HOLDOUT else LEARNT) / CAMPAIGN
    with open_display_log(files, options) as log:
        from slotwise.logs import aggregate

        parsed = log.materialize(lambda lines: parse_display_lines(lines, log).mutate(lines=1))
        lines = number_of_lines(log.engine.to_arrow(aggregate.lines_by_status(parsed)))
        account = account_for_lines(log.files, log.filters, lines, PositionFrequencies.of({}), options.max_bad)
        good = parsed.filter(parsed["status"] == 0, parsed["counts"], parsed["variant"] == variant)
        names = log.engine.to_arrow(
            good.group_by(["page", "layout", "item", "position"]).agg(
                known=good["propensity"].count(), lines=good.count(), value=good["value"].mean()
            )
        )
        written = _check(names, variant)
        page, _ = only_name("page", names), only_name("layout", names)
        positions = in_page_order(sorted(set(names["position"].to_pylist())), page_orders(log.files).get(page, []))
        known = good.filter(good["propensity"].notnull())
        columns = known.order_by(["issued", "display_id", "position"]).select(
            "issued", "item", "position", "clicked", "propensity", "segment"
        )
        _make_folder(target)
        items = _write_items(target / "item_context.csv", names)
        _write_lines(target / f"{CAMPAIGN}.csv", log.engine.batches(columns), items, positions)
    return OpenBanditFiles(target, written, sum(names["lines"].to_pylist()) - written, account)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot write to {str(folder)!r}: {error.strerror}") from None


def _check(names: "pa.Table", variant: str) -> int:
    """The number of lines that have a propensity."""
    if not names.num_rows:
        raise BadInput(f"the log has no display of the variant {variant!r} that counts")
    written = sum(names["known"].to_pylist())
    if not written:
        raise BadInput(f"no display of the variant {variant!r} has propensities, which the Open Bandit Dataset needs")
    return int(written)


def _write_items(path: Path, names: "pa.Table") -> dict[str, int]:
    """Write the items, with their value as the number and their name as the category. Returns their numbers."""
    listed = zip(names["item"].to_pylist(), names["value"].to_pylist(), strict=True)
    values: dict[str, float] = dict(listed)
    numbers = {item: k for k, item in enumerate(sorted(values, key=natural_sort_key))}
    _write_csv(path, ITEM_COLUMNS, [[(k, k, values[item], item) for item, k in numbers.items()]])
    return numbers


def _write_lines(path: Path, batches: Iterable[Any], items: dict[str, int], positions: list[str]) -> None:
    numbers = {position: k for k, position in enumerate(positions, 1)}

    def rows() -> Iterable[list[tuple[Any, ...]]]:
        before = 0
        for batch in batches:
            columns = batch.to_pydict()
            times = (np.array(columns["issued"]) * 1e6).astype("datetime64[us]").astype(str)
            yield list(
                zip(
                    range(before, before + batch.num_rows),
                    (f"{time.replace('T', ' ')}+00:00" for time in times.tolist()),
                    (items[item] for item in columns["item"]),
                    (numbers[position] for position in columns["position"]),
                    (int(clicked) for clicked in columns["clicked"]),
                    columns["propensity"],
                    columns["segment"],
                    strict=True,
                )
            )
            before += batch.num_rows

    _write_csv(path, LINE_COLUMNS, rows())


def _write_csv(path: Path, header: tuple[str, ...], chunks: Iterable[list[tuple[Any, ...]]]) -> None:
    with beside(path) as draft, draft.open("w", newline="", encoding="utf-8") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header)
        for chunk in chunks:
            writer.writerows(chunk)
