"""The policy that serves a page."""

from types import ModuleType

from slotwise.policies._policy_module import find
from slotwise.service.pages.page_definition import PageSpec

PLAIN, WITH_FEATURES = "slot_ts", "feature_ts"


def policy_name(spec: PageSpec) -> str:
    """The name of the policy. With features, `slot_ts` learns from them, too; this is a policy with its own kernels."""
    return WITH_FEATURES if spec.features and spec.policy == PLAIN else spec.policy


def serving_policy(spec: PageSpec) -> ModuleType:
    """The policy itself."""
    return find(policy_name(spec))
