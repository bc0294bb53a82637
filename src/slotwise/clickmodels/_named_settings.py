"""Named settings of click models other than the PBM. The settings of the PB-MHB paper are all PBMs."""

import numpy as np

from slotwise.clickmodels._click_model import ClickModel
from slotwise.clickmodels.cascade import Cascade
from slotwise.clickmodels.conjunctive import Conjunctive
from slotwise.clickmodels.contextual_pbm import ContextualPBM
from slotwise.clickmodels.dcm import DCM
from slotwise.clickmodels.linear_cascade import LinearCascade
from slotwise.clickmodels.linear_pbm import LinearPBM
from slotwise.clickmodels.rank1 import Rank1
from slotwise.clickmodels.ratings import Ratings

_RNG = np.random.default_rng(16)  # features and vectors are random, but always the same
_WEIGHTS = np.array([0.6, 0.4, 0.2, 0.1, 0.05])
_FEATURES = np.round(_RNG.dirichlet(np.full(5, 0.5), 50), 3)
_SIXTEEN = [0.2] * 4 + [0.05] * 12  # Kveton, Szepesvari, Wen and Ashkan 2015, "Cascading Bandits"

NAMED_SETTINGS: dict[str, ClickModel] = {
    "cascade": Cascade(_SIXTEEN, 4),
    "contextual_pbm": ContextualPBM(  # two kinds of visitors with opposite tastes
        [[0.3, 0.2, 0.15, 0.1, 0.05, 0.05], [0.05, 0.05, 0.1, 0.15, 0.2, 0.3]], [1.0, 0.6, 0.3]
    ),
    "dcm": DCM(_SIXTEEN, [0.8] * 4),
    "conjunctive": Conjunctive([0.95] * 4 + [0.8] * 12, 4),
    "linear_cascade": LinearCascade(_FEATURES, _WEIGHTS, 5),
    "linear_pbm": LinearPBM(_FEATURES, _WEIGHTS, [1.0, 0.8, 0.6, 0.4, 0.2]),
    "ratings": Ratings(_RNG.normal(size=(20, 2)).round(3), _RNG.normal(size=(20, 2)).round(3)),
    "rank1": Rank1([0.75] + [0.25] * 7, [0.75] + [0.25] * 7),  # Katariya et al. 2017, with 8 rows and 8 columns
}
