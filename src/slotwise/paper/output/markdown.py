"""The reproduction as one page of Markdown, for the documentation."""

from collections.abc import Iterable

from slotwise.paper.claims.claim import Judgement
from slotwise.paper.output.figures import QUICK
from slotwise.paper.output.sections import SIGNS, Facts, Section, Table, spent_table, tally
from slotwise.paper.reproduce import Reproduction

FIGURES = "figures"


def write_page(found: Reproduction, parts: list[Section], told: Facts) -> str:
    """The page; its figures lie in a folder beside it."""
    lines = ["# The paper, reproduced", ""]
    if found.quick:
        lines += [f"> **{QUICK}.** This page comes from a quick try; numbers and verdicts are not to be relied on.", ""]
    lines += [
        "Every experiment of Gauthier, Gaudel and Fromont, “Position-Based Multiple-Play Bandits with Thompson "
        f"Sampling”, played again. Of {len(found.judgements)} claims {tally(found.judgements)}.",
        "",
        f"Made on {told.date} by `{told.command}` on {told.machine}, with seed {found.seed}. "
        "[How to make it yourself, and what each experiment is](reproduce.md).",
        "",
        *_table(Table("", ["claim", "the paper says", "verdict"], [_short(one) for one in found.judgements])),
    ]
    for part in parts:
        lines += _section(part)
    spent = spent_table(found)
    lines += ["## Where the time went", "", spent.caption, "", *_table(spent)]
    return "\n".join(lines).rstrip() + "\n"


def _section(part: Section) -> Iterable[str]:
    yield from (f"## {part.experiment.title}", "", part.experiment.caption, "")
    if part.size:
        yield from (f"{part.size}.", "")
    for figure in part.figures:
        if not figure.variant:
            yield from (f"![{_cell(figure.alternative)}]({FIGURES}/{figure.name}.svg)", "")
    if part.judgements:
        heads = ["the paper says", "measured", "the test", "verdict"]
        yield from _table(Table("", heads, [_long(one) for one in part.judgements]))
    for table in part.tables:
        if not table.caption.startswith("Regret at round"):  # these are in the report
            yield from (table.caption, "", *_table(table))


def _short(one: Judgement) -> list[str]:
    return [one.claim.name, one.claim.says, f"{SIGNS[one.verdict]} {one.verdict}"]


def _long(one: Judgement) -> list[str]:
    parts = "<br>".join(f"{'✓' if part.holds else '✗'} {part.where}: {part.measured}" for part in one.parts)
    remark = f"<br>{one.remark}" if one.remark else ""
    return [one.claim.says, parts, one.claim.rule, f"{SIGNS[one.verdict]} **{one.verdict}**{remark}"]


def _table(table: Table) -> Iterable[str]:
    yield "| " + " | ".join(_cell(head) for head in table.heads) + " |"
    yield "| " + " | ".join("---" for _ in table.heads) + " |"
    for row in table.rows:
        yield "| " + " | ".join(_cell(cell) for cell in row) + " |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("[", "\\[").replace("]", "\\]")
