"""The result of a comparison of click models in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slotwise.inference.click_model_comparison import ModelScore

LONG_NAMES = {
    "pbm": "the position-based model",
    "cascade": "the cascade model",
    "dcm": "the dependent click model",
    "sdbn": "the simplified dynamic Bayesian network",
    "dbn": "the dynamic Bayesian network",
    "ubm": "the user browsing model",
    "conjunctive": "the conjunctive cascade",
    "rank1": "the rank-1 model",
}
CANNOT_TELL = "cannot tell"


def verdict(
    scores: "Sequence[ModelScore]", tied: Sequence[str], alone: bool, lead: float, several_clicks: float
) -> str:
    """One or two sentences: which model explains the sessions, how sure this is, and what speaks against a cascade.

    `tied` begins with the chosen model. `alone` says that no model has it as a special case.
    """
    if not scores:
        return f"{CANNOT_TELL}: there are too few sessions to compare click models"
    if len(scores) == 1:
        return _single(scores[0], several_clicks)
    against = _against_cascade(scores, several_clicks)
    if len(tied) > 1:
        names = [LONG_NAMES[model] for model in tied]
        said = f"{CANNOT_TELL} {', '.join(names[:-1])} and {names[-1]} apart"
        return f"{said}: each explains this log as well as the other{'s' * (len(tied) > 2)}{against}"
    how = "better than any other" if alone else "as well as any"
    margin = "" if lead == float("inf") else f", {lead:.0f} standard errors ahead of the next"
    return f"{LONG_NAMES[tied[0]]} explains this log {how}{margin}{against}"


def _single(score: "ModelScore", several_clicks: float) -> str:
    name = LONG_NAMES[score.model]
    if score.log_likelihood == float("-inf"):
        if score.model == "cascade":
            return f"{name} does not explain this log: {_percent(several_clicks)} of sessions have two clicks or more"
        return f"{name} does not explain this log: {score.impossible:,.0f} sessions are impossible"
    return f"{name} was fitted alone, so it was not compared with others"


def _against_cascade(scores: "Sequence[ModelScore]", several_clicks: float) -> str:
    """Why a cascade does not explain the log, if it does not."""
    for score in scores:
        if score.model == "cascade" and score.worse:
            if score.behind == float("inf"):
                return f"; a cascade does not: {_percent(several_clicks)} of sessions have two clicks or more"
            return f"; a cascade does not: it is {score.behind / score.behind_error:.0f} standard errors behind"
    return ""


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %" if share < 0.1 else f"{100.0 * share:.0f} %"
