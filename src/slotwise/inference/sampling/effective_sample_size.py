"""Effective sample size and R-hat of a set of chains.

Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and localization: an improved R-hat",
Bayesian Analysis 16 (2021). An array of draws has the shape chains x draws, or chains x draws x variables. The results
have one number for each variable.

The results agree with ArviZ, with one exception. For a variable that never changes, the result is NaN instead of the
number of its draws, so that a stuck chain does not look perfect. The result is also NaN if the chains have fewer than
four draws or contain a NaN, and for R-hat of a single chain.
"""

import numpy as np

from slotwise.checks import Floats

_FEWEST = 4  # draws: two for each half of a chain


def ess(draws: Floats) -> Floats:
    """Bulk effective sample size: the precision of means and medians."""
    if draws.shape[1] < _FEWEST:
        return np.full(draws.shape[2:], np.nan)
    return _where_defined(_effective_sample_size(_normalised(_split(draws))), draws)


def tail_ess(draws: Floats) -> Floats:
    """Tail effective sample size: the precision of intervals.

    It is the smaller one of the effective sample sizes of the 5 % and the 95 % quantile.
    """
    if draws.shape[1] < _FEWEST:
        return np.full(draws.shape[2:], np.nan)
    low, high = np.quantile(draws, (0.05, 0.95), axis=(0, 1))
    halves = _split(draws)
    both = np.stack([halves <= low, halves <= high], axis=-1).astype(np.float64)
    return _where_defined(_effective_sample_size(both).min(axis=-1), draws)


def r_hat(draws: Floats) -> Floats:
    """R-hat. It is 1 if the chains agree in location and in spread. Above 1.01 they do not agree."""
    if draws.shape[0] < 2 or draws.shape[1] < _FEWEST:
        return np.full(draws.shape[2:], np.nan)
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return _where_defined(np.fmax(_reduction(_normalised(halves)), _reduction(_normalised(folded))), draws)


def _where_defined(values: Floats, draws: Floats) -> Floats:
    """The values, with NaN for variables whose draws are all equal or contain a NaN."""
    changes = np.ptp(draws, axis=(0, 1)) > 0.0  # False for NaN too
    return np.where(changes, values, np.nan)


def _split(draws: Floats) -> Floats:
    """Split every chain into its first and its last half, so that a drift counts as disagreement."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normalised(draws: Floats) -> Floats:
    """Normal scores of the ranks over all chains. They are robust to heavy tails, even to laws without a mean."""
    from scipy.special import ndtri  # type: ignore[import-untyped] # slow to load

    count = draws.shape[0] * draws.shape[1]
    ranks = np.empty((count, draws[0, 0].size))
    for variable, values in enumerate(draws.reshape(count, -1).T):
        _, which, ties = np.unique(values, return_inverse=True, return_counts=True)
        ranks[:, variable] = (ties.cumsum() - (ties - 1) / 2)[which]  # ties get their average rank
    scores: Floats = ndtri((ranks - 3 / 8) / (count + 1 / 4)).reshape(draws.shape)
    return scores


def _reduction(draws: Floats) -> Floats:
    """R-hat: the factor by which the spread might still shrink with more draws."""
    n = draws.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):  # constant chains give infinity, or NaN if all are equal
        ratio = draws.mean(axis=1).var(axis=0, ddof=1) / draws.var(axis=1, ddof=1).mean(axis=0)
    factor: Floats = np.sqrt(ratio + (n - 1) / n)
    return factor


def _effective_sample_size(draws: Floats) -> Floats:
    """Effective sample size (section 3.2): n draws divided by their autocorrelation time, but at most n log10(n)."""
    chains, n = draws.shape[:2]
    autocovariance = _autocovariance(draws)
    within = autocovariance[0] * n / (n - 1)
    overall = autocovariance[0] + draws.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1 - (within - autocovariance) / overall
    correlation[0] = 1
    time = np.maximum(_correlation_time(correlation), 1 / np.log10(chains * n))
    sizes: Floats = np.where(np.ptp(draws, axis=(0, 1)) > 0.0, chains * n / time, chains * n)
    return sizes


def _autocovariance(draws: Floats) -> Floats:
    """The autocovariance at every lag, averaged over the chains.

    Zero padding to twice the length avoids wrap-around.
    """
    from scipy.fft import irfft, next_fast_len, rfft  # type: ignore[import-untyped] # slow to load

    n = draws.shape[1]
    size = next_fast_len(2 * n, real=True)
    spectrum = rfft(draws - draws.mean(axis=1, keepdims=True), size, axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=0)
    means: Floats = irfft(power, size, axis=0)[:n] / n
    return means


def _correlation_time(correlation: Floats) -> Floats:
    """The autocorrelation time by Geyer's initial monotone sequence.

    The sequence consists of sums of pairs of lags. It ends before the first sum that is not positive, and is made
    non-increasing. The even lag of the first omitted pair is included, because otherwise the time of an antithetic
    chain is too short.
    """
    last = max((len(correlation) - 3) // 2, 0)
    even, odd = correlation[0 : 2 * last + 1 : 2], correlation[1 : 2 * last + 2 : 2]
    pairs = even + odd
    ends = pairs <= 0.0
    ends[last] = True
    end = ends.argmax(axis=0)[None]
    before = np.arange(last + 1).reshape(-1, *[1] * (pairs.ndim - 1)) < end
    monotone = np.where(before, np.minimum.accumulate(pairs, axis=0), 0.0).sum(axis=0)
    left, positive = (np.take_along_axis(values, end, axis=0)[0] for values in (even, pairs))
    time: Floats = -1 + 2 * monotone + np.where(positive >= 0.0, left, np.maximum(left, 0.0))
    return time
