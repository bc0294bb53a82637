"""The reproduction as a Markdown page, for the documentation."""

from collections.abc import Iterable

from slotwise.paper.claims.claim import Judgement
from slotwise.paper.output.figures import QUICK
from slotwise.paper.output.quick_warning import quick_warning
from slotwise.paper.output.sections import SIGNS, Provenance, Section, Table, cost_table, left_out, summarize_verdicts
from slotwise.paper.reproduce import Reproduction

FIGURES = "figures"


def render_markdown(reproduction: Reproduction, sections: list[Section], provenance: Provenance) -> str:
    """The Markdown page. It links to the figures in a folder next to it."""
    lines = ["# The paper, reproduced", ""]
    if reproduction.scope.quick:
        lines += [
            f"> **{QUICK}.** {quick_warning(reproduction)}",
            "",
        ]
    missing = left_out(reproduction)
    lines += [
        f"{'Experiments' if missing else 'Every experiment'} of Gauthier, Gaudel and Fromont, “Position-Based "
        "Multiple-Play Bandits with Thompson Sampling”, run again. "
        f"{missing}{' ' if missing else ''}{summarize_verdicts(reproduction.judgements)}",
        "",
        f"Made on {provenance.date} by `{provenance.command}` on {provenance.machine}, "
        f"with seed {reproduction.scope.seed}. "
        "[How to run it yourself, and what each experiment is](reproduce.md).",
        "",
        *_table(
            Table(
                "",
                ["claim", "the paper says", "verdict"],
                [_summary_row(judgement) for judgement in reproduction.judgements],
            )
        ),
    ]
    for section in sections:
        lines += _section(section)
    costs = cost_table(reproduction)
    lines += ["## Computation cost", "", costs.caption, "", *_table(costs)]
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section) -> Iterable[str]:
    yield from (f"## {section.experiment.title}", "", section.experiment.caption, "")
    if section.size:
        yield from (f"{section.size}.", "")
    for figure in section.figures:
        if not figure.view:
            yield from (f"![{_escape_cell(figure.alt_text)}]({FIGURES}/{figure.name}.svg)", "")
    if section.judgements:
        heads = ["the paper says", "measured", "criteria", "verdict"]
        yield from _table(Table("", heads, [_detailed_row(judgement) for judgement in section.judgements]))
    for table in section.tables:
        if not table.caption.startswith("Regret at round"):  # only in the report
            yield from (table.caption, "", *_table(table))


def _summary_row(judgement: Judgement) -> list[str]:
    return [judgement.claim.name, judgement.claim.says, f"{SIGNS[judgement.verdict]} {judgement.verdict}"]


def _detailed_row(judgement: Judgement) -> list[str]:
    claim, verdict = judgement.claim, judgement.verdict
    measured = "<br>".join(
        f"{'✓' if criterion.holds else '✗'} {criterion.where}: {criterion.measured}" for criterion in judgement.criteria
    )
    remark = f"<br>{judgement.remark}" if judgement.remark else ""
    return [claim.says, measured, claim.rule, f"{SIGNS[verdict]} **{verdict}**{remark}"]


def _table(table: Table) -> Iterable[str]:
    yield "| " + " | ".join(_escape_cell(head) for head in table.heads) + " |"
    yield "| " + " | ".join("---" for _ in table.heads) + " |"
    for row in table.rows:
        yield "| " + " | ".join(_escape_cell(cell) for cell in row) + " |"
    yield ""


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("[", "\\[").replace("]", "\\]")
