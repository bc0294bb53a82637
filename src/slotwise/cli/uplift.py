"""`slotwise uplift`: what the learnt displays of a log earn, compared with its holdout."""

import json
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._log_options import counting_bar, parse_tolerance, print_account, print_independent_displays
from slotwise.extras import require

if TYPE_CHECKING:
    from slotwise.inference.uplift.uplift import Uplift, UpliftEstimate


@app.command(
    epilog=options.examples(
        "slotwise uplift log.ndjson",
        "slotwise uplift log.ndjson --baseline holdout --json",
    )
)
def uplift(
    files: Annotated[list[str], typer.Argument(help="Logs that the service exported, as NDJSON or Parquet.")],
    variant: Annotated[str, typer.Option(help="Variant whose uplift is estimated.")] = "learnt",
    baseline: Annotated[str, typer.Option(help="Variant that it is compared with: holdout or default.")] = "holdout",
    max_bad: Annotated[str, typer.Option(help="Malformed lines to tolerate: a number, or a share such as 0.1%.")] = "0",
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Estimate how much more the learnt displays of a log earn than its holdout, with always-valid 90 % intervals."""
    require("logs", "slotwise uplift")
    from slotwise.inference.uplift.compare_variants import compare_variants
    from slotwise.logs.count_variants import count_variants
    from slotwise.logs.opened_log import CountOptions

    if variant == baseline:
        raise BadInput(f"--variant and --baseline are both {variant!r}; name two variants")
    with console.progress_bars(1, quiet or as_json) as add_bar:
        counting = CountOptions(max_bad=parse_tolerance(max_bad), progress=counting_bar(add_bar))
        counted = count_variants(files, counting)
    print_account(counted.account, quiet)
    results: dict[str, Uplift] = {}
    for page, variants in counted.pages.items():
        missing = [name for name in (variant, baseline) if name not in variants]
        if missing:
            raise BadInput(
                f"page {page!r} has no display of the variant {missing[0]!r}; it has {', '.join(sorted(variants))}. "
                "A page has a holdout if its setting `holdout` is above 0"
            )
        results[page] = compare_variants(variants, variant, baseline)
    if as_json:
        print(json.dumps(msgspec.to_builtins(results), indent=2))
        return
    for page, result in results.items():
        _print_page(page, result, variant, baseline)
        if page in counted.earlier:
            console.print_line(f"  left out: {counted.earlier[page]:,} displays from before the shares last changed")
    if not counted.has_visitors:
        print_independent_displays()


def _print_page(page: str, result: "Uplift", variant: str, baseline: str) -> None:
    from slotwise.inference.uplift.uplift import describe_uplift

    console.print_line(f"{page}: {describe_uplift(result, variant, baseline)}")
    for what, estimate in (("clicks", result.clicks), ("value", result.value)):
        if estimate is not None:
            console.print_line(f"  {what} per display: {_describe(estimate)}")
    if result.better is not None:
        console.print_line(f"  probability that {variant} is better: {result.better:.1%}")
    if result.displays_needed:
        console.print_line(f"  about {result.displays_needed:,} more displays until this is decided")


def _describe(estimate: "UpliftEstimate") -> str:
    return (
        f"{estimate.difference:+.4f} [{estimate.difference_low:+.4f}, {estimate.difference_high:+.4f}], "
        f"{estimate.gain:+.1%} [{estimate.low:+.1%}, {estimate.high:+.1%}]"
    )
