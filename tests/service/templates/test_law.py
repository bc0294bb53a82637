"""The displays of a page of a template have the law of Thompson sampling from the joint posterior of all its pages.

Law: one display from each of 1,000 pairs of draws, of a template and of its page given them, each made independently
from the same counts, against the best display under every fifth of 20,000 draws of `posterior` from the stacked counts,
by a chi-squared test of homogeneity at a false-alarm rate of 1 in 10,000. Negative control: a page that ignores the
other page of its template must fail.
"""

from collections import Counter

import numpy as np

import slotwise as sw
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.records import CellCounts, PageCounts, StoredPage
from slotwise.service.templates.page_template import PageTemplate
from slotwise.service.templates.template_counts import TemplateCounts
from tests.service.pages.test_page_learner import FALSE_ALARM, choose, homogeneity

PAGE = np.array([[5.0, 3.0], [4.0, 4.0], [2.0, 2.0]]), np.array([[15.0, 17.0], [16.0, 14.0], [16.0, 15.0]])
OTHER = np.array([[30.0, 90.0], [22.0, 65.0]]), np.array([[270.0, 210.0], [278.0, 235.0]])


def page(counts: tuple[np.ndarray, np.ndarray], seed: int) -> PageModel:
    clicks, skips = counts
    cells = [CellCounts(item, 0, k, clicks[item, k], skips[item, k]) for item in range(len(clicks)) for k in range(2)]
    body = NO_PAGE.with_spec(PageSpec(positions=["one", "two"], template="grid"))
    items = [(name, ItemSpec()) for name in "abc"[: len(clicks)]]
    stored = StoredPage(len(clicks), "shop", 1, False, 0, 0.0, body)
    return PageModel(stored, items, PageCounts(cells, 60.0, 0), np.random.default_rng(seed))


def displays(*others: PageModel) -> Counter[tuple[int, ...]]:
    """One display of each of many independent ensembles of the page, whose template has these other pages."""
    shown = Counter[tuple[int, ...]]()
    for seed in range(1_000):
        model, rng = page(PAGE, seed), np.random.default_rng([seed, 1])
        counts = TemplateCounts([model.block(), *(other.block() for other in others)], 1 + len(others), 120.0)
        template = PageTemplate("grid", lambda counts=counts: counts, lambda _: None)  # type: ignore[misc]
        template.install(template.begin_refresh().run(rng))
        model.join(template)
        choose(model)  # a page that was never asked for makes no draws
        model.install(model.begin_refresh().run(rng))
        shown[choose(model)] += 1
    return shown


def test_displays_have_the_law_of_the_joint_posterior() -> None:
    joint = sw.Counts(np.vstack([PAGE[0], OTHER[0]]), np.vstack([PAGE[1], OTHER[1]]))
    draws = sw.posterior(joint, draws=20_000, prior="falling")
    ranked, places = np.argsort(-draws.theta[:, :3], axis=1), np.argsort(-draws.kappa, axis=1)
    wanted = np.empty_like(places)
    np.put_along_axis(wanted, places, ranked[:, :2], axis=1)
    thompson = Counter(map(tuple, wanted[::5].tolist()))
    assert homogeneity(displays(page(OTHER, 0)), thompson) > FALSE_ALARM
    assert homogeneity(displays(), thompson) < FALSE_ALARM
