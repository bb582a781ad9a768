# SPDX-License-Identifier: Apache-2.0
"""Arrays with named axes against NumPy, local and distributed."""

import doctest
import importlib.util
import itertools
import operator

import numpy as np
import pytest

import tessera as ts

NamedArray = ts.names.NamedArray
N = np.random.default_rng(1).standard_normal((2, 3, 4))
DIMS = ("coil", "Nx", "Ny")
MAKERS = [ts.array, ts.dist.array, lambda n: ts.dist.array(n, split=0), lambda n: ts.dist.array(n, split=2)]


@pytest.fixture(params=range(len(MAKERS)), ids=["local", "whole", "split0", "split2"])
def x(request):
    return NamedArray(MAKERS[request.param](N), DIMS)


def test_places(x):
    choices = (None, 1, -1, slice(1, None), slice(None, None, -1), [1, 0, 1])
    for picks in itertools.product(choices, repeat=3):
        places = {name: pick for name, pick in zip(DIMS, picks, strict=True) if pick is not None}
        wanted = N
        for axis in (2, 1, 0):
            if picks[axis] is not None:
                wanted = wanted[(slice(None),) * axis + (picks[axis],)]
        found = x.sel(**places)
        assert np.array_equal(found.numpy(), wanted)
        assert found.dims == tuple(d for d, pick in zip(DIMS, picks, strict=True) if not isinstance(pick, int))
    swapped = x.sel(Ny=0, coil=1)
    assert swapped.dims == ("Nx",) and np.array_equal(swapped, N[1, :, 0])


def test_reductions_and_order(x):
    for name in ("sum", "prod", "mean", "std", "var", "max", "min"):
        for count in range(4):
            for axes in itertools.permutations(range(3), count):
                found = getattr(x, name)(*(DIMS[axis] for axis in axes))
                np.testing.assert_allclose(found.numpy(), getattr(N, name)(axis=axes or None), rtol=1e-12, atol=1e-12)
                assert len(found.dims) == (3 - count if count else 0)
    for order in itertools.permutations(range(3)):
        turned = x.transpose(*(DIMS[axis] for axis in order))
        assert np.array_equal(turned.numpy(), N.transpose(order)) and turned.dims == tuple(DIMS[a] for a in order)
    assert x.transpose().dims == DIMS[::-1] and x.rename(coil="C").dims == ("C", "Nx", "Ny")


def test_arithmetic_goes_by_names(x):
    y = x.transpose("Ny", "coil", "Nx")
    np.testing.assert_allclose((x - y).numpy(), 0)
    w = x.sel(Nx=0)
    np.testing.assert_allclose((x * w).numpy(), N * N[:, :1])
    assert (w * x).dims == ("coil", "Ny", "Nx")
    np.testing.assert_allclose((w * x).transpose(*DIMS).numpy(), N * N[:, :1])
    np.testing.assert_allclose((2 - x / 4).numpy(), 2 - N / 4)
    assert np.array_equal((x > 0).numpy(), N > 0) and bool((x * x >= 0).all().array)


BINARY = "add sub mul truediv floordiv mod pow lt le gt ge eq ne and_ or_ xor".split()
SIZES = {"A": 2, "B": 3, "C": 1, "D": 4, "E": 5}
NUMBERS = [2, 1.5, True, 2 + 1j, np.float32(2.5), np.int64(3), np.float64(0.5)]


def laid_out(n, dims, wanted):
    """Axes in the order that is wanted, of length one where there is none."""
    turned = n.transpose([dims.index(d) for d in wanted if d in dims])
    return turned[tuple(slice(None) if d in dims else None for d in wanted)]


def numpys(compute, *operands):
    """What NumPy gives; nothing where it refuses."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(compute(*operands))
    except TypeError:
        return None


@pytest.mark.parametrize("symbol", BINARY)
def test_every_operation_beside_numpy(symbol, rng):
    compute, compared = getattr(operator, symbol), 0
    for _ in range(60):
        sides = []
        for dtypes in (("float64", "float32", "int64", "bool", "complex64"), ("float64", "int64", "bool")):
            dims = [str(d) for d in rng.permutation(list(SIZES))[: rng.integers(0, 4)]]
            sides.append((rng.integers(1, 5, [SIZES[d] for d in dims]).astype(rng.choice(dtypes)), dims))
        (a, first), (b, second) = sides
        number = NUMBERS[rng.integers(len(NUMBERS))]
        every = first + [d for d in second if d not in first]
        named, other = NamedArray(ts.asarray(a), first), NamedArray(ts.asarray(b), second)
        for wanted, left, right, dims in (
            (numpys(compute, laid_out(a, first, every), laid_out(b, second, every)), named, other, every),
            (numpys(compute, a, number), named, number, first),
            (numpys(compute, number, a), number, named, first),
        ):
            if wanted is None:
                continue
            found = compute(left, right)
            assert isinstance(found, NamedArray) and found.dims == tuple(dims), (symbol, found.dims, dims)
            assert found.dtype == str(wanted.dtype), (symbol, found.dtype, wanted.dtype)
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)
            compared += 1
    assert compared > 20


def test_comparisons_are_of_elements_and_end_in_a_number(x):
    assert (x == x).all() and not (x != x).any() and not bool((x + 1 == x).all())
    assert (x == N[0, 0, 0]).sum().item() == 1 and float((x * 0 + 2).max()) == 2.0
    np.testing.assert_array_equal((-abs(x)).numpy(), -np.abs(N))
    np.testing.assert_array_equal((~(x > 0)).numpy(), N <= 0)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x > 0)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    for wrong in (lambda: N * x, lambda: x == N, lambda: [1, 2] + x):
        with pytest.raises(ts.DimError, match="expected a number"):
            wrong()
    with pytest.raises(ts.ShapeError):
        x * NamedArray(np.ones(2), ("Ny",))  # noqa: B018


SYMBOLS = "add sub mul truediv floordiv mod pow lt le gt ge eq ne".split()
SINGLE = [2, 2.5, True, np.int64(2), np.float32(1.5), np.array(3.0), ts.array(2), ts.dist.array(1.5)]


@pytest.mark.parametrize("seed", range(3))
def test_operators_of_python(seed, x):
    """Every operator with names in any order, with numbers on either side, and alone."""
    rng = np.random.default_rng(seed)
    for name in SYMBOLS:
        compute = getattr(operator, name)
        turned = x.transpose(*rng.permutation(DIMS))
        with np.errstate(all="ignore"):
            same = compute(abs(x) + 1, abs(turned) + 1)
            np.testing.assert_allclose(same.numpy(), compute(abs(N) + 1, abs(N) + 1), rtol=1e-12)
            for number in SINGLE:
                if isinstance(number, (ts.Array, ts.dist.DNDarray)) and type(number) is not type(x.array):
                    continue
                wanted = number.item() if isinstance(number, (ts.Array, ts.dist.DNDarray)) else number
                np.testing.assert_allclose(compute(abs(x), number).numpy(), compute(abs(N), wanted), rtol=1e-6)
                if isinstance(number, (bool, int, float)):
                    found = compute(number, abs(x))
                    assert found.dims == DIMS
                    np.testing.assert_allclose(found.numpy(), compute(number, abs(N)), rtol=1e-6)
    for name in ("neg", "pos", "abs"):
        assert np.array_equal(getattr(operator, name)(x).numpy(), getattr(operator, name)(N))
    assert np.array_equal((~(x > 0)).numpy(), ~(N > 0))


def test_truth_is_that_of_the_array(x):
    assert not (x > 0).all() and (x > 0).any() and (x == x).all() and not (x != x).any()
    assert not (x == 1).any() and x.sum().item() == pytest.approx(N.sum())
    with pytest.raises(ValueError):
        bool(x > 0)
    with pytest.raises(TypeError):
        hash(x)
    for wrong in (lambda: x == "text", lambda: x == None, lambda: [1, 2] + x):  # noqa: E711
        with pytest.raises(ts.DimError, match="expected a number"):
            wrong()


def test_operators_give_names_on():
    x = NamedArray(N, DIMS)
    A = ts.FFT(2)
    assert x.apply(A).dims == ("coil", "Kx", "Ky")
    np.testing.assert_allclose(x.apply(A).numpy(), np.fft.fftn(N, axes=(1, 2), norm="ortho"))
    assert x.apply(ts.Identity()).dims == DIMS
    with pytest.raises(ts.DimError, match="the operator takes"):
        x.apply(ts.Diagonal(ts.ones(4), ("Z",)))


CALLS = {"call": lambda A, x: A(x), "matmul": lambda A, x: A @ x, "apply": lambda A, x: x.apply(A)}


@pytest.mark.parametrize("call", CALLS)
def test_operators_match_by_names_however_they_are_called(call, x):
    apply = CALLS[call]
    W = np.arange(1.0, 13).reshape(3, 4)
    every = {"diagonal": ts.Diagonal(W, ("Nx", "Ny")), "transform": ts.FFT(2), "identity": ts.Identity()}
    every["chain"] = ts.FFT(2) @ every["diagonal"]
    every["sum"] = every["diagonal"] + 2 * every["diagonal"]
    for name, A in every.items():
        y = x if name in ("transform", "identity") else x.sel(coil=1)  # the others have no name for coils
        named = apply(A, y)
        plain = A(y.array)
        assert isinstance(named, NamedArray) and named.ndim == y.ndim and type(named.array) is type(plain)
        np.testing.assert_array_equal(named.numpy(), plain.numpy())
    square = NamedArray(ts.array(N[0, :, :3]), ("Nx", "Ny"))
    for wrong in (("Ny", "Nx"), ("Nx", "Nz"), ("Nx",)):
        A = ts.Diagonal(np.ones((3,) * len(wrong)), wrong)
        for B in (A, A.H, 2 * A, A @ A, A + A):
            with pytest.raises(ts.DimError, match="the operator takes"):
                apply(B, square)
    turned = ts.Diagonal(W[:, :3], ("Ny", "Nx"))
    with pytest.raises(ts.DimError, match=r"x.transpose\('Ny', 'Nx'\)"):
        apply(turned, square)
    np.testing.assert_array_equal(apply(turned, square.transpose("Ny", "Nx")).numpy(), W[:, :3] * N[0, :, :3].T)
    with pytest.raises(ts.DimError, match="out= has no names"):
        ts.Identity()(square, out=ts.zeros((3, 3)))


def test_functions_keep_names_or_refuse():
    x = NamedArray(abs(N) + 1, DIMS)
    for f in (ts.exp, ts.sqrt, ts.log, ts.abs, ts.conj, ts.isnan):
        assert x.map(f).dims == DIMS and np.array_equal(x.map(f).numpy(), f(x.array).numpy())
    functions = [ts.exp, ts.sqrt, ts.sum, ts.max, ts.sort, ts.asarray, ts.linalg.norm, ts.dist.exp, ts.dist.sum]
    for f in (*functions, lambda y: ts.add(y, 1), lambda y: ts.multiply(2, y), lambda y: ts.concatenate([y, y])):
        with pytest.raises(ts.DimError, match="knows no names|NamedArray"):
            f(x)
    with pytest.raises(ts.ShapeError, match=r"NamedArray.map: expected a result of shape \(2, 3, 4\)"):
        x.map(ts.sum)
    assert np.array_equal(np.asarray(x), x.numpy())


def test_refusals_name_the_axis(x):
    for place, name in ((3, "coil"), (-5, "Nx"), ([0, 9], "Ny")):
        with pytest.raises(IndexError, match=f"NamedArray.sel: .* on axis '{name}' of length"):
            x.sel(**{name: place})
    for name in ("sum", "prod", "mean", "std", "var", "max", "min"):
        with pytest.raises(ts.DimError, match=f"NamedArray.{name}: axes go by their names, 'coil', 'Nx', 'Ny'"):
            getattr(x, name)(axis=0)
        with pytest.raises(TypeError, match="got keepdims="):
            getattr(x, name)(keepdims=True)
    assert x.shape == N.shape and x.ndim == 3
    html = x._repr_html_()
    assert "coil: 2, Nx: 3, Ny: 4" in html and "<script" not in NamedArray([1], ("a",))._repr_html_()


def test_repr_and_refusals():
    x = NamedArray(ts.dist.array([[1, 2]], split=1), "AB")
    assert repr(x).startswith("NamedArray (A: 1, B: 2) int64, B over 1 ranks\n") and x.dtype == "int64"
    for wrong in (
        lambda: NamedArray(N, ("A",)),
        lambda: NamedArray(N, "AAB"),
        lambda: x.sel(C=1),
        lambda: x.transpose("A"),
    ):
        with pytest.raises(ts.DimError, match="NamedArray"):
            wrong()
    with pytest.raises(ts.DimError, match="expected a number"):
        x + [1, 2]  # noqa: B018


def test_examples_run():
    runner, report = doctest.DocTestRunner(), []
    there = importlib.util.find_spec("xarray") is not None
    for test in doctest.DocTestFinder().find(NamedArray, "NamedArray", globs={"ts": ts}):
        if there or not test.name.endswith("xarray"):
            runner.run(test, out=report.append)
    assert not report and runner.tries > 8, "".join(report)
