"""A template in memory: draws of what its pages share, and how much the counts of its pages have grown since."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from slotwise.inference.sampling.draw_budget import DRAWS
from slotwise.inference.sampling.template_draws import TemplateDraws, draw_template
from slotwise.policies._ensemble_source import GROWTH
from slotwise.service.ensembles.draws_due import FAR, NO_DRAWS, CountsVersion, Growth
from slotwise.service.templates.template_counts import Column, TemplateCounts

_BYTES = 2_000  # rough, without draws


def estimated_bytes(n_columns: int) -> int:
    """About how much memory a template takes."""
    return _BYTES + 8 * DRAWS * (n_columns + 3)


class SharedDraws(NamedTuple):
    """Draws that the pages of a template share, and what they were made from."""

    draws: TemplateDraws
    columns: dict[Column, int]  # the column of each position in the draws; column 0 is for the priors of items
    noted: CountsVersion  # what the template had noted when the draws were begun
    made_from: CountsVersion  # what the pages had counted

    def for_columns(self, wanted: Sequence[Column]) -> TemplateDraws:
        """The draws for the columns of a count matrix. A kappa that the template does not know is NaN."""
        kappa = np.full((len(self.draws.kappa), 1 + len(wanted)), np.nan)
        kappa[:, 0] = self.draws.kappa[:, 0]
        for k, column in enumerate(wanted, 1):
            if column in self.columns:
                kappa[:, k] = self.draws.kappa[:, self.columns[column]]
        return TemplateDraws(kappa, self.draws.beta)


class PageTemplate:
    """What pages share. All calls are made on the event loop, except `read` and `TemplateJob.run`.

    `read` returns the counts of all pages. A background thread calls it. `on_first_draws` is called when pages that
    wait for draws can make their ensembles.
    """

    def __init__(
        self, name: str, read: Callable[[], TemplateCounts], on_first_draws: Callable[["PageTemplate"], None]
    ) -> None:
        self.name, self.read, self._on_first_draws = name, read, on_first_draws
        self._counted = Growth(0.0, 0.0, GROWTH)  # the first draws add what the pages had counted before
        self.shared: SharedDraws | None = None
        self.is_wanted = False  # whether a page needs draws

    def count(self, displays: float, clicks: float) -> None:
        """Note what a page in memory has counted. The numbers are negative if counts fade."""
        self._counted.add(displays, clicks)

    def pages_changed(self) -> None:
        """Note that a page has joined or left, or that its counts were replaced."""
        self._counted.change()

    # draws; the refresher calls these for pages and for templates

    @property
    def urgency(self) -> int:
        """How urgent new draws are. They are not due if this is negative."""
        if not self.is_wanted:
            return -1
        return NO_DRAWS if self.shared is None else self._counted.level()

    @property
    def growth(self) -> float:
        """The change of the counts since the draws were made, relative to the change at which new ones are due."""
        return self._counted.relative()

    def begin_refresh(self) -> "TemplateJob":
        """A job that makes new draws on another thread."""
        now, before = self._counted.now, self._counted.drawn_from
        other_pages = now.changes != before.changes  # their kappas may be far from the last draw
        return TemplateJob(self, self.shared, now, other_pages or self._counted.share > FAR)

    def install(self, shared: SharedDraws) -> None:
        """Use new draws from now on. A page takes them when its own ensemble is next due."""
        first, self.shared = self.shared is None, shared
        self._counted.restart(shared.noted, shared.made_from)
        if first:
            self._on_first_draws(self)

    def apply_pending(self) -> None:
        """A template has no counts of its own."""


class TemplateJob(NamedTuple):
    """Makes the draws of a template."""

    template: PageTemplate
    before: SharedDraws | None
    noted: CountsVersion
    far: bool

    def run(self, rng: np.random.Generator) -> SharedDraws:
        """Read the counts of the pages, and draw."""
        counts = self.template.read()
        columns = counts.columns
        memory = None if self.before is None else self.before.for_columns(list(columns))
        draws = draw_template(counts.stacked(), rng, memory, self.far)
        return SharedDraws(
            draws, columns, self.noted, CountsVersion(counts.displays, counts.clicks, self.noted.changes)
        )
