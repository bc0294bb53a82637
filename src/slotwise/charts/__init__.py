"""Every picture, as Altair charts: one grammar for image files and for interactive pages."""

from slotwise.charts.files import SUFFIXES, save_chart
from slotwise.charts.fits import fit_chart
from slotwise.charts.learning_curve import learning_chart
from slotwise.charts.ranks import rank_chart
from slotwise.charts.regret import regret_chart
from slotwise.charts.spread import spread_chart
from slotwise.charts.timing import choice_chart, growth_chart, time_chart

__all__ = [
    "SUFFIXES",
    "choice_chart",
    "fit_chart",
    "growth_chart",
    "learning_chart",
    "rank_chart",
    "regret_chart",
    "save_chart",
    "spread_chart",
    "time_chart",
]
