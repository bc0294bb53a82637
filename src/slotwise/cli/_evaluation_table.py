"""The output of `slotwise evaluate`: a table of estimates, or JSON."""

from typing import TYPE_CHECKING, Any, NamedTuple

from rich.markup import escape
from rich.table import Table

from slotwise.cli import _console as console
from slotwise.cli._fit_table import printable_name

if TYPE_CHECKING:
    from slotwise.inference.off_policy.estimators import ValueEstimate
    from slotwise.inference.off_policy.evaluation import Evaluation
    from slotwise.inference.off_policy.log_evaluation import LogEvaluation


class EvaluatedLog(NamedTuple):
    """What was evaluated on which page, and the results in clicks and perhaps in value."""

    page: str
    layout: str
    name: str  # the order or the policy
    weighted: str  # the variant whose displays are weighted
    level: float
    found: "dict[str, LogEvaluation]"


def evaluation_summary(evaluated: EvaluatedLog) -> dict[str, Any]:
    """The results for JSON."""
    from slotwise.inference.off_policy.evaluation import ESTIMATES

    summary: dict[str, Any] = evaluated._asdict()
    del summary["found"]
    for what, (logged, target) in evaluated.found.items():
        summary[what] = {
            "logged": {variant: estimate._asdict() for variant, estimate in logged.items()},
            **{name: _as_dict(getattr(target, name)) for name in ESTIMATES},
            "cannot_tell": target.cannot_tell,
            "displays": target.displays,
            "effective_displays": target.effective_displays,
        }
    return summary


def _as_dict(estimate: "ValueEstimate | None") -> dict[str, float] | None:
    return None if estimate is None else estimate._asdict()


def print_evaluation(evaluated: EvaluatedLog) -> None:
    """Print a table for clicks and one for value, and what the estimates rest on."""
    from slotwise.inference.off_policy.evaluation import ESTIMATES

    name, page = printable_name(evaluated.name), printable_name(evaluated.page)
    for what, (logged, target) in evaluated.found.items():
        console.print_line(f"{page}, layout {printable_name(evaluated.layout)}: {what} per display of {name}")
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("estimate", f"{what} per display", f"{100 * evaluated.level:g} % interval"):
            table.add_column(heading, no_wrap=True)
        for variant, estimate in logged.items():
            table.add_row(f"the log itself: {escape(printable_name(variant))}", *_numbers(estimate))
        for field, label in ESTIMATES.items():
            estimated = getattr(target, field)
            if estimated is not None:
                table.add_row(f"[bold]{label}[/]", *_numbers(estimated))
        console.stdout.print(table)
        console.print_line(_basis(target, evaluated.weighted))


def _numbers(estimate: "ValueEstimate") -> tuple[str, str]:
    return f"{estimate.value:.4g}", f"{estimate.low:.4g} to {estimate.high:.4g}"


def _basis(target: "Evaluation", weighted: str) -> str:
    """The sample size of the weighted estimates, or why there are none."""
    if target.cannot_tell:
        return f"only the position-based model can tell: {target.cannot_tell}"
    displays = "all displays" if weighted == "all" else f"the displays of the variant {weighted}"
    return (
        f"weighted: {displays}, {target.displays:,}; effective sample size: {target.effective_displays:,.0f} "
        "displayed items"
    )
