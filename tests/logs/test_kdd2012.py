"""The fit of a synthetic log in the competition's format recovers the parameters that generated the log."""

from pathlib import Path

import numpy as np
import pytest

import slotwise as sw
from slotwise.checks import Floats
from slotwise.logs.read_log import read_log
from slotwise.logs.synthetic import synth
from slotwise.logs.synthetic_traffic import ExactTraffic, KnownQuery
from slotwise.paper.named_click_models import BEHAVIORAL, setting

VIEWS = 1_000  # exactly the threshold


def noise(query: int, views: list[list[int]]) -> KnownQuery:
    """A query that the thresholds must drop, or whose items they must drop; it is clicked like any other."""
    theta = np.linspace(0.02, 0.1, len(views))
    return KnownQuery(
        query,
        range(900_000 + 100 * query, 900_000 + 100 * query + len(views)),
        sw.PBM(theta, [1, 0.5, 0.3]),
        np.array(views),
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, KnownQuery]]:
    """The eight queries of the paper, and queries that narrowly miss each of the thresholds."""
    rng = np.random.default_rng(5)
    known, first = {}, 1
    for query in BEHAVIORAL:
        model = setting(query)
        views = rng.integers(VIEWS, 3 * VIEWS, (model.theta.size, 3))
        views[0, 2] = VIEWS  # just enough
        known[query[1:]] = KnownQuery(int(query[1:]), range(first, first + model.theta.size), model, views)
        first += model.theta.size
    weak = [
        noise(101, [[2000, 2000, 2000]] * 4),  # strong items, but four of them
        noise(102, [[2000, 2000, 2000]] * 4 + [[5000, 5000, 999]] * 3),  # the others miss it by one display
        noise(103, [[9000, 9000, 1]] * 5),  # hardly ever at the third position
        *[noise(200 + k, rng.integers(1, 40, (6, 3)).tolist()) for k in range(200)],  # the long tail
    ]
    # an item of a kept query with many displays, but not at every position: the item must be dropped
    lopsided = np.array([[5000, 999, 5000], [999, 1500, 1500], [1, 0, 0]])
    weak.append(KnownQuery(2, [800_000, 800_001, 800_002], sw.PBM([0.9, 0.5, 0.2], [1, 0.5, 0.3]), lopsided))
    path = tmp_path_factory.mktemp("kdd") / "training.txt"
    synth(path, ExactTraffic([*known.values(), *weak]), "kdd2012", seed=3)
    return str(path), known


def test_exactly_the_eight_queries_and_their_ads_remain(log: tuple[str, dict[str, KnownQuery]]) -> None:
    path, known = log
    queries = {query.name: query for query in read_log(path, "kdd2012").queries}
    assert set(queries) == set(known)
    for name, query in queries.items():
        assert query.items == [str(item) for item in known[name].items]
        assert query.positions == ["1", "2", "3"]
        assert np.array_equal(query.counts.clicks + query.counts.skips, known[name].views)


def likelihood(counts: sw.Counts, theta: Floats, kappa: Floats) -> float:
    chance = np.outer(theta, kappa)
    return float((counts.clicks * np.log(chance) + counts.skips * np.log1p(-chance)).sum())


def log_likelihood_ratio(log: tuple[str, dict[str, KnownQuery]], scale: float = 1.0) -> float:
    """Twice the log-likelihood of the estimates minus that of the true values, whose first thetas are scaled."""
    path, known = log
    total = 0.0
    for fit in sw.fit_queries(read_log(path, "kdd2012").queries, "em"):
        truth = known[fit.name].model
        theta = np.concatenate([truth.theta[:1] * scale, truth.theta[1:]])
        best = likelihood(fit.counts, fit.theta, fit.kappa)
        total += 2.0 * (best - likelihood(fit.counts, theta, truth.kappa))
    return total


def test_the_table_of_the_paper_is_recovered_within_sampling_error(log: tuple[str, dict[str, KnownQuery]]) -> None:
    """The ratio is chi-squared with 58 thetas + 16 kappas = 74 degrees of freedom: above 128.0 with a probability of
    1e-4 (mean 73.1, standard deviation 11.6, largest 104.7 in 300 such logs). Negative control: with one theta per
    query 25 % larger, the ratio is above 128.0."""
    assert log_likelihood_ratio(log) < 128.0
    assert log_likelihood_ratio(log, 1.25) > 128.0


def test_svd_recovers_the_table_too(log: tuple[str, dict[str, KnownQuery]]) -> None:
    """The SVD, the paper's own estimate, gives all cells the same weight, so its errors are larger. In 300 such logs
    the largest error of the 74 numbers was 5.3 standard errors of EM; it exceeded 4.7 in 1 % of the logs."""
    path, known = log
    queries = read_log(path, "kdd2012").queries
    for fit, best in zip(sw.fit_queries(queries, "svd"), sw.fit_queries(queries, "em"), strict=True):
        truth = known[fit.name].model
        assert (np.abs(fit.theta - truth.theta) < 8 * best.theta_error).all()
        assert (np.abs(fit.kappa - truth.kappa)[1:] < 8 * best.kappa_error[1:]).all()


def test_thresholds_are_options(log: tuple[str, dict[str, KnownQuery]]) -> None:
    path, known = log
    looser = {query.name for query in read_log(path, "kdd2012", {"min_items": 4}).queries}
    assert looser == {*known, "101", "102"}
    assert len(read_log(path, "kdd2012", {"min_shown": 999}).queries) == len(known) + 1  # 102 has seven such items
    assert len(read_log(path, "kdd2012", {"min_shown": 0, "min_items": 1}).queries) == len(known) + 203


def test_a_session_is_one_display_for_any_number_of_impressions(tmp_path: Path) -> None:
    """Click > 0 is one click and Impression is ignored, as in the paper."""
    lines = ["0\t5", "1\t1", "3\t4", "2\t2"]
    (tmp_path / "a.txt").write_text("".join(f"{line}\t0\t7\t0\t1\t1\t9\t0\t0\t0\t0\n" for line in lines))
    (query,) = read_log(str(tmp_path / "a.txt"), "kdd2012", {"min_shown": 0, "min_items": 1}).queries
    assert (query.counts.clicks[0, 0], query.counts.skips[0, 0]) == (3, 1)
