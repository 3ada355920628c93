from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.bench.fit import MAX_NEGATIVES, RIDGE, Example, fit, logistic, prune_candidates

Floats = npt.NDArray[np.float64]
TRUE = np.array([3.0, -1.5, 0.0, 0.8])
SCALE = np.array([1.0, 0.1, 5.0, 30.0])  # each signal has its own unit


def rankings(count: int, weights: Floats = TRUE, seed: int = 0, groups: int = 4) -> list[Example]:
    """Build questions whose gold line is drawn by the softmax of these weights."""
    rng = np.random.default_rng(seed)
    examples = []
    for number in range(count):
        values = rng.standard_normal((int(rng.integers(5, 30)), len(weights)))
        chance = np.exp(values @ weights)
        gold = rng.choice(len(values), 1, p=chance / chance.sum())
        examples.append(Example(f"talk-{number % groups}", (values * SCALE).astype(np.float32), gold))
    return examples


def naive_loss(examples: list[Example], weights: Floats, ridge: float) -> float:
    """Compute the ridge penalty plus the mean cross-entropy of the questions, for weights of the raw signals."""
    spread = np.concatenate([example.signals for example in examples]).astype(np.float64).std(axis=0)
    total = sum(example.importance for example in examples)
    loss = ridge * float(((weights * spread) ** 2).sum()) / 2
    for example in examples:
        scores = example.signals.astype(np.float64) @ weights
        chance = np.exp(scores - scores.max())
        chance /= chance.sum()
        loss -= example.importance / total * float(np.log(chance[example.gold]).mean())
    return loss


def test_known_weights_are_recovered_from_rankings() -> None:
    fitted = fit(rankings(3000), ridge=0.0)
    assert fitted * SCALE == pytest.approx(TRUE, abs=0.25)


@pytest.mark.parametrize("ridge", [0.0, RIDGE, 1.0])
def test_at_the_optimum_the_slope_is_zero_in_every_direction(ridge: float) -> None:
    examples = rankings(200)
    fitted = fit(examples, ridge)
    best = naive_loss(examples, fitted, ridge)
    for signal, scale in enumerate(SCALE):
        step = np.zeros(len(SCALE))
        step[signal] = 1e-3 / scale
        up, down = naive_loss(examples, fitted + step, ridge), naive_loss(examples, fitted - step, ridge)
        assert abs(up - down) / 2e-3 < 1e-3
        assert min(up, down) >= best - 1e-9


def test_a_stronger_ridge_gives_smaller_weights() -> None:
    examples = rankings(200)
    sizes = [float(np.abs(fit(examples, ridge) * SCALE).sum()) for ridge in (0.001, 0.03, 1.0)]
    assert sizes == sorted(sizes, reverse=True)


def test_the_unit_of_a_signal_does_not_change_the_ranking() -> None:
    examples = rankings(200)
    scaled = [Example(each.group, each.signals * np.float32(100), each.gold) for each in examples]
    assert fit(scaled) * 100 == pytest.approx(fit(examples), rel=1e-3, abs=1e-6)


def test_a_signal_that_never_changes_gets_no_weight() -> None:
    examples = [
        Example(each.group, np.column_stack([each.signals, np.ones(len(each.signals), np.float32)]), each.gold)
        for each in rankings(100)
    ]
    assert np.isfinite(fitted := fit(examples)).all()
    assert abs(fitted[-1]) < 1e-6


def test_several_gold_lines_share_one_question() -> None:
    signals = np.array([[1.0], [1.0], [0.0], [0.0]], np.float32)
    both = fit([Example("a", signals, np.array([0, 1]))])
    one = fit([Example("a", signals, np.array([0]))])
    assert both[0] == pytest.approx(one[0], rel=1e-6)
    assert both[0] > 0


def test_an_example_of_twice_the_importance_counts_like_two() -> None:
    examples = rankings(60)
    heavy = [Example(each.group, each.signals, each.gold, 1.0 + (n < 20)) for n, each in enumerate(examples)]
    # Twice in the list changes what the signals are standardised by, and so the ridge: without one both agree.
    assert fit(heavy, 0.0) * SCALE == pytest.approx(fit(examples + examples[:20], 0.0) * SCALE, rel=1e-3, abs=1e-3)


@given(st.integers(1, 700), st.sets(st.integers(0, 699), min_size=1, max_size=5), st.integers(0, 99))
def test_pruning_keeps_the_gold_and_the_best_others(amount: int, gold: set[int], seed: int) -> None:
    signals = np.random.default_rng(seed).permutation(amount).astype(np.float32)[:, None]
    wanted = np.array(sorted(row % amount for row in gold))
    fitted = prune_candidates(Example("a", signals, np.unique(wanted), 2.0), np.array([1.0]))
    assert fitted.importance == 2.0
    assert sorted(fitted.signals[fitted.gold, 0]) == sorted(signals[np.unique(wanted), 0])
    best = sorted(signals[:, 0], reverse=True)[:MAX_NEGATIVES]
    assert set(fitted.signals[:, 0]) == set(best) | set(signals[np.unique(wanted), 0])
    assert len(fitted.signals) <= MAX_NEGATIVES + len(np.unique(wanted))


# ---------------------------------------------------------------------- logistic


def fit_by_gradient_descent(values: Floats, wanted: npt.NDArray[np.bool_], importance: Floats) -> Floats:
    """Compute bias and weights by many small steps of gradient descent."""
    spread, middle = values.std(axis=0), values.mean(axis=0)
    design = np.column_stack([np.ones(len(values)), (values - middle) / spread])
    weights = np.zeros(design.shape[1])
    share = importance / importance.sum()
    for _ in range(20_000):
        weights -= 2.0 * design.T @ (share * (1 / (1 + np.exp(-design @ weights)) - wanted))
    slope = weights[1:] / spread
    return np.array([weights[0] - slope @ middle, *slope])


@examples(5)
@given(st.integers(0, 1000))
def test_the_logistic_curve_is_that_of_gradient_descent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((80, 2)) * [1, 20] + [0, 100]
    wanted = rng.random(80) < 1 / (1 + np.exp(-(values @ [1.0, -0.02] + 2)))
    wanted[:2] = True, False
    importance = rng.uniform(0.5, 2, 80)
    bias, slope = logistic(values, wanted, importance)
    assert np.array([bias, *slope]) == pytest.approx(
        fit_by_gradient_descent(values, wanted, importance), rel=5e-3, abs=5e-3
    )


def test_uninformative_evidence_gives_a_flat_curve_at_the_wanted_share() -> None:
    values = np.array([[0.0], [1.0], [0.0], [1.0]])
    bias, slope = logistic(values, np.array([True, True, False, False]), np.array([3.0, 3.0, 1.0, 1.0]))
    assert slope == pytest.approx([0], abs=1e-6)
    assert 1 / (1 + np.exp(-bias)) == pytest.approx(0.75, abs=1e-4)


def test_separable_rows_give_a_steep_curve_and_no_overflow() -> None:
    values = np.linspace(-1, 1, 20)[:, None]
    bias, slope = logistic(values, values[:, 0] > 0, np.ones(20))
    assert np.isfinite([bias, *slope]).all()
    chance = 1 / (1 + np.exp(-(bias + values[:, 0] * slope[0])))
    assert (chance[:10] < 0.1).all()
    assert (chance[10:] > 0.9).all()
