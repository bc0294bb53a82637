"""QueryFit: the model fitted to one query, with names, counts, uncertainty and goodness of fit."""

from dataclasses import dataclass

import msgspec

from slotwise.arrange import EMPTY
from slotwise.checks import Floats, format_value
from slotwise.clickmodels.pbm import PBM
from slotwise.counts import Counts
from slotwise.inference.click_model_comparison import ClickModelComparison
from slotwise.inference.template import OTHER_KAPPAS, KappaTest, Template
from slotwise.inference.visibility_rows import faded
from slotwise.notebook import Estimates, html_estimates, plural

POOR_FIT = "a position-based model does not fit"  # how the warning about a poor fit begins


class GoodnessOfFit(msgspec.Struct, frozen=True):
    """How far the clicks of a query deviate from a position-based model, and the cell that deviates most."""

    deviance: float
    degrees: int  # degrees of freedom
    p_value: float  # the probability of a deviance at least as large if the position-based model is true
    size: float  # the root mean squared relative error of the click rates, without noise
    item: str
    position: str
    observed: float  # the cell's click rate
    fitted: float


@dataclass(frozen=True, eq=False, kw_only=True)
class QueryFit(PBM):
    """A PBM that was estimated from the counts of one query. Its items and positions have names.

    It can be simulated like any other PBM if it has at least as many items as positions. Only a fitted PBM may have
    fewer items than positions.

    >>> import slotwise as sw
    >>> counts = sw.Counts(clicks=[[400, 200], [200, 100]], skips=[[600, 800], [800, 900]])
    >>> (model,) = sw.fit_queries([sw.Query("hats", ["felt", "straw"], ["top", "side"], counts)])
    >>> model.best
    {'top': 'felt', 'side': 'straw'}
    >>> model.displays, model.clicks, model.goodness_of_fit.p_value > 0.9
    (2000.0, 900.0, True)
    """

    name: str
    items: list[str]
    positions: list[str]
    method: str
    level: float  #: the probability of the intervals
    theta_error: Floats  #: standard errors, or posterior standard deviations; NaN or infinite if not known
    theta_interval: Floats  #: N x 2: lower and upper ends, NaN where there is no interval
    kappa_error: Floats
    kappa_interval: Floats  #: L x 2
    counts: Counts  #: the counts that the model was fitted to
    ess: float  #: bayes: the smallest effective sample size of any theta or kappa; else NaN
    identifiable: bool
    goodness_of_fit: GoodnessOfFit | None  #: None if there are too few clicks or cells for a test
    warnings: list[str]
    template: Template | None = (
        None  #: the queries that share their kappas with this one; None if the query has its own
    )
    kappa_test: KappaTest | None = None  #: whether this query may share its kappas; None if that was not tested

    comparison: ClickModelComparison | None = None  #: of click models, if the query was fitted with `clicks`

    @property
    def displays(self) -> float:
        return self.counts.displays

    @property
    def clicks(self) -> float:
        return float(self.counts.clicks.sum())

    @property
    def best(self) -> dict[str, str]:
        """The best display, as {name of the position: name of the item}."""
        pairs = zip(self.positions, self.best_display().tolist(), strict=True)
        return {position: self.items[item] for position, item in pairs if item != EMPTY}

    @property
    def poor_fit(self) -> bool:
        """Whether a warning says that a position-based model does not fit."""
        return any(warning.startswith(POOR_FIT) for warning in self.warnings)

    @property
    def other_kappas(self) -> bool:
        """Whether a warning says that the kappas of the query differ from those of its template."""
        return any(warning.startswith(OTHER_KAPPAS) for warning in self.warnings)

    def __repr__(self) -> str:
        best = f"best={format_value(self.best)}"
        warned = f", {plural(len(self.warnings), 'warning')}" if self.warnings else ""
        return f"QueryFit({format_value(self.name)}, {self.method}: {plural(self.displays, 'display')}, {best}{warned})"

    def _repr_html_(self) -> str:
        sizes = f"{plural(self.displays, 'display')}, {plural(self.clicks, 'click')}"
        return html_estimates(
            f"{self.name}: fit by {self.method} to {sizes}",
            self.level,
            Estimates(self.positions, self.kappa, self.kappa_interval),
            Estimates(self.items, self.theta, self.theta_interval),
            self.warnings + (self.template.warnings if self.template else []),
        )

    def faded(self, displays: float | None) -> Counts:
        """The counts, scaled down so that they represent at most `displays` displays. If None, they stay."""
        return faded(self.counts, displays)
