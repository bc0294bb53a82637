"""`slotwise logs open-bandit`: write an exported log as the Open Bandit Dataset."""

from pathlib import Path
from typing import Annotated

import typer

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._log_options import counting_bar, page_filters, parse_tolerance, print_account
from slotwise.cli.logs import logs
from slotwise.extras import require


@logs.command("open-bandit", epilog=options.examples("slotwise logs open-bandit log.ndjson open_bandit --page shop"))
def open_bandit(
    files: Annotated[list[str], typer.Argument(help="Logs that the service exported, as NDJSON or Parquet.")],
    folder: Annotated[Path, typer.Argument(help="Folder to write to; it is the data_path of OpenBanditDataset.")],
    page: Annotated[str | None, typer.Option(help="Page of the log; needed when the log has more than one.")] = None,
    layout: Annotated[
        str | None, typer.Option(help="Layout of the page; needed when the page has more than one.")
    ] = None,
    variant: Annotated[
        str, typer.Option(help="Displays to write: holdout (the policy random), learnt or default (bts).")
    ] = "holdout",
    max_bad: Annotated[str, typer.Option(help="Malformed lines to tolerate: a number, or a share such as 0.1%.")] = "0",
    quiet: options.Quiet = False,
) -> None:
    """Write a log with propensities as the Open Bandit Dataset, for the Open Bandit Pipeline."""
    require("logs", "slotwise logs")
    from slotwise.logs.open_bandit_export import export_open_bandit
    from slotwise.logs.opened_log import CountOptions

    with console.progress_bars(1, quiet) as add_bar:
        counting = CountOptions(page_filters(page, layout), parse_tolerance(max_bad), progress=counting_bar(add_bar))
        written = export_open_bandit(files, folder, variant, counting)
    print_account(written.account, quiet)
    if written.without_propensity:
        console.print_note(f"{written.without_propensity:,} lines left out: their displays have no propensities")
    console.print_line(f"wrote {written.folder}: {written.lines:,} lines")
