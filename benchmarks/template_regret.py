"""`python -m benchmarks.template_regret [experiment ...]`: what the pages of a template gain from what they share.

Every page draws as in the service: `draw_template` draws what the pages share, and `draw_page` the thetas of a page. A
page draws again when its displays or its clicks have grown by 3 %. So does the template, but it is asked only when all
pages have played the rounds of one step, which is 3 % of the rounds so far. Displays are Thompson sampling: the best
display under a random draw. A page that shares nothing draws from its own posterior, with the default prior of
`slot_ts`. The truth, known to all pages, shows how much any sharing could gain.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]
from scipy.stats import beta as beta_law  # type: ignore[import-untyped]

from slotwise.arrange import arrange
from slotwise.checks import Floats
from slotwise.counts import CountArrays, Counts, add, empty
from slotwise.inference.sampling.draw_budget import DRAWS
from slotwise.inference.sampling.ensemble import needs_refill
from slotwise.inference.sampling.ensemble_draws import EnsembleDraws
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.inference.sampling.template_draws import TemplateDraws, draw_page, draw_template
from slotwise.inference.template_fits import compare_kappas
from slotwise.jit import kernel, source_digest
from slotwise.paper.named_click_models import BEHAVIORAL, setting
from slotwise.policies import slot_ts
from slotwise.policies._ensemble_source import GROWTH

RESULTS = Path(__file__).parent / "results" / "template_regret.json"
SEED = 70_001
UNIFORM = 1.0, 1.0
CHECKPOINTS = 1_000, 10_000


@kernel
def play(
    theta: Floats,
    kappa: Floats,
    draws: EnsembleDraws,
    drawn_at: Floats,
    counts: CountArrays,
    rounds: int,
    rng: np.random.Generator,
) -> tuple[int, float]:
    """Play rounds until draws are due. Returns how many were played, and the regret."""
    score, visibility = np.empty(theta.size), np.empty(kappa.size)
    display, clicks = np.empty(kappa.size, np.int64), np.empty(kappa.size, np.int64)
    arrange(theta, kappa, display)
    best, regret = (theta[display] * kappa).sum(), 0.0
    for played in range(rounds):
        if needs_refill(counts, drawn_at, GROWTH):
            return played, regret
        draw = int(rng.random() * draws.beta.shape[0])
        for item in range(theta.size):
            score[item] = draws.theta[draw, item]
        for position in range(kappa.size):
            visibility[position] = draws.kappa[draw, position]
        arrange(score, visibility, display)
        for position in range(kappa.size):
            chance = theta[display[position]] * kappa[position]
            clicks[position] = rng.random() < chance
            regret -= chance
        regret += best
        add(counts, display, clicks)
    return rounds, regret


class Page:
    """One page of a simulation: visitors, counts, and the draws that its displays come from."""

    def __init__(self, theta: Floats, kappa: Floats, rng: np.random.Generator) -> None:
        self.theta, self.kappa, self._rng = rng.permutation(theta), kappa, rng
        self.counts = empty(theta.size, kappa.size)
        self._chain, self._draws, self._drawn_at = None, None, np.full(2, -1.0)
        self.regret = 0.0

    def play(self, rounds: int, shared: Callable[[], TemplateDraws] | None) -> None:
        """Play rounds, with draws given what the page shares, or with its own draws."""
        while rounds > 0:
            if needs_refill(self.counts, self._drawn_at, GROWTH):
                self._drawn_at = np.array([self.counts.displays[0], self.counts.position_clicks.sum()])
                self._draw(shared)
            played, regret = play(self.theta, self.kappa, self._draws, self._drawn_at, self.counts, rounds, self._rng)
            rounds, self.regret = rounds - played, self.regret + regret

    def play_alone(self, shared: Callable[[], TemplateDraws]) -> list[float]:
        """Play until each of the CHECKPOINTS. Returns the regret there."""
        regret = []
        for checkpoint in CHECKPOINTS:
            self.play(checkpoint - int(self.counts.displays[0]), shared)
            regret.append(self.regret)
        return regret

    def _draw(self, shared: Callable[[], TemplateDraws] | None) -> None:
        if shared is not None:
            self._draws = draw_page(self.counts, shared(), DRAWS, self._rng)
            return
        far = self.counts.displays[0] < 34
        self._draws, self._chain = slot_ts.ENSEMBLE.draw(slot_ts.Params(), self.counts, self._chain, far, self._rng)


class Template:
    """What pages share, drawn from their counts."""

    def __init__(self, pages: list[Page], learnt: int, rng: np.random.Generator) -> None:
        self._pages, self._learnt, self._rng = pages, learnt, rng
        self._draws: TemplateDraws | None = None

    def refresh(self) -> None:
        clicks, skips = (
            np.vstack([getattr(page.counts, name) for page in self._pages]) for name in ("clicks", "skips")
        )
        displays = sum(page.counts.displays[0] for page in self._pages)
        far = displays < 34 * len(self._pages)
        self._draws = draw_template(Counts(clicks, skips, displays).arrays(), self._rng, self._draws, far, self._learnt)

    def draws(self) -> TemplateDraws:
        assert self._draws is not None
        return self._draws


def truth(kappa: Floats, law: tuple[float, float]) -> Callable[[], TemplateDraws]:
    known = TemplateDraws(np.tile(kappa, (DRAWS, 1)), np.tile(np.array(law), (DRAWS, 1)))
    return lambda: known


def play_together(pages: list[Page], template: Template | None) -> list[float]:
    """Let pages play at the same time, in steps of 3 %. Returns their mean regret at each of the CHECKPOINTS."""
    done, regret = 0, []
    for checkpoint in CHECKPOINTS:
        while done < checkpoint:
            step = min(max(1, int(GROWTH * done)), checkpoint - done)
            if template is not None:
                template.refresh()
            for page in pages:
                page.play(step, template and template.draws)
            done += step
        regret.append(float(np.mean([page.regret for page in pages])))
    return regret


def fitted_law(theta: Floats) -> tuple[float, float]:
    """The likeliest Beta law of these thetas, with a, b >= 1 as in the sampler."""
    fitted = minimize(lambda ab: -beta_law.logpdf(theta, *ab).sum(), (1.0, 10.0), bounds=[(1.0, 1e6)] * 2)
    return float(fitted.x[0]), float(fitted.x[1])


QUERIES = {name: setting(name) for name in BEHAVIORAL}
COMMON_KAPPA = np.mean([query.kappa for query in QUERIES.values()], axis=0)
LAW = fitted_law(np.concatenate([query.theta for query in QUERIES.values()]))
SHARED = {"template": Learnt.FALLING, "template, a learnt too": Learnt.BOTH}


def eight_pages(rng: np.random.Generator, same: bool) -> list[Page]:
    """The pages of one run. Their kappas are the same, or those of the queries."""
    return [Page(query.theta, COMMON_KAPPA if same else query.kappa, rng) for query in QUERIES.values()]


def together(run: int, same: bool) -> dict[str, list[float]]:
    """The mean regret of eight pages that share, or do not, and whether the test says that their kappas differ."""
    result: dict[str, list[float]] = {}
    for k, name in enumerate(("alone", *SHARED)):
        rng = np.random.default_rng([SEED, run, k])
        pages = eight_pages(rng, same)
        regret = play_together(pages, Template(pages, SHARED[name], rng) if name in SHARED else None)
        _note(result, name, regret)
        result[f"{name}: kappas differ"] = [float(compare_kappas([Counts.of(page.counts) for page in pages]).differ)]
    for k, (name, law) in enumerate({"true kappas": UNIFORM, "true kappas and law": LAW}.items()):
        rng = np.random.default_rng([SEED, run, 10 + k])
        regrets = [page.play_alone(truth(page.kappa, law)) for page in eight_pages(rng, same)]
        _note(result, name, np.mean(regrets, axis=0).tolist())
    return result


def _note(result: dict[str, list[float]], name: str, regret: list[float]) -> None:
    for checkpoint, value in zip(CHECKPOINTS, regret, strict=True):
        result[f"{name}, {checkpoint:,} rounds"] = [value]


def hundredth(run: int, rounds: int, n_items: int, kappa: Floats, law: tuple[float, float]) -> dict[str, list[float]]:
    """The regret of ten pages in their first rounds, each as the hundredth page of a template.

    The other 99 pages have played as many rounds, each alone. Their thetas come from the same law.
    """
    rng, result = np.random.default_rng([SEED, run, 20]), dict[str, list[float]]()
    others = [Page(rng.beta(*law, n_items), kappa, rng) for _ in range(99)]
    for page in others:
        page.play(rounds, None)
    shared: dict[str, Callable[[], TemplateDraws] | None] = {"alone": None}
    for name, learnt in SHARED.items():
        template = Template(others, learnt, rng)
        template.refresh()
        shared[name] = template.draws
    shared |= {"true kappas": truth(kappa, UNIFORM), "true kappas and law": truth(kappa, law)}
    for _ in range(10):
        theta = rng.beta(*law, n_items)
        for name, draws in shared.items():
            page = Page(theta, kappa, rng)
            page.play(rounds, draws)
            result.setdefault(name, []).append(page.regret)
    return result


STANDARD = setting("standard")
EXPERIMENTS: dict[str, tuple[int, Callable[[int], dict[str, list[float]]]]] = {  # name -> runs, one run
    "hundredth page, behavioral": (20, lambda run: hundredth(run, 1_000, 10, COMMON_KAPPA, LAW)),
    "eight pages, same kappas": (20, lambda run: together(run, same=True)),
    "eight pages, other kappas": (20, lambda run: together(run, same=False)),
    "hundredth page, standard": (
        20, lambda run: hundredth(run, 1_000, 10, STANDARD.kappa, fitted_law(STANDARD.theta)),
    ),
}  # fmt: skip


def summary(values: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """The mean and the standard error of each number. Ratios are to pages that share nothing."""
    rows = {}
    for name, listed in values.items():
        mean, error = float(np.mean(listed)), float(np.std(listed, ddof=1) / len(listed) ** 0.5)
        rows[name] = {"runs": len(listed), "mean": mean, "error": error}
        alone = "alone" + name[name.rfind(", ") :] if name.endswith("rounds") else "alone"
        if alone in values and not name.endswith("differ"):
            ratio = mean / float(np.mean(values[alone]))
            rows[name] |= {"ratio": ratio, "error of the ratio": _ratio_error(listed, values[alone])}
    return rows


def _ratio_error(ours: list[float], theirs: list[float]) -> float:
    """The standard error of the ratio of two means, by the delta method. Both lists have the same runs."""
    ratio = float(np.mean(ours) / np.mean(theirs))
    return float(np.std(np.array(ours) - ratio * np.array(theirs), ddof=1) / len(ours) ** 0.5 / np.mean(theirs))


def measure(runs: int, one_run: Callable[[int], dict[str, list[float]]]) -> dict[str, dict[str, float]]:
    values: dict[str, list[float]] = {}
    for run in range(runs):
        for name, listed in one_run(run).items():
            values.setdefault(name, []).extend(listed)
    return summary(values)


def main(names: list[str]) -> None:
    """Measure these experiments, or all of them. Results are saved after each one."""
    digest = source_digest("slotwise.inference.sampling.template_draws", "slotwise.policies.slot_ts")
    saved = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if saved.get("sources") != digest:
        saved = {"sources": digest, "seed": SEED, "experiments": {}}
    for name, (runs, one_run) in EXPERIMENTS.items():
        if names and name not in names:
            continue
        saved["experiments"][name] = rows = measure(runs, one_run)
        saved["date"] = time.strftime("%Y-%m-%d")
        RESULTS.write_text(json.dumps(saved, indent=1) + "\n")
        for what, row in rows.items():
            print(
                f"{name:28s} {what:40s} {row['mean']:8.2f} +- {row['error']:.2f}  {row.get('ratio', 0.0):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
