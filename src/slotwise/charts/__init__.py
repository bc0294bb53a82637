"""All charts, made with Altair: the same code draws image files and interactive pages."""

from slotwise.charts.click_models import click_model_chart
from slotwise.charts.evaluation import evaluation_chart
from slotwise.charts.files import SUFFIXES, save_chart
from slotwise.charts.fits import fit_chart
from slotwise.charts.learning_curve import learning_chart
from slotwise.charts.rank_plots import rank_chart
from slotwise.charts.regret import regret_chart
from slotwise.charts.regret_histograms import spread_chart
from slotwise.charts.regret_ratio import ratio_chart
from slotwise.charts.timing import growth_chart, time_chart
from slotwise.charts.tuning import choice_chart

__all__ = [
    "SUFFIXES",
    "choice_chart",
    "click_model_chart",
    "evaluation_chart",
    "fit_chart",
    "growth_chart",
    "learning_chart",
    "rank_chart",
    "ratio_chart",
    "regret_chart",
    "save_chart",
    "spread_chart",
    "time_chart",
]
