# SPDX-License-Identifier: Apache-2.0
"""Operators in PyTorch, SciPy and JAX, tested with the real libraries."""

import doctest
import subprocess
import sys

import numpy as np
import pytest

import tessera as ts


def draw(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def operators(rng):
    """(operator, input shape, may take a real input)."""
    W = ts.Dense(draw(rng, (5, 3), "complex128"), ("M", "N"), ("N",), ("M",))
    R = ts.Dense(draw(rng, (4, 3), "float64"), ("M", "N"), ("N",), ("M",))
    S = ts.Dense(draw(rng, (2, 3, 4), "complex128"), ("C", "Nx", "Ny"), ("Nx", "Ny"), ("C", "Nx", "Ny"))
    F = ts.FFT(2, ("C",), (("Nx", "Ny"), ("Kx", "Ky")), "backward", True)
    D = ts.Diagonal(draw(rng, (3, 4), "complex128"), ("C", "Kx", "Ky"), ("C",))
    return [
        pytest.param(W, (3,), id="complex matrix"),
        pytest.param(R, (3,), id="real matrix"),
        pytest.param(D @ F @ S, (3, 4), id="chain"),
        pytest.param((D @ F @ S).N, (3, 4), id="normal"),
        pytest.param(ts.FFT(1), (2, 5), id="open"),
        pytest.param(W @ ts.Scalar(2j) + W, (3,), id="sum"),
    ]


OPERATORS = operators(np.random.default_rng(3))
DTYPES = ["float64", "complex128"]


def test_import_is_lazy():
    code = "import sys, tessera; print([m for m in ('torch', 'jax', 'scipy') if m in sys.modules], 'torch' in dir(tessera))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[] True"


def test_a_missing_library_is_a_sentence():
    code = "import sys; sys.modules['torch'] = None; import tessera as ts\ntry: ts.torch\nexcept AttributeError as e: print(e)\ntry: from tessera import torch\nexcept ImportError as e: print(e)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.count("ts.torch needs the package torch") >= 1 and len(out.splitlines()) == 2
    with pytest.raises(AttributeError, match="no attribute"):
        ts.no_such_thing  # noqa: B018


@pytest.mark.parametrize("library", ["torch", "scipy", "jax"])
def test_examples_run(library):
    pytest.importorskip(library)
    module = getattr(ts, library)
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    report: list[str] = []
    for item in (module, *(getattr(module, name) for name in module.__all__)):
        assert item.__doc__ and ">>>" in item.__doc__, f"{item} has no example"
        for test in finder.find(item, globs={"ts": ts, "np": np, **vars(module)}):
            runner.run(test, out=report.append)
    assert not report and runner.tries > 3, "".join(report)


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        self.t = pytest.importorskip("torch")

    def tensor(self, shape, dtype, seed=0):
        x = draw(np.random.default_rng(seed), shape, dtype)
        return self.t.tensor(x, requires_grad=True)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("A, shape", OPERATORS)
    def test_gradients(self, A, shape, dtype):
        """Numeric derivatives in reverse and forward mode, and of second order."""
        f, x = ts.torch.wrap(A), self.tensor(shape, dtype)
        assert self.t.autograd.gradcheck(f, (x,), check_forward_ad=True)
        assert self.t.autograd.gradgradcheck(lambda v: f(v) * f(v), (x,), check_fwd_over_rev=True)

    @pytest.mark.parametrize("A, shape", OPERATORS)
    def test_gradient_of_a_sum_is_the_adjoint_of_ones(self, A, shape):
        x = self.tensor(shape, "complex128")
        y = ts.torch.wrap(A)(x)
        y.real.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), A.H(np.ones(y.shape, "complex128")).numpy(), atol=1e-12)

    def test_values_and_memory(self):
        D = ts.Diagonal([1.0, 2j, 3.0], ("X",))
        x = self.tensor((3,), "complex128").detach()
        y = ts.torch.wrap(D)(x)
        np.testing.assert_array_equal(y.numpy(), D(x.numpy()).numpy())
        assert ts.torch.asarray(x).__dlpack_device__() == x.__dlpack_device__()
        shared = ts.torch.asarray(x)
        shared[0] = 5
        assert x[0] == 5
        np.testing.assert_array_equal(ts.torch.wrap(D)(x.conj()).numpy(), D(x.numpy().conj()).numpy())
        np.testing.assert_array_equal(ts.torch.wrap(D)(x.flip(0)[::2].repeat(2)[:3]).numpy().shape, (3,))

    @pytest.mark.parametrize("make", ["interpolation", "blocks", "masked blocks"])
    @pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
    def test_gradients_of_sums_of_magnitudes(self, make, dtype):
        """Positive numbers stay positive: the gradient of the sum of |A v| is A.H applied to ones, and vice versa."""
        rng = np.random.default_rng(5)
        if make == "interpolation":
            A, grid = ts.Interpolate(rng.uniform(0, 11, (40, 2)), (12, 15), kernel_params={"beta": 3.0}), (12, 15)
        else:
            grid, mask = (9, 8), rng.random((3, 3)) < 0.5 if make == "masked blocks" else None
            A = ts.ArrayToBlocks(grid, (3, 3), (2, 1), mask)
        for op, shape in ((A, grid), (A.H, A(np.ones(grid)).shape)):
            v = self.t.tensor(rng.uniform(0.5, 2, shape).astype(dtype), requires_grad=True)
            y = ts.torch.wrap(op)(v)
            y.abs().sum().backward()
            used = np.asarray(op(np.ones(shape))) > 0  # |0| has no gradient; torch says 0
            expected = np.asarray(op.H(used.astype(dtype)))
            assert v.grad.dtype == v.dtype
            np.testing.assert_allclose(v.grad.numpy(), expected, atol=100 * np.finfo(dtype).eps)

    def test_strided_inputs(self):
        W = OPERATORS[0].values[0]
        x = self.tensor((3, 7), "complex128").detach()
        np.testing.assert_allclose(ts.torch.wrap(W)(x[:, 2]).numpy(), W(x[:, 2].numpy().copy()).numpy(), atol=1e-13)

    @pytest.mark.parametrize("A, shape", OPERATORS)
    def test_batches(self, A, shape):
        """Axes before the named ones, torch.vmap along any axis, and per-sample gradients."""
        f = ts.torch.wrap(A)
        x = self.tensor((4, *shape), "complex128").detach()
        expected = self.t.stack([f(v) for v in x])
        self.t.testing.assert_close(f(x), expected)
        self.t.testing.assert_close(self.t.vmap(f, in_dims=-1, out_dims=-1)(x.movedim(0, -1)), expected.movedim(0, -1))
        grads = self.t.vmap(self.t.func.grad(lambda v: (f(v).abs() ** 2).sum()))(x)
        self.t.testing.assert_close(grads, 2 * self.t.stack([ts.torch.wrap(A.N)(v) for v in x]))
        if "..." not in A.ishape:
            assert f(x[:0]).shape == (0, *expected.shape[1:])

    def test_jvp(self):
        A, shape = OPERATORS[2].values
        f = ts.torch.wrap(A)
        x, v = self.tensor(shape, "complex128").detach(), self.tensor(shape, "complex128", 1).detach()
        y, t = self.t.func.jvp(f, (x,), (v,))
        self.t.testing.assert_close(y, f(x))
        self.t.testing.assert_close(t, f(v))

    def test_jacobians(self):
        A = OPERATORS[1].values[0]
        f, x, M = ts.torch.wrap(A), self.t.ones(3, dtype=self.t.float64), A.to_dense(dtype="float64").numpy()
        for jacobian in (self.t.func.jacrev(f), self.t.func.jacfwd(f)):
            np.testing.assert_allclose(jacobian(x).numpy(), M, atol=1e-13)
        H = self.t.func.hessian(lambda v: 0.5 * (f(v) ** 2).sum())(x)
        np.testing.assert_allclose(H.numpy(), M.T @ M, atol=1e-12)

    def test_single_precision_keeps_its_dtype(self):
        A = ts.Dense(np.ones((2, 3)), ("M", "N"), ("N",), ("M",))
        x = self.t.ones(3, dtype=self.t.float32, requires_grad=True)
        ts.torch.wrap(A)(x).sum().backward()
        assert x.grad.dtype == self.t.float32 and x.grad.tolist() == [2.0, 2.0, 2.0]
        z = self.t.ones(3, dtype=self.t.float32, requires_grad=True)  # a real input of a complex operator
        ts.torch.wrap(1j * A)(z).imag.sum().backward()
        assert z.grad.dtype == self.t.float32 and z.grad.tolist() == [2.0, 2.0, 2.0]

    def test_module(self):
        A = OPERATORS[0].values[0]
        f = ts.torch.wrap(A)
        assert isinstance(f, self.t.nn.Module) and f.linop is A and f.H.linop is A.H and f.N.linop is A.N
        model = self.t.nn.Sequential(f, f.H).to("cpu")
        assert model[0].linop is A and "Dense" in repr(model)
        y = model(self.t.ones(3, dtype=self.t.complex128))
        np.testing.assert_allclose(y.numpy(), A.N(np.ones(3, "complex128")).numpy(), atol=1e-12)
        with pytest.raises(ts.DTypeError, match="expected an operator"):
            ts.torch.wrap(3)
        with pytest.raises(ts.DimError):
            f(self.t.ones(4, dtype=self.t.complex128))

    def test_training_through_an_operator(self):
        """A least-squares problem by gradient descent reaches the solution of the normal equations."""
        A = ts.Dense(draw(np.random.default_rng(0), (8, 3), "float64"), ("M", "N"), ("N",), ("M",))
        b = self.t.arange(8, dtype=self.t.float64)
        x = self.t.zeros(3, dtype=self.t.float64, requires_grad=True)
        f, descent = ts.torch.wrap(A), self.t.optim.SGD([x], lr=0.05)
        for _ in range(600):
            descent.zero_grad()
            ((f(x) - b) ** 2).sum().mul(0.5).backward()
            descent.step()
        expected = np.linalg.lstsq(A.to_dense(dtype="float64").numpy(), b.numpy(), rcond=None)[0]
        np.testing.assert_allclose(x.detach().numpy(), expected, rtol=1e-6)


class TestScipy:
    @pytest.fixture(autouse=True)
    def scipy(self):
        self.sp = pytest.importorskip("scipy.sparse")
        self.sla = pytest.importorskip("scipy.sparse.linalg")

    @pytest.mark.parametrize("A, shape", OPERATORS)
    def test_matrix(self, A, shape):
        L = ts.scipy.aslinearoperator(A, shape)
        M = A.to_dense(shape, "complex128").numpy()
        assert L.shape == M.shape and L.linop is A
        rng = np.random.default_rng(0)
        X, Y = draw(rng, (M.shape[1], 4), "complex128"), draw(rng, (M.shape[0], 3), "complex128")
        for op, matrix, block in ((L, M, X), (L.H, M.conj().T, Y)):
            np.testing.assert_allclose(op @ block, matrix @ block, atol=1e-11)
            np.testing.assert_allclose(op @ block[:, 0], matrix @ block[:, 0], atol=1e-11)
            np.testing.assert_allclose(op.matvec(block[:, :1]), matrix @ block[:, :1], atol=1e-11)
            np.testing.assert_allclose(op @ block.real, matrix @ block.real, atol=1e-11)
        np.testing.assert_allclose(L.T @ Y, M.T @ Y, atol=1e-11)
        np.testing.assert_allclose((2 * L - L * 1j) @ X, (2 - 1j) * M @ X, atol=1e-11)

    def test_dtypes_and_shapes(self):
        real = ts.Diagonal(np.ones(3, "float32"), ("X",))
        assert ts.scipy.aslinearoperator(real).dtype == np.float64
        assert ts.scipy.aslinearoperator(real, dtype="float32").dtype == np.float32
        assert ts.scipy.aslinearoperator(ts.FFT(1), 4).dtype == np.complex128
        y = ts.scipy.aslinearoperator(real, dtype="float32") @ np.ones(3, "float32")
        assert y.dtype == np.float32
        with pytest.raises(ts.DimError, match="give shape="):
            ts.scipy.aslinearoperator(ts.FFT(1, ()))
        with pytest.raises(ts.DTypeError, match="expected an operator"):
            ts.scipy.aslinearoperator(np.eye(2))

    def test_solvers(self):
        rng = np.random.default_rng(0)
        A = ts.Dense(draw(rng, (12, 5), "complex128"), ("M", "N"), ("N",), ("M",))
        M, b = A.to_dense(dtype="complex128").numpy(), draw(rng, 12, "complex128")
        expected = np.linalg.lstsq(M, b, rcond=None)[0]
        L = ts.scipy.aslinearoperator(A)
        np.testing.assert_allclose(self.sla.lsqr(L, b, atol=1e-13, btol=1e-13)[0], expected, atol=1e-9)
        N = ts.scipy.aslinearoperator(A.N)
        np.testing.assert_allclose(self.sla.cg(N, L.rmatvec(b), rtol=1e-13)[0], expected, atol=1e-9)
        np.testing.assert_allclose(
            self.sla.svds(L, k=2, return_singular_vectors=False), np.linalg.svd(M)[1][[1, 0]], rtol=1e-9
        )

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_operators_from_scipy(self, dtype):
        """Sparse matrices in any format, arrays and functions: both directions, several dims, algebra, solvers."""
        rng = np.random.default_rng(0)
        M = draw(rng, (6, 8), dtype) * (rng.uniform(size=(6, 8)) < 0.4)
        functions = self.sla.LinearOperator(
            M.shape, matvec=lambda v: M @ v, rmatvec=lambda v: M.conj().T @ v, dtype=M.dtype
        )
        x, y = draw(rng, (2, 4), "complex128"), draw(rng, (3, 2), "complex128")
        given = [self.sp.csr_array(M), self.sp.coo_array(M), self.sp.csc_matrix(M), M, functions, 2 * functions]
        for L in given:
            scale = 2 if L is given[-1] else 1
            A = ts.scipy.from_linearoperator(L, ("A", "B"), ("P", "Q"), (2, 4), (3, 2))
            assert A.ishape == ("A", "B") and A.oshape == ("P", "Q") and A.size("B") == 4 and A.size("P") == 3
            np.testing.assert_allclose(A(x), scale * (M @ x.reshape(-1)).reshape(3, 2), atol=1e-12)
            np.testing.assert_allclose(A.H(y), scale * (M.conj().T @ y.reshape(-1)).reshape(2, 4), atol=1e-12)
            assert ts.check_adjoint(A, (2, 4), "complex128")
            np.testing.assert_allclose((1j * A).N(x), A.H(A(x)), atol=1e-11)
            assert A(x.real).dtype == (ts.complex128 if dtype == "complex128" else ts.float64)
        flat = ts.scipy.from_linearoperator(given[0], "N", "M")
        assert isinstance(flat, ts.Sparse) and flat.size("N") == 8
        np.testing.assert_allclose(
            flat.to("sim:0")(ts.asarray(x.reshape(-1)).to("sim:0")).to("cpu"), M @ x.reshape(-1), atol=1e-12
        )
        simple = ts.scipy.from_linearoperator(functions, "N", "M")
        np.testing.assert_allclose(
            simple(ts.asarray(x.reshape(-1)).to("sim:0")).to("cpu"), M @ x.reshape(-1), atol=1e-12
        )

    def test_there_and_back(self):
        A = OPERATORS[0].values[0]
        B = ts.scipy.from_linearoperator(ts.scipy.aslinearoperator(A), "X", "Y")
        assert B.ishape == ("X",) and B.oshape == ("Y",) and isinstance(B, ts.Dense)
        C = ts.scipy.from_linearoperator(ts.scipy.aslinearoperator(ts.FFT(1), 5), "X", "Y")
        v = draw(np.random.default_rng(0), 5, "complex128")
        np.testing.assert_allclose(C.H(C(v)), v, atol=1e-12)
        with pytest.raises(ts.ShapeError, match="isizes"):
            ts.scipy.from_linearoperator(np.ones((2, 6)), ("A", "B"), "M", (2, 2))
        with pytest.raises(ts.ShapeError, match="osizes"):
            ts.scipy.from_linearoperator(np.ones((2, 6)), "N", ("A", "B"))


class TestJax:
    @pytest.fixture(autouse=True)
    def jax(self):
        self.j = pytest.importorskip("jax")
        self.np = pytest.importorskip("jax.numpy")
        with self.j.enable_x64(True):
            yield

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("A, shape", OPERATORS)
    def test_derivatives(self, A, shape, dtype):
        """Values, forward and reverse mode beside those of the dense matrix in JAX itself."""
        rng = np.random.default_rng(0)
        f = ts.jax.wrap(A)
        M = self.np.asarray(A.to_dense(shape, "complex128").numpy())
        x, v = draw(rng, shape, dtype), draw(rng, shape, dtype)
        out = f(x)
        if not np.iscomplexobj(out):
            M = M.real
        plain = lambda a: (M @ a.reshape(-1)).reshape(out.shape)
        g = draw(rng, out.shape, out.dtype)
        for transform in (lambda h: h, self.j.jit):
            np.testing.assert_allclose(transform(f)(x), plain(x), atol=1e-11)
            ours, theirs = (transform(lambda a, b, h=h: self.j.jvp(h, (a,), (b,)))(x, v) for h in (f, plain))
            np.testing.assert_allclose(ours, theirs, atol=1e-11)
            ours, theirs = (transform(lambda a, c, h=h: self.j.vjp(h, a)[1](c)[0])(x, g) for h in (f, plain))
            assert ours.dtype == theirs.dtype == x.dtype
            np.testing.assert_allclose(ours, theirs, atol=1e-11)
        loss = lambda h: self.j.grad(lambda a: (self.np.abs(h(a)) ** 2).sum())
        np.testing.assert_allclose(self.j.jit(loss(f))(x), loss(plain)(x), atol=1e-10)

    def test_hessian_and_transpose(self):
        A, shape = OPERATORS[1].values
        f, M = ts.jax.wrap(A), A.to_dense(dtype="float64").numpy()
        H = self.j.hessian(lambda a: 0.5 * (f(a) ** 2).sum())(self.np.ones(3))
        np.testing.assert_allclose(H, M.T @ M, atol=1e-12)
        t = self.j.linear_transpose(f, self.np.ones(3))
        np.testing.assert_allclose(t(self.np.ones(4))[0], M.T @ np.ones(4), atol=1e-12)

    @pytest.mark.parametrize("A, shape", OPERATORS)
    def test_batches(self, A, shape):
        f = ts.jax.wrap(A)
        x = draw(np.random.default_rng(0), (4, *shape), "complex128")
        expected = np.stack([A(v).numpy() for v in x])
        np.testing.assert_allclose(f(x), expected, atol=1e-12)
        np.testing.assert_allclose(self.j.vmap(f)(x), expected, atol=1e-12)
        mapped = self.j.jit(self.j.vmap(f, in_axes=-1, out_axes=1))(np.moveaxis(x, 0, -1))
        np.testing.assert_allclose(mapped, np.moveaxis(expected, 0, 1), atol=1e-12)
        grads = self.j.vmap(self.j.grad(lambda a: (self.np.abs(f(a)) ** 2).sum()))(x)
        np.testing.assert_allclose(grads, 2 * np.conj(np.stack([A.N(v).numpy() for v in x])), atol=1e-10)

    def test_inside_loops(self):
        A, _ = OPERATORS[1].values
        f = ts.jax.wrap(A.N * (1 / 30))
        x = self.j.jit(lambda a: self.j.lax.fori_loop(0, 5, lambda i, b: f(b), a))(self.np.ones(3))
        M = A.to_dense(dtype="float64").numpy()
        np.testing.assert_allclose(x, np.linalg.matrix_power(M.T @ M / 30, 5) @ np.ones(3), atol=1e-12)

    def test_single_precision(self):
        with self.j.enable_x64(False):
            f = ts.jax.wrap(ts.Diagonal(np.array([1.0, 2.0]), ("X",)))  # weights of float64
            y = self.j.jit(f)(self.np.ones(2))
            assert y.dtype == np.float32 == f(self.np.ones(2)).dtype and y.tolist() == [1.0, 2.0]

    def test_errors(self):
        with pytest.raises(ts.DTypeError, match="expected an operator"):
            ts.jax.wrap(3)
        with pytest.raises(ts.DimError):
            ts.jax.wrap(OPERATORS[0].values[0])(self.np.ones(4))
