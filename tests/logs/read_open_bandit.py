"""Reads a folder with the Open Bandit Pipeline, and prints what it has read as JSON.

Run it with a Python that has the package `obp`, such as Python 3.9 with obp 0.5.7. That package imports PyTorch for
policies that are not needed here. If PyTorch is not installed, empty classes take its place.
"""

import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any


class _EmptyModule(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


if importlib.util.find_spec("torch") is None:
    for module in ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils", "torch.utils.data"):
        sys.modules[module] = _EmptyModule(module)
        parent, _, name = module.rpartition(".")
        if parent:
            setattr(sys.modules[parent], name, sys.modules[module])

import numpy as np  # noqa: E402
from obp.dataset import OpenBanditDataset  # noqa: E402
from obp.ope import InverseProbabilityWeighting  # noqa: E402

dataset = OpenBanditDataset(behavior_policy=sys.argv[1], campaign="all", data_path=Path(sys.argv[2]))
feedback = dataset.obtain_batch_bandit_feedback()
shows_item_k_at_position_k = np.eye(feedback["n_actions"])[:, : dataset.len_list]
estimate = InverseProbabilityWeighting().estimate_policy_value(
    **{name: feedback[name] for name in ("reward", "action", "pscore", "position")},
    action_dist=np.tile(shows_item_k_at_position_k, (feedback["n_rounds"], 1, 1)),
)
print(
    json.dumps(
        {
            "rounds": int(feedback["n_rounds"]),
            "actions": int(feedback["n_actions"]),
            "positions": int(dataset.len_list),
            "clicks": int(feedback["reward"].sum()),
            "context": list(feedback["context"].shape),
            "action_context": list(feedback["action_context"].shape),
            "inverse_propensity": float(estimate),
        }
    )
)
