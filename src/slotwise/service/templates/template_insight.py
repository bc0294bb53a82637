"""What a page shares with the other pages of its template, for the insights of the page."""

from collections.abc import Collection

import msgspec
import numpy as np
from msgspec import Struct

from slotwise.counts import Counts
from slotwise.inference.template_fits import KappaComparison, compare_kappas
from slotwise.service.templates.template_counts import Column, TemplateCounts

MOST_CELLS = 50_000  # of the counts that insights are computed from, so that this takes about a second


class TemplateInsight(Struct):
    """What a page shares. `kappas_differ` says what a test found. It is null if there are too few clicks for a test.

    `used` is false if the policy of the page cannot use what the template has learnt.
    """

    template: str
    used: bool
    pages: int
    displays: float
    kappas_differ: bool | None
    p_value: float | None
    difference: float | None
    differing: list[str]
    note: str


def template_insight(template: str, used: bool, shared: TemplateCounts) -> TemplateInsight:
    """Test whether the pages of a template have the same kappas."""
    tested, (test, differ, stand_out) = _compare(shared)
    differing = [page for page, differs in zip(tested, stand_out, strict=True) if differs]
    return TemplateInsight(
        template,
        used,
        shared.n_pages,
        shared.displays,
        None if test is None else differ,
        None if test is None else test.p_value,
        None if test is None else test.size,
        differing,
        _note(used, differ, differing),
    )


def visible_to(insight: TemplateInsight, pages: Collection[str]) -> TemplateInsight:
    """The insight for a caller who may see these pages only. It names no others."""
    differing = [page for page in insight.differing if page in pages]
    note = _note(insight.used, bool(insight.kappas_differ), differing)
    return msgspec.structs.replace(insight, differing=differing, note=note)


def _compare(shared: TemplateCounts) -> tuple[list[str], KappaComparison]:
    """The names of the pages that can be compared, and their comparison. Priors of items are left out."""
    columns, names, queries = shared.columns, list[str](), list[Counts]()
    for block in shared.blocks:
        clicks, skips = np.zeros((2, len(block.clicks), len(columns)))
        where = [columns[column] - 1 for column in block.columns]
        clicks[:, where], skips[:, where] = block.clicks[:, 1:], block.skips[:, 1:]
        shown = (clicks + skips).any(axis=1)
        if shown.any():
            names.append(block.page)
            queries.append(Counts(clicks[shown], skips[shown]))
    if len(queries) < 2:
        return [], KappaComparison(None, False, [])
    return names, compare_kappas(queries)


def _note(used: bool, differ: bool, differing: list[str]) -> str:
    if not used:
        return "the policy of this page does not draw from a posterior: it learns from the counts of this page alone"
    if differ:
        which = f": {', '.join(differing)} stand out" if differing else ""
        return (
            f"the visibilities differ between the pages of the template{which}; pages that differ need another template"
        )
    return ""


def with_other_pages(page: int, columns: list[Column], counts: Counts, shared: TemplateCounts) -> Counts:
    """The counts of a page, and below them those of the other pages of its template. The priors are in column 0.

    Positions that only other pages have come last.
    """
    others = shared._replace(blocks=[block for block in shared.blocks if block.number != page])
    where = {column: k for k, column in enumerate(dict.fromkeys([*columns, *others.columns]), 1)}
    clicks, skips = np.zeros((2, len(counts.clicks) + others.n_rows, 1 + len(where)))
    first = len(counts.clicks)
    clicks[:first, : 1 + len(columns)], skips[:first, : 1 + len(columns)] = counts.clicks, counts.skips
    for block in others.blocks:
        rows = np.arange(first, first := first + len(block.clicks))[:, None]
        cells = rows, [0, *(where[column] for column in block.columns)]
        clicks[cells], skips[cells] = block.clicks, block.skips
    return Counts(clicks, skips, counts.displays)
