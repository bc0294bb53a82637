"""Slot TS: the displays that it makes from its draws. tests/inference/sampling has the tests of the sampler."""

import json
from pathlib import Path

import numpy as np
import pytest

import slotwise as sw
from slotwise.clickmodels import pbm
from slotwise.counts import Counts
from slotwise.inference.sampling.coordinates import ChainState
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY, Schedule, sample
from slotwise.policies import slot_ts
from slotwise.policies._policy_module import make_params
from slotwise.simulation.simulate import counts_after, generators
from tests.policies.plain_python_replay import best_first

MODEL = sw.PBM([0.6, 0.3, 0.2, 0.1, 0.1], [0.2, 1.0, 0.5])


@pytest.mark.parametrize("prior", ["uniform", "learnt"])
def test_it_shows_the_best_display_under_one_draw_from_the_posterior(prior: str) -> None:
    """A plain implementation: sample a copy of the chain with the same random numbers, and sort."""
    visitors, rng = generators(3, run=0)
    params = make_params(slot_ts, {"prior": prior, "sweeps": 3}, MODEL.arrays())
    state = slot_ts.init(params, 5, 3, rng)
    other = np.random.Generator(np.random.PCG64())
    display, clicks = np.empty(3, np.int64), np.empty(3, np.int64)
    for _ in range(200):
        other.bit_generator.state = rng.bit_generator.state
        chain = ChainState(state.theta.copy(), state.kappa.copy(), state.beta.copy())
        counts = Counts.of(state.counts).arrays()
        sample(counts, state.ridges, chain, Schedule(3, 2, SLICE_EVERY, 0, int(prior == "learnt")), other)
        slot_ts.choose(params, state, rng, display)
        assert display.tolist() == best_first(chain.theta, chain.kappa)
        pbm.click(MODEL.arrays(), display, visitors, clicks)
        slot_ts.update(params, state, display, clicks)
    assert (state.beta[0] != 1.0) == (prior == "learnt")


@pytest.mark.parametrize("kappa", [[1.0, 0.5, 0.2], [0.2, 0.5, 1.0]], ids=["most visible first", "last"])
def test_it_finds_the_most_visible_position_itself(kappa: list[float]) -> None:
    """Ten runs of 3,000 rounds lose far less than random displays, for any place of the most visible position."""
    model = sw.PBM([0.6, 0.3, 0.2, 0.1, 0.1], kappa)
    ours, chance = (sw.simulate(policy, model, rounds=3000, runs=10).mean()[-1] for policy in ("slot_ts", "uniform"))
    assert ours < 0.1 * chance


def test_a_chain_that_starts_far_from_the_posterior_reaches_it() -> None:
    """After a restore the chain may start at any point. Within 300 sweeps it agrees with the counts."""
    counts = counts_after("slot_ts", sw.PBM([0.3, 0.2, 0.1, 0.05], [1.0, 0.5]), 20_000)
    params = make_params(slot_ts, {}, None)
    rng = np.random.default_rng(0)
    theta, kappa = np.empty(4), np.empty(2)
    for start in (1e-300, 0.5, 1.0):
        state = slot_ts.init(params, 4, 2, rng)._replace(counts=counts.arrays())
        state.theta[:], state.kappa[:] = start, start
        for _ in range(300):
            slot_ts.score(params, state, rng, theta, kappa)
        displays = counts.clicks[0] + counts.skips[0]
        rate, error = counts.clicks[0, 0] / displays[0], (0.3 * 0.7 / displays[0]) ** 0.5
        assert theta[0] * kappa[0] == pytest.approx(rate, abs=8 * error)


@pytest.mark.parametrize(("field", "value"), [("theta", 1.5), ("kappa", -0.1), ("beta", 0.0)])
def test_a_damaged_chain_in_a_saved_page_is_rejected(tmp_path: Path, field: str, value: float) -> None:
    """From a prior or a chain state that no sampler can produce, the chain might never recover."""
    page = sw.Recommender(["hat", "tie", "bag"], ["hero", "side"])
    page.save(tmp_path / "page.json")
    saved = json.loads((tmp_path / "page.json").read_text())
    saved["body"]["state"][field][0] = value
    (tmp_path / "bad.json").write_text(json.dumps(saved))
    with pytest.raises(sw.BadInput, match=f"damaged slotwise recommender: {field}"):
        sw.Recommender.load(tmp_path / "bad.json")
