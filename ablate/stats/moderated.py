"""Estimate the error of an effect from all arms of a study, instead of from its own arms alone.

Model: the score of arm k with seed s is mean_k + noise_ks. The noise of arm k has variance v_k, and
the noises of two arms with the same seed have a common correlation rho. So an effect that is the
mean over n seeds of a weighted sum of scores, with the weights c_k, has the variance

    V / n,   V = sum_k c_k^2 v_k + rho sum_(k != l) c_k c_l sqrt(v_k v_l).

Variances are *moderated*: with nu degrees of freedom, v_k = (d_k s_0^2 + nu s_k^2) / (d_k + nu),
where s_k^2 is the variance of the arm, s_0^2 that of a typical arm, and d_k says how many degrees
of freedom the other arms are worth. The more the variances of the other arms differ, the smaller is
d_k. The variance of an arm that is larger than the others lead to expect borrows little or nothing.
rho counts as far as it pays: it is multiplied by 1 - F^-2, with the ratio F of the mean squares of
seeds and of the rest. V is a weighted sum of the sample variances and covariances of the arms, so
its degrees of freedom are nu tr(A S)^2 / tr(A S A S), with the weights A and the covariances S.
If an arm of the effect has more runs than the arms it is compared with, such as a baseline that
many arms share, the effect is the linear combination of all these runs that has the smallest
variance (generalised least squares). With rho = 0 it is the difference of two means of unequally
many runs, and with rho near 1 the mean of the paired differences.
The skewness of the arms' pooled residuals corrects the quantile, by the first terms of its
expansion; the part of V that is the arms' own is corrected as in `ablate.stats.corrections`.
With unequally many runs, skewness does not cancel in the effect. Then it also corrects the own part
of V, and s_0^2: noise with the skewness g has a kurtosis of about 1.5 g^2, so that the logarithm of
a variance from n runs is too small by 0.75 g^2 / n. Twice as much is added (`SKEWED`), because the
measured skewness is too small, too.
Source: Smyth 2004, doi:10.2202/1544-6115.1027, for moderated variances and for d (the function
fitFDist of limma); Phipson et al. 2016, doi:10.1214/16-AOAS920, for outlying arms; Satterthwaite
1946, Biometrics Bulletin 2, 110; Hall 1992, The Bootstrap and Edgeworth Expansion, section 2.4.
If the differences of a claim contradict this model, its error is estimated from them alone.
What differs: d is estimated for each arm from the others, together with a prior that is worth
`PRIOR_ARMS` arms, since a study has few of them. An outlying arm loses weight by its own tail
probability. s_0^2 is the maximum-likelihood estimate for d: the harmonic mean of the v_k.
All functions take further dimensions in front, such as those of simulated sweeps.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Num
from scipy import special

from ablate.stats import TIED
from ablate.stats.corrections import FURTHEST

Scores = Float[np.ndarray, "*sweeps arms seeds"]
Arms = Float[np.ndarray, "*sweeps arms"]
Number = Any  # a number, or an array of sweeps
Groups = Bool[np.ndarray, "groups arms"]  # of seeds with runs of the same arms
Counts = Num[np.ndarray, " groups"]
Parts = Float[np.ndarray, "*sweeps groups arms"]

FEWEST_ARMS, FEWEST_RUNS = 3, 3  # below, the difference of two arms is estimated from them alone
PRIOR_ARMS, PRIOR = 3.0, 1.0  # arms that the prior is worth; its variance of log variances
OUTLYING = 0.25  # tail probability of a variance below which its arm borrows less
CONTRADICTED = 0.01  # tail probability at which the own differences of a claim refute the model
LARGEST_RHO = 0.99
NEWTON = 6  # steps of Newton's method, after which the relative error is below 1e-9
# the larger, the less of the correction for its own skewness an effect keeps
OWN_POWER, UNEQUAL_POWER = 3, 2  # with equally, and with unequally many runs of the arms
SKEWED = 1.5  # correction of log s_0^2 for skewed noise, times n / g^2
MOST = 1.4  # largest correction of log s_0^2


@dataclass(frozen=True)
class ArmNoise:
    """The run-to-run variation of the arms of a study, for one metric.

    Args:
        variances: moderated variance of each arm.
        df: degrees of freedom of the arm's own variance (nu).
        prior_df: degrees of freedom that the variances of the other arms add (d).
        typical: variance of a typical arm.
        rho: correlation of two arms over seeds: the measured correlation times `pairing`.
        pairing: factor from 0 to 1, which is small if the measured correlation is small.
        skewness: pooled skewness of the residuals.
        unequal: whether the baseline has more runs than the other arms.
    """

    variances: Arms
    df: Arms
    prior_df: Arms
    typical: Number
    rho: Number
    pairing: Number
    skewness: Number
    unequal: bool = False

    def error(self, weights: Float[np.ndarray, " arms"], pairs: int) -> "Error":
        """Return the error of the effect with the given weight of each arm, over `pairs` seeds that
        all of these arms share.

        For a planned number of seeds, the variances are assumed to stay as they are.
        """
        return self.error_of(weights[..., None, :], np.array([pairs]))

    def error_of(self, parts: Parts, counts: Counts) -> "Error":
        """Return the error of an effect whose arms may lack runs with some seeds.

        Args:
            parts: for each group of seeds and each arm, the weight in the effect of the arm's mean
                over the group. The arms of the effect have runs with all seeds of the first group.
            counts: number of seeds of each group.
        """
        pairs, larger = counts[0], (counts[0] / counts)[:, None]
        runs = (np.where(parts, 1.0, 0.0) * counts[:, None]).sum(-2)
        nu = np.where(runs, runs - 1.0, self.df)
        own_weight = nu / (nu + self.prior_df)
        of_groups, rho = larger * parts**2 * self.variances[..., None, :], self.rho
        squares = of_groups.sum(-2)
        sums = larger[:, 0] * (parts * self.variances[..., None, :] ** 0.5).sum(-1) ** 2
        cross = (sums - of_groups.sum(-1)).sum(-1)
        variance = squares.sum(-1) + rho * cross
        rho = np.asarray(rho)[..., None]
        # the contributions of the arms to a borrowed variance
        shares = self.prior_df / self.variances
        shares = shares / np.maximum(shares.sum(-1, keepdims=True), TIED)
        borrowed = shares * (squares * (1 - own_weight)).sum(-1, keepdims=True)
        arms = squares.shape[-1]
        each = np.asarray(self.pairing * cross / (arms * (arms - 1)))[..., None]
        diagonal = squares * own_weight + borrowed - each
        row = rho * diagonal + each * (1 - rho + rho * arms)
        traces = ((1 - rho) ** 2 * diagonal**2 / nu).sum(-1)
        shared = 2 * (1 - rho) * (diagonal * row).sum(-1, keepdims=True)
        traces = traces + (shared + row.sum(-1, keepdims=True) ** 2)[..., 0] / (pairs - 1)
        thirds = (
            (1.0 if self.unequal else 1 - own_weight)
            * np.asarray(self.skewness)[..., None]
            * self.variances**1.5
            * (larger**2 * parts**3).sum(-2)
        )
        return Error(
            variance=variance,
            df=np.maximum(variance**2 / traces, pairs - 1.0),
            own_skew=((squares * own_weight).sum(-1) / squares.sum(-1))
            ** (UNEQUAL_POWER if self.unequal else OWN_POWER),
            third=thirds.sum(-1) / variance**1.5,
            covariance=(own_weight * thirds).sum(-1) / variance**1.5,
        )

    def parts(self, weights: Float[np.ndarray, " arms"], groups: Groups, counts: Counts) -> Parts:
        """Return the weights with which the means of arms over groups of seeds make up the effect
        of smallest variance (generalised least squares, with the variances and the correlation of
        this noise).

        Args:
            weights: weight of each arm in the effect.
            groups: whether each arm has runs with the seeds of each group.
            counts: number of seeds of each group.
        """
        scales = groups / self.variances[..., None, :] ** 0.5
        rho = np.asarray(self.rho)[..., None, None]
        size = groups.sum(-1)[:, None]
        shrunk = (rho / (1 + (size - 1) * rho))[..., None]
        inverse = scales[..., :, None] * (np.eye(len(weights)) - shrunk) * scales[..., None, :]
        inverse = counts[:, None, None] * inverse / (1 - rho[..., None])
        unused = np.diag(np.where(groups.any(0), 0.0, 1.0))  # arms without weight
        solved = np.linalg.solve(inverse.sum(-3) + unused, weights[:, None])[..., 0]
        return np.asarray((inverse * solved[..., None, None, :]).sum(-1))


@dataclass(frozen=True)
class EffectNoise:
    """The noise of an effect: that of all arms of a study, and the runs that the effect is made of.

    Args:
        arms: the noise of all arms.
        weights: weight of each arm in the effect.
        groups: for each group of seeds and each arm, whether the arm has runs with these seeds. The
            first group holds the seeds with which all arms with a weight have runs.
        counts: number of seeds of each group.
        means: mean score of each arm over the seeds of each group; 0 without runs.
    """

    arms: ArmNoise
    weights: Float[np.ndarray, " arms"]
    groups: Groups
    counts: Counts
    means: Float[np.ndarray, "groups arms"]

    def error(self, pairs: int) -> "Error":
        """Return the error with `pairs` seeds in the first group, and in proportion as many in the
        others.
        """
        if len(self.counts) == 1:
            return self.paired_error(pairs)
        counts = self.counts * (pairs / self.counts[0])
        return self.arms.error_of(self._parts(counts), counts)

    def paired_error(self, pairs: int) -> "Error":
        """Return the error of the mean of `pairs` paired differences."""
        return self.arms.error(self.weights, pairs)

    @property
    def further(self) -> int:
        """Number of runs that count without a run of every other arm."""
        return int((self.counts @ self.groups.sum(-1)) - self.counts[0] * self.groups[0].sum())

    @property
    def shift(self) -> float:
        """The effect of smallest variance, minus the mean of the paired differences."""
        if len(self.counts) == 1:
            return 0.0
        return float((self._parts(self.counts) * self.means).sum() - self.weights @ self.means[0])

    def _parts(self, counts: Counts) -> Parts:
        return self.arms.parts(self.weights, self.groups, counts)


@dataclass(frozen=True)
class Error:
    """The error of an effect.

    Args:
        variance: variance of the effect with a single seed.
        df: degrees of freedom of this variance.
        own_skew: part of the correction for the skewness of the compared arms that is needed, since
            the other arms determine a part of the variance.
        third: skewness that the effect would have with a single seed, as far as it is borrowed.
        covariance: covariance of the effect with its variance, for a single seed and in units of
            its standard deviation, as far as it comes from the borrowed skewness.
    """

    variance: Number
    df: Number
    own_skew: Number
    third: Number
    covariance: Number

    def agrees(self, measured: Number, pairs: int) -> Number:
        """Return whether the variance of the differences themselves agrees with the model.

        It does not if the two arms are much more alike than other arms, so that pairing pays much
        more, or if they vary much more than their scores tell.

        Args:
            measured: variance of the differences.
            pairs: number of differences.
        """
        ratio = measured / self.variance
        tails = special.fdtr(pairs - 1, self.df, ratio), special.fdtrc(pairs - 1, self.df, ratio)
        return np.minimum(*tails) > CONTRADICTED

    def widening(self, sign: int, pairs: int) -> Number:
        """Return by which part the borrowed skewness widens one end of the interval.

        The part is computed for the 2.5 % point of t, and used for all levels.

        Args:
            sign: 1 for the upper end of the interval, -1 for the lower end.
            pairs: number of seeds.
        """
        q = -special.stdtrit(self.df, FURTHEST)
        third, covariance = -sign * self.third, -sign * self.covariance
        moved = (third - 3 * covariance) * (q**2 - 1) / 6 - covariance / 2
        return np.maximum(moved, 0.0) / (q * pairs**0.5)


def arm_noise(scores: Scores, *, unequal: bool = False) -> ArmNoise | None:
    """Return the noise of the arms of a study; None if there are fewer than `FEWEST_ARMS` arms.

    Args:
        scores: score of each arm and seed, NaN if there is none. Every arm has at least
            `FEWEST_RUNS` scores, and not all of its scores are equal.
        unequal: whether the baseline has more runs than the other arms by plan.
    """
    if scores.shape[-2] < FEWEST_ARMS:
        return None
    present = np.isfinite(scores)
    df = present.sum(-1) - 1.0
    residuals = scores - np.nanmean(scores, -1, keepdims=True)
    residuals = np.where(present, residuals, 0.0)
    measured = (residuals**2).sum(-1) / df
    prior_df, tail = _prior_df(measured, df)
    typical = _typical(measured, df, prior_df)
    prior_df = prior_df * np.minimum(1.0, tail / OUTLYING) ** 2
    thirds = (residuals**3).sum(-1) * (df + 1) / (df * (df - 1))
    weights = prior_df / np.maximum(prior_df.sum(-1, keepdims=True), TIED)
    if unequal:
        skewness = (weights * thirds).sum(-1) / (weights * measured).sum(-1) ** 1.5
        more = SKEWED * skewness**2 * (1 / (df + 1)).mean(-1)
        typical = typical * np.exp(np.minimum(more, MOST))[..., None]
    variances = (prior_df * typical + df * measured) / (prior_df + df)
    rho, pairing = _correlation(residuals / variances[..., None] ** 0.5, present)
    if not unequal:
        skewness = (weights * (thirds / variances**1.5)).sum(-1)
    shared = rho * pairing, pairing, skewness
    return ArmNoise(variances, df, prior_df, typical[..., 0], *shared, unequal)


def effect_noise(
    arms: ArmNoise,
    weights: Float[np.ndarray, " arms"],
    scores: Float[np.ndarray, "arms seeds"],
    paired: Bool[np.ndarray, " seeds"],
    *,
    with_unpaired: bool,
) -> EffectNoise:
    """Return the noise of an effect.

    Args:
        arms: the noise of all arms.
        weights: weight of each arm in the effect.
        scores: score of each arm and seed, NaN if there is none.
        paired: the seeds of the paired differences.
        with_unpaired: whether runs of the weighted arms with other seeds count, too.
    """
    present = (np.isfinite(scores) & (weights != 0)[:, None]).T
    groups, members = [weights != 0], [paired]
    if with_unpaired and present[paired][:, weights != 0].all():
        unpaired = ~paired & present.any(1)
        for group in np.unique(present[unpaired], axis=0):
            groups.append(group)
            members.append(unpaired & (present == group).all(1))
    counts = np.array([seeds.sum() for seeds in members])
    means = [scores[:, seeds].mean(1) for seeds in members]
    return EffectNoise(
        arms, weights, np.array(groups), counts, np.where(groups, np.array(means), 0.0)
    )


def _prior_df(measured: Arms, df: Arms) -> tuple[Arms, Arms]:
    """Return, for each arm, the prior degrees of freedom that the variances of the other arms
    supply (empirical Bayes, as in limma). Return also the p-value of the arm's variance under this
    prior.
    """
    n_others = measured.shape[-1] - 1
    logs, noise = log_variances(measured, df)
    mean = (logs.sum(-1, keepdims=True) - logs) / n_others
    squares = (logs**2).sum(-1, keepdims=True) - logs**2 - n_others * mean**2
    expected = (noise.sum(-1, keepdims=True) - noise) / n_others
    excess = np.maximum(squares / (n_others - 1) - expected, 0.0)
    excess = ((n_others - 1) * excess + PRIOR_ARMS * PRIOR) / (n_others - 1 + PRIOR_ARMS)
    prior_df = 2 * trigamma_inverse(excess)
    centre = np.exp(mean + special.digamma(prior_df / 2) - np.log(prior_df / 2))
    df_of_others = np.minimum(prior_df, df.sum(-1, keepdims=True) - df)
    return prior_df, special.fdtrc(df, df_of_others, measured / centre)


def log_variances(measured: Arms, df: Arms) -> tuple[Arms, Arms]:
    """Return the logarithm of each variance, corrected for its bias, and the variance that it has
    because the variance was measured (Smyth 2004, section 6.2).
    """
    bias = special.digamma(df / 2) - np.log(df / 2)
    return np.log(measured) - bias, np.asarray(special.polygamma(1, df / 2))


def _typical(measured: Arms, df: Arms, prior_df: Arms) -> Float[np.ndarray, "*sweeps 1"]:
    """Return the variance s_0^2 of a typical arm: the harmonic mean of the moderated variances.

    Newton's method solves this equation for the logarithm of s_0^2.
    """
    typical = np.exp(log_variances(measured, df)[0].mean(-1, keepdims=True))
    for _ in range(NEWTON):
        own_weights = df * measured / (prior_df * typical + df * measured)
        ratios = typical * (prior_df + df) / (prior_df * typical + df * measured)
        mean = ratios.mean(-1, keepdims=True)
        slope = (ratios * own_weights).mean(-1, keepdims=True) / mean
        typical = typical * np.exp(-np.log(mean) / slope)
    return typical


def _correlation(
    scaled: Scores, present: Bool[np.ndarray, "*sweeps arms seeds"]
) -> tuple[Number, Number]:
    """Return the mean correlation between two arms over seeds, and the factor, from 0 to 1, by
    which the noise of the arms multiplies it.

    `scaled` has the residuals of the arms, divided by their standard deviations.
    """
    arms = scaled.shape[-2]
    products = (scaled.sum(-2) ** 2).sum(-1) - (scaled**2).sum((-1, -2))
    both = (present.sum(-2) ** 2).sum(-1) - present.sum((-1, -2))  # pairs of runs with one seed
    rho = np.clip(products / np.maximum(both - arms * (arms - 1), 1), 0.0, LARGEST_RHO)
    return rho, 1 - ((1 - rho) / (1 + (arms - 1) * rho)) ** 2


def trigamma_inverse(y: Arms) -> Arms:
    """Return the numbers whose trigamma function is y (Newton's method; Smyth 2004, appendix)."""
    x = 0.5 + 1 / y
    for _ in range(NEWTON):
        value = special.polygamma(1, x)
        x = x + value * (1 - value / y) / special.polygamma(2, x)
    return np.asarray(x)
