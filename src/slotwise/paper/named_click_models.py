"""The named settings of the paper's experiments (section 5.1 and Table 1).

The three simulated settings share kappa. The behavioral ones, q1 to q19, are eight queries of KDD Cup 2012 track 2
with the theta and kappa that the paper's authors published.
"""

from slotwise.checks import one_of
from slotwise.clickmodels.pbm import PBM

KAPPA = [1.0, 0.75, 0.6, 0.3, 0.1]

SIMULATED = {
    "near-zero": ([0.15, 0.1, 0.1, 0.05, 0.05] + [0.01] * 5, KAPPA),
    "standard": ([0.3, 0.2, 0.15, 0.15, 0.15, 0.10, 0.05, 0.05, 0.01, 0.01], KAPPA),
    "near-one": ([0.99, 0.95, 0.9, 0.85, 0.8] + [0.75] * 5, KAPPA),
}

BEHAVIORAL = {
    "q2": ([0.0183, 0.0235, 0.0181, 0.0773, 0.0163], [1.0, 0.5032, 0.4033]),
    "q19": ([0.0500, 0.0343, 0.0366, 0.0467, 0.0306], [1.0, 0.4857, 0.3298]),
    "q7": ([0.0464, 0.0253, 0.0261, 0.0420, 0.0247, 0.0667], [1.0, 0.4910, 0.3448]),
    "q9": ([0.0402, 0.0687, 0.0384, 0.0228, 0.0615, 0.0174], [1.0, 0.5459, 0.5290]),
    "q10": ([0.1485, 0.0044, 0.0392, 0.1148, 0.0740, 0.0131], [1.0, 0.4111, 0.2751]),
    "q8": ([0.1104, 0.1081, 0.1145, 0.1327, 0.1462, 0.1154, 0.1170, 0.1269], [1.0, 0.1781, 0.1012]),
    "q1": (
        [0.0267, 0.1494, 0.0517, 0.0702, 0.0792, 0.0887, 0.0499, 0.1033, 0.0217, 0.0291, 0.0283],
        [1.0, 0.4735, 0.3278],
    ),
    "q4": (
        [0.0839, 0.0290, 0.0226, 0.0495, 0.0477, 0.0217, 0.0419, 0.0235, 0.0221, 0.0245, 0.0228],
        [1.0, 0.4777, 0.3489],
    ),
}

SETTINGS = SIMULATED | BEHAVIORAL


def setting(name: str) -> PBM:
    """The click model of a named setting."""
    theta, kappa = SETTINGS[one_of("setting", name, SETTINGS)]
    return PBM(theta, kappa)
