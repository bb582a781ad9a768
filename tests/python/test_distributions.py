# SPDX-License-Identifier: Apache-2.0
"""Random numbers by NumPy's names: their distributions beside SciPy's, their arguments, seeds and devices."""

import numpy as np
import pytest
import scipy.stats as ss
from support import on

import tessera as ts

# name: arguments, and SciPy's distribution
CONTINUOUS = {
    "random": ((), ss.uniform()),
    "uniform": ((-2.0, 3.0), ss.uniform(-2, 5)),
    "standard_normal": ((), ss.norm()),
    "normal": ((1.5, 2.0), ss.norm(1.5, 2)),
    "lognormal": ((0.5, 0.7), ss.lognorm(0.7, scale=np.exp(0.5))),
    "standard_exponential": ((), ss.expon()),
    "exponential": ((2.5,), ss.expon(scale=2.5)),
    "laplace": ((1.0, 2.0), ss.laplace(1, 2)),
    "logistic": ((1.0, 2.0), ss.logistic(1, 2)),
    "gumbel": ((1.0, 2.0), ss.gumbel_r(1, 2)),
    "rayleigh": ((2.0,), ss.rayleigh(scale=2)),
    "weibull": ((1.7,), ss.weibull_min(1.7)),
    "pareto": ((2.5,), ss.lomax(2.5)),
    "power": ((2.5,), ss.powerlaw(2.5)),
    "standard_cauchy": ((), ss.cauchy()),
    "triangular": ((-1.0, 0.5, 3.0), ss.triang(1.5 / 4, -1, 4)),
    "standard_gamma": ((0.4,), ss.gamma(0.4)),
    "gamma": ((3.2, 2.0), ss.gamma(3.2, scale=2)),
    "chisquare": ((5,), ss.chi2(5)),
    "beta": ((2.0, 0.7), ss.beta(2, 0.7)),
    "standard_t": ((4,), ss.t(4)),
}
DISCRETE = {
    "geometric": ((0.3,), ss.geom(0.3)),
    "poisson": ((3.5,), ss.poisson(3.5)),
    "binomial": ((12, 0.7), ss.binom(12, 0.7)),
    "integers": ((2, 9), ss.randint(2, 9)),
}
# Made without logarithms, sines or powers, or whole: the same bits on every device.
EXACT = {"random", "uniform", "triangular", *DISCRETE}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    arguments, expected = CONTINUOUS[name]
    x = getattr(ts.random.default_rng(11), name)(*arguments, size=(50, 80))
    assert x.shape == (50, 80) and str(x.dtype) == "float64"
    assert str(getattr(np.random.default_rng(1), name)(*arguments, size=3).dtype) == "float64"
    assert ss.kstest(x.numpy().ravel(), expected.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    arguments, expected = DISCRETE[name]
    x = getattr(ts.random.default_rng(12), name)(*arguments, size=4000).numpy()
    assert x.dtype == np.int64
    kinds = np.arange(x.min(), x.max() + 1)
    share = expected.pmf(kinds) * 4000
    keep = share > 5
    seen = np.array([(x == k).sum() for k in kinds])
    rest = 4000 - seen[keep].sum(), 4000 - share[keep].sum()
    observed, wanted = seen[keep], share[keep]
    if rest[1] > 5:
        observed, wanted = np.append(observed, rest[0]), np.append(wanted, rest[1])
    assert ss.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3


def test_large_means():
    for x, mean, deviation in (
        (ts.random.default_rng(1).poisson(1500.0, 2000), 1500, 1500**0.5),
        (ts.random.default_rng(2).binomial(3000, 0.4, 2000), 1200, (3000 * 0.24) ** 0.5),
    ):
        v = x.numpy()
        assert abs(v.mean() - mean) < 5 * deviation / 2000**0.5
        assert abs(v.std() / deviation - 1) < 0.1


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_seeds_devices_and_shapes(name, device):
    arguments = {**CONTINUOUS, **DISCRETE}[name][0]
    here = getattr(ts.random.default_rng(3), name)(*arguments, size=(3, 4))
    there = getattr(ts.random.default_rng(3), name)(*arguments, size=(3, 4), device=device)
    assert str(there.device) == device and there.dtype == here.dtype
    if name in EXACT or not device.startswith("cuda"):
        assert np.array_equal(here.numpy(), there.numpy())
    else:  # CUDA rounds logarithms, sines and powers otherwise
        np.testing.assert_allclose(there.numpy(), here.numpy(), rtol=1e-12, atol=1e-13)
    assert getattr(ts.random.default_rng(3), name)(*arguments).shape == ()
    ts.random.seed(3)
    if hasattr(ts.random, name) and name not in ("uniform", "normal", "integers"):
        assert np.array_equal(getattr(ts.random, name)(*arguments, size=(3, 4)).numpy(), here.numpy())


ARRAYS = {  # parameters that are broadcast, and the mean and variance that they give
    "poisson": (([[0.0], [0.3], [7.0], [900.0]],), lambda lam: (lam, lam)),
    "binomial": (([[0], [1], [30], [2000]], [0.0, 0.2, 0.5, 0.9, 1.0]), lambda n, p: (n * p, n * p * (1 - p))),
    "integers": (
        ([[-5], [0], [3]], [4, 5, 1000]),
        lambda low, high: ((low + high - 1) / 2, ((high - low) ** 2 - 1) / 12),
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_parameters_of_whole_numbers_are_arrays(name, device):
    given, moments = ARRAYS[name]
    given = [np.array(g) for g in given]
    mean, variance = (np.broadcast_to(m, np.broadcast_shapes(*(g.shape for g in given))) for m in moments(*given))
    many = 2000
    for parameters in (given, [on(device, g) for g in given], [g.tolist() for g in given]):
        draw = getattr(ts.random.default_rng(5), name)
        x = draw(*parameters, size=(many, *mean.shape), device=device)
        assert x.dtype == ts.int64 and str(x.device) == device
        v = x.numpy()
        assert (abs(v.mean(axis=0) - mean) <= 5 * np.sqrt(variance / many)).all()
        assert np.allclose(v.var(axis=0), variance, rtol=0.25, atol=1e-12)
        assert draw(*parameters, device=device).shape == mean.shape
    flat = [g.ravel()[:1].repeat(3) for g in given]
    assert getattr(ts.random.default_rng(5), name)(*flat, size=(0, 3), device=device).shape == (0, 3)
    with pytest.raises(ValueError, match="broadcast"):
        getattr(ts.random.default_rng(5), name)(*flat, size=(3, 2), device=device)
    ts.random.seed(5)
    assert np.array_equal(
        getattr(ts.random, name)(*given, size=(many, *mean.shape)).numpy(), v
    )  # the process-wide generator
    ranks = ts.dist.run_ranks(
        2, lambda comm: getattr(ts.dist.random.default_rng(5), name)(*given, size=v.shape, split=0, comm=comm).numpy()
    )
    assert all(np.array_equal(r, v) for r in ranks)


def test_whole_numbers_of_one_parameter_that_is_wrong():
    rng = ts.random.default_rng(1)
    for call in (
        lambda: rng.poisson([1.0, -1.0]),
        lambda: rng.poisson([1.0, np.nan]),
        lambda: rng.binomial([3, -1], 0.5),
        lambda: rng.binomial(3, [0.5, 1.5]),
        lambda: rng.integers([0, 5], [5, 5]),
        lambda: rng.integers([0, 5], 300, dtype="int8"),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError, match="expected integers"):
        rng.integers([0.5], 3)
    assert rng.integers(np.int64(2), np.int64(3)).item() == 2
    assert rng.integers([0, 1], 1, endpoint=True, dtype="bool").dtype == ts.bool


def test_parameters_are_arrays(device):
    rng = ts.random.default_rng(4)
    scale = on(device, np.array([[1e-3], [1.0], [1e3]]))
    x = rng.exponential(scale, size=(3, 500), device=device)
    assert (x.numpy().mean(axis=1) / [1e-3, 1, 1e3]).round().tolist() == [1, 1, 1]
    shape = on(device, np.array([0.3, 4.0]))
    g = rng.standard_gamma(shape, size=(4000, 2), device=device).numpy()
    assert np.allclose(g.mean(axis=0), [0.3, 4], rtol=0.1)
    assert rng.normal([0.0, 1.0, 2.0]).shape == rng.gamma(np.ones(3), 2.0).shape == (3,)
    for wrong in ([1, 2], 3.0, "abc"):
        with pytest.raises(TypeError):
            rng.shuffle(wrong)


def test_choice_and_shuffle(device):
    rng = ts.random.default_rng(5)
    a = on(device, np.array([10.0, 20.0, 30.0, 40.0]))
    assert set(rng.choice(a, (5, 6), device=device).numpy().ravel()) <= {10, 20, 30, 40}
    assert sorted(rng.choice(a, 4, replace=False, device=device).tolist()) == [10, 20, 30, 40]
    p = on(device, np.array([0.1, 0.0, 0.6, 0.3]))
    drawn = rng.choice(4, 4000, p=p, device=device).numpy()
    assert np.allclose(np.bincount(drawn, minlength=4) / 4000, [0.1, 0, 0.6, 0.3], atol=0.03)
    few = [tuple(sorted(rng.choice(4, 3, replace=False, p=p, device=device).tolist())) for _ in range(5)]
    assert set(few) == {(0, 2, 3)}
    x = on(device, np.arange(12).reshape(6, 2))
    rng.shuffle(x)
    assert sorted(x.tolist()) == np.arange(12).reshape(6, 2).tolist()
    assert sorted(rng.permutation(x).tolist()) == sorted(x.tolist())


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("normal", (0, -1.0)), ("exponential", (-1.0,)), ("gamma", (-1.0,)), ("triangular", (0, 3, 2)),
        ("geometric", (0.0,)), ("geometric", (1.5,)), ("poisson", (-1.0,)), ("binomial", (-1, 0.5)),
        ("binomial", (3, 1.5)), ("power", (0.0,)), ("pareto", (-2.0,)), ("beta", (0.0, 1.0)), ("chisquare", (0,)),
        ("integers", (5, 2)), ("choice", (3, 4, False)), ("choice", (0, 4)), ("choice", (3, 4, True, [0.5, 0.4])),
        ("choice", (2, 4, True, [0.5, 0.4])), ("choice", (2, 4, True, [1.5, -0.5])),
    ],
)  # fmt: skip
def test_refusals_are_numpys(name, arguments):
    for module in (np, ts):
        with pytest.raises(ValueError):
            getattr(module.random.default_rng(1), name)(*arguments)


def test_numpys_names_of_arguments():
    for module in (ts.random, ts.dist.random):
        x = module.normal(size=(40, 50), loc=5.0, scale=0.1)
        assert x.shape == (40, 50) and abs(x.mean().item() - 5) < 0.05
        assert module.uniform(size=3).shape == module.integers(0, 5, size=3).shape == (3,)
        with pytest.raises(TypeError):
            module.normal(3, size=3)


LIKE_ARRAYS = {
    "list": lambda v: [v, v, v],
    "tuple": lambda v: ([v] * 3, [v] * 3),
    "NumPy": lambda v: np.full(3, v),
    "float32": lambda v: np.full((2, 1), v, "float32"),
    "scalar": np.float32,
    "rank 0": lambda v: np.array(v),
}


@pytest.mark.parametrize("place", ["cpu", "sim:0", "ranks"])
@pytest.mark.parametrize("like", LIKE_ARRAYS)
@pytest.mark.parametrize("name", [n for n, (arguments, _) in CONTINUOUS.items() if arguments] + ["geometric"])
def test_parameters_are_whatever_can_be_an_array_wherever_the_draw_is(name, like, place):
    """Each parameter alone and all of them: the numbers of a draw with the same parameters as arrays, on the device
    that was asked for."""
    arguments = {**CONTINUOUS, **DISCRETE}[name][0]
    home = ts.dist.random if place == "ranks" else ts.random
    where = {"split": 0} if place == "ranks" else {"device": place}
    for changed in (*range(len(arguments)), None):
        given = [LIKE_ARRAYS[like](v) if changed in (i, None) else v for i, v in enumerate(arguments)]
        as_arrays = [ts.asarray(np.array(g)) if np.ndim(g) else float(g) for g in given]
        wanted = getattr(ts.random.default_rng(5), name)(*as_arrays)
        drawn = getattr(home.default_rng(5), name)(
            *given, **where if np.broadcast_shapes(*map(np.shape, given)) else {}
        )
        assert drawn.shape == wanted.shape
        np.testing.assert_allclose(drawn.numpy(), wanted.numpy(), rtol=1e-6)
        if place != "ranks" and drawn.ndim:
            assert drawn.device == place


@pytest.mark.parametrize("place", ["cpu", "sim:0"])
def test_lists_are_permuted_and_chosen_from_on_devices(place):
    x = ts.random.default_rng(3).permutation([5, 6, 7, 8], device=place)
    assert x.device == place and sorted(x.tolist()) == [5, 6, 7, 8]
    for p in (None, [0.25, 0.75, 0.0], np.array([0.25, 0.75, 0.0])):
        x = ts.random.default_rng(3).choice([5, 6, 7], 20, p=p, device=place)
        assert x.device == place and set(x.tolist()) <= ({5, 6, 7} if p is None else {5, 6})


BOUNDED = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]


@pytest.mark.parametrize("place", ["cpu", "sim:0", "ranks"])
@pytest.mark.parametrize("seed", range(12))
def test_whole_numbers_up_to_the_ends_of_their_dtype(seed, place):
    """Bounds of every dtype, many of them at its ends, as numbers, lists and arrays: what is drawn lies between them in
    all parts alike, and what NumPy refuses is refused."""
    rng = np.random.default_rng(seed)
    home = ts.dist.random if place == "ranks" else ts.random
    where = {"split": 0} if place == "ranks" else {"device": place}
    for name in BOUNDED:
        least, most = (0, 1) if name == "bool" else (int(np.iinfo(name).min), int(np.iinfo(name).max))
        endpoint = bool(rng.integers(2))
        ends = sorted({least, most, *(least + int(rng.random() * (most - least)) for _ in range(2))})
        low = [ends[rng.integers(len(ends))] for _ in range(3)]
        high = [min(most, value + int(rng.random() ** 3 * (most - value))) for value in low]
        last = [most if rng.integers(3) == 0 else value for value in high]
        high = [value + (not endpoint) for value in last]
        python = {"int64": int, "bool": bool}.get(name, name)
        dtype = [python, name, np.dtype(name), np.dtype(name).type, getattr(ts, name)][rng.integers(5)]
        if max(high) >= 2**64 or min(high) < 0 and max(high) >= 2**63:  # no dtype holds such a list
            high, endpoint = last, True
        spans = [b - a for a, b in zip(low, last, strict=True)]
        for scalar in (False, True):
            bounds = (low[0], high[0]) if scalar else (low, high)
            if not scalar and rng.integers(2):
                bounds = tuple(np.array(b, object).astype("uint64" if max(b) >= 2**63 else "int64") for b in bounds)
            draw = home.default_rng(seed).integers
            x = draw(*bounds, size=(600, 3), dtype=dtype, endpoint=endpoint, **where)
            assert x.dtype == name
            starts, spread = ([low[0]] * 3, [spans[0]] * 3) if scalar else (low, spans)
            for column, start, span in zip(x.numpy().T, starts, spread, strict=True):
                shares = [(int(value) - start) / (span + 1) for value in column]
                assert min(shares) >= 0 and max(shares) < 1, (name, bounds)
                if span > 1000:
                    assert ss.kstest(shares, ss.uniform().cdf).pvalue > 1e-5, (name, bounds)
        for wrong in ((least - 1, most), (least, most + 2), ([least], [least - endpoint]), (most + 1, most + 2)):
            for source in (np.random, home):
                with pytest.raises((ValueError, OverflowError)):
                    source.default_rng(1).integers(*wrong, 4, dtype=name, endpoint=endpoint)


def test_lengths_are_whole_numbers_of_numpy():
    for home in (ts.random, ts.dist.random):
        n = np.int64(3)
        for rng in (home, home.default_rng(1)):
            assert rng.random(n).shape == rng.standard_gamma(2.0, n).shape == rng.integers(0, 5, n).shape == (3,)
            assert sorted(rng.permutation(n).tolist()) == [0, 1, 2] and rng.choice(n, n).shape == (3,)
        assert home.integers(0, 2**63, 3).shape == home.integers(2**63, 2**64, 3, dtype="uint64").shape == (3,)
