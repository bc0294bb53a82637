"""Which tests run in the same process, and in which order, so that hardly any code is compiled twice.

If two processes need the same kernel at the same time, both compile it. Later processes find it on disk. So the tests
of a file stay in one process, files that compile the same kernels form a group, and groups that compile most come
first.
"""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# in the order of their start; a file is in the first group that has the start of its path
GROUPS = {
    "policies": (
        *("tests/cli/test_simulate.py", "tests/policies/", "tests/simulation/", "tests/test_bad_input.py"),
        *("tests/test_recommender.py", "tests/docs/test_docstrings.py"),
    ),
    "fits": (
        *("tests/charts/test_fits.py", "tests/inference/estimation/", "tests/inference/test_", "tests/cli/test_fit"),
        *("tests/charts/test_click_models.py", "tests/inference/click_models/", "tests/cli/test_logs_export.py"),
        *("tests/test_recommender_from_fit.py", "tests/logs/"),
    ),
    "posterior": ("tests/inference/sampling/", "tests/cli/test_diagnose.py"),
}
# They use what the others have compiled. The longest come first, so that all processes end at about the same time.
LAST = (
    *("tests/docs/test_examples.py", "tests/paper/test_reproduce.py", "tests/docs/test_site.py"),
    *("tests/docs/", "tests/paper/", "tests/cli/test_reproduce.py"),
)


def group_of(nodeid: str) -> str:
    """The name of a group, or the file of a test that is in none."""
    file = nodeid.partition("::")[0]
    return next((name for name, starts in GROUPS.items() if file.startswith(starts)), file)


def rank(nodeid: str) -> int:
    """Tests with a lower rank start earlier."""
    group = group_of(nodeid)
    if group in GROUPS:
        return list(GROUPS).index(group)
    return len(GROUPS) + next((1 + place for place, start in enumerate(LAST) if group.startswith(start)), 0)


class GroupScheduling(LoadScopeScheduling):
    """Gives a process the tests of a whole group at a time, in the order of collection."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
