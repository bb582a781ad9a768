# SPDX-License-Identifier: Apache-2.0
"""Operators on arrays of other libraries: the like of what goes in comes out, with gradients, on its device, in modules
that are moved, saved, copied and used by worker processes. Tested with the real libraries; CuPy needs a GPU, so that a
module of its name stands in for it here."""

import copy
import io
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tessera as ts

torch = pytest.importorskip("torch")


def draw(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def numbered(seed, shape, dtype="complex128"):
    return draw(seed, shape, dtype)


class Doubled(ts.NamedLinop):
    """An operator written in Python."""

    def __init__(self):
        super().__init__(ts.NS(("X", "Y")))

    @staticmethod
    def fn(linop, x):
        return 2 * x

    adj_fn = fn


def operators():
    W = ts.Dense(numbered(1, (5, 3, 4)), ("M", "X", "Y"), ("X", "Y"), ("M",))
    D = ts.Diagonal(numbered(2, (3, 4)), ("X", "Y"))
    F = ts.FFT(2, (), (("X", "Y"), ("K", "L")))
    locs = np.random.default_rng(3).uniform(-1, 1, (6, 2))
    every = {
        "dense": W,
        "chain": ts.Diagonal(numbered(5, (3, 4)), ("K", "L")) @ F @ D,
        "normal": (F @ D).N,
        "adjoint": W.H,
        "sum": W + 2j * W,
        "transform": F,
        "nufft": ts.NUFFT(locs, (3, 4), ("M",), ("X", "Y")),
        "written": Doubled(),
        "batched": ts.create_batched_linop(W, ts.BatchSpec({"M": 2})),
        "sampling": ts.Sampling((np.array([2, 0]), np.array([1, 3])), (3, 4), ("R",), ("X", "Y"), ()),
    }
    return [pytest.param(A, id=name) for name, A in every.items()]


OPERATORS = operators()
SHAPES = {"adjoint": (5,)}


def shape_of(request):
    return SHAPES.get(request.node.callspec.id.split("-")[-1], (3, 4))


@pytest.mark.parametrize("A", OPERATORS)
class TestEveryOperator:
    @pytest.fixture
    def x(self, request):
        return numbered(9, shape_of(request))

    def test_the_like_comes_out(self, A, x):
        want = A(x)
        t = torch.from_numpy(x)
        for got in (A(t), A @ t, A(t.conj().resolve_conj().conj()), A(torch.nn.Parameter(t))):
            assert isinstance(got, torch.Tensor) and got.dtype == torch.complex128
            np.testing.assert_array_equal(got.detach().resolve_conj().numpy(), want.numpy())
        assert isinstance(want, ts.Array) and isinstance(A(x.tolist()), ts.Array)

    def test_out(self, A, x):
        want, t = A(x).numpy(), torch.from_numpy(x)
        y = torch.full(want.shape, complex("nan"), dtype=torch.complex128)
        assert A(t, out=y) is y
        np.testing.assert_array_equal(y.numpy(), want)
        strided = torch.full((*want.shape, 2), complex("nan"), dtype=torch.complex128)[..., 0]
        np.testing.assert_array_equal(A(t, out=strided).numpy(), want)
        mine = ts.full(want.shape, complex("nan"))
        assert A(t, out=mine) is mine and np.array_equal(mine.numpy(), want)
        before = y.clone()
        for wrong in (y.conj(), y.clone().requires_grad_()):
            with pytest.raises(ts.ArgumentError, match="out="):
                A(t, out=wrong)
        with pytest.raises(ts.ArgumentError, match="gradients"):
            A(t.clone().requires_grad_(), out=y)
        assert torch.equal(y, before)

    def test_gradients(self, A, x):
        t = torch.from_numpy(x).requires_grad_()
        y = A(t)
        (y.abs() ** 2).sum().backward()
        np.testing.assert_allclose(t.grad.numpy(), 2 * A.H(A(x)).numpy(), rtol=1e-9, atol=1e-9)
        with torch.no_grad():
            assert not A(t).requires_grad

    def test_module(self, A, x):
        """The same numbers after each way to keep or move a module, and buffers for what can be one."""
        layer, want = ts.torch.wrap(A), A(x).numpy()
        arrays = ts._tessera._linop_state(A)[1]
        assert len(layer.state_dict()) == len(list(layer.buffers())) == len(arrays)
        file = io.BytesIO()
        torch.save(layer, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        for same in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), loaded, layer.to("cpu")):
            np.testing.assert_array_equal(same(torch.from_numpy(x)).numpy(), want)
            assert same.linop.shape == A.shape and same.linop.kind == A.kind
        file = io.BytesIO()
        torch.save(layer.state_dict(), file)
        file.seek(0)
        read = torch.load(file, weights_only=True)
        other = copy.deepcopy(layer)
        for b in other.buffers():
            b.zero_()
        other.load_state_dict(read)
        np.testing.assert_array_equal(other(torch.from_numpy(x)).numpy(), want)
        np.testing.assert_array_equal(A(x).numpy(), want)

    def test_compiled(self, A, x):
        layer, t = ts.torch.wrap(A), torch.from_numpy(x)
        torch._dynamo.reset()
        found = torch.compile(lambda v: layer(2 * v) + 1, backend="aot_eager")(t)
        np.testing.assert_allclose(found.numpy(), 2 * A(x).numpy() + 1, atol=1e-12)
        u = torch.from_numpy(x).requires_grad_()
        torch.compile(lambda v: (layer(v).abs() ** 2).sum(), backend="aot_eager")(u).backward()
        np.testing.assert_allclose(u.grad.numpy(), 2 * A.H(A(x)).numpy(), rtol=1e-9, atol=1e-9)


def test_extra_axes_are_a_batch():
    A = ts.Diagonal([1.0, 2.0], ("X",))
    assert A(torch.ones(3, 2, dtype=torch.float64)).tolist() == [[1, 2]] * 3
    batched = torch.func.vmap(A)(torch.ones(2, 2, dtype=torch.float64))
    assert batched.tolist() == [[1, 2]] * 2
    assert torch.func.jacrev(A)(torch.ones(2, dtype=torch.float64)).tolist() == [[1, 0], [0, 2]]


def test_loading_leaves_the_operator_that_was_given_alone():
    A = ts.Diagonal([1.0, 2.0], ("X",))
    layer = ts.torch.wrap(A)
    assert layer.linop is A and layer.array0.data_ptr() == ts.torch.wrap(A).array0.data_ptr()
    layer.load_state_dict({"array0": torch.tensor([3.0, 4.0], dtype=torch.float64)})
    assert layer(torch.ones(2, dtype=torch.float64)).tolist() == [3, 4]
    assert layer.N(torch.ones(2, dtype=torch.float64)).tolist() == [9, 16]
    assert A([1.0, 1.0]).tolist() == [1, 2] and A.N([1.0, 1.0]).tolist() == [1, 4]


def test_writing_into_a_buffer_is_noticed():
    layer = ts.torch.wrap(ts.Diagonal([1.0, 2.0], ("X",)))
    one = torch.ones(2, dtype=torch.float64)
    assert layer.N(one).tolist() == [1, 4]
    layer.array0 *= 3
    assert layer(one).tolist() == [3, 6] and layer.N(one).tolist() == [9, 36] and layer.H(one).tolist() == [3, 6]
    layer.array0 = torch.tensor([5.0, 6.0])
    assert layer(torch.ones(2)).dtype == torch.float32 and layer(torch.ones(2)).tolist() == [5, 6]


def test_precision_follows_the_model():
    model = torch.nn.Sequential(ts.torch.wrap(ts.Diagonal([1.0, 2.0], ("X",))), torch.nn.Linear(2, 2))
    assert model[0].array0.dtype == torch.float64
    model.float()
    assert model[0].array0.dtype == torch.float32 and model(torch.ones(2)).dtype == torch.float32
    assert model[0].linop.output_dtype("float32") == ts.float32


def test_operators_on_simulated_devices_have_no_buffers():
    layer = ts.torch.wrap(ts.Diagonal([1.0, 2.0], ("X",)).to("sim:0"))
    assert list(layer.buffers()) == [] and layer.to("cpu").linop.device == "sim:0"


# What a data set of reconstructions does: an operator applied to each item, in the worker's process.
WORKERS = """
import sys
import numpy as np, tessera as ts, torch

class Measured(torch.utils.data.Dataset):
    def __init__(self, A):
        self.A = A
    def __len__(self):
        return 6
    def __getitem__(self, i):
        return self.A(torch.full((64, 64), float(i), dtype=torch.complex64))

if __name__ == "__main__":
    w = np.random.default_rng(1).standard_normal((64, 64)).astype("complex64")
    A = ts.FFT(2, (), (("X", "Y"), ("K", "L"))) @ ts.Diagonal(w, ("X", "Y"))
    A(np.ones((64, 64), "complex64"))  # threads and plans are there before the processes part
    loader = torch.utils.data.DataLoader(Measured(A), batch_size=2, num_workers=2, multiprocessing_context=sys.argv[1])
    found = torch.cat(list(loader)).numpy()
    for i in range(6):
        np.testing.assert_allclose(found[i], A(np.full((64, 64), i, "complex64")).numpy(), atol=1e-3)
    print("same")
"""


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_data_loaders(context, tmp_path):
    """In a process of its own: one with the threads of other libraries may not be forked."""
    program = tmp_path / "workers.py"
    program.write_text(WORKERS)
    path = ":".join([ts.__path__[0] + "/..", *sys.path])
    command = [sys.executable, str(program), context]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert ran.stdout == "same\n", ran.stderr


def test_jax():
    jax = pytest.importorskip("jax")
    A = ts.Diagonal(ts.array([1.0, 2.0], "float32"), ("X",))
    x = jax.numpy.ones(2)
    assert isinstance(A(x), jax.Array) and A(x).tolist() == (A @ x).tolist() == [1, 2]
    assert jax.jit(A)(x).tolist() == [1, 2] and jax.grad(lambda v: (A(v) ** 2).sum())(x).tolist() == [2, 8]
    assert jax.vmap(A)(jax.numpy.ones((3, 2))).shape == (3, 2)
    with pytest.raises(ts.ArgumentError, match="out="):
        A(x, out=x)


STAND_IN = """
import sys, types
import numpy as np
cupy = types.ModuleType("cupy")
class ndarray:
    def __init__(self, a): self.a = a
    def __dlpack__(self, **more): return self.a.__dlpack__(**more)
    def __dlpack_device__(self): return self.a.__dlpack_device__()
    def __array__(self, *more): raise TypeError("the host gets no copy that nobody asked for")
cupy.ndarray, cupy.from_dlpack = ndarray, lambda x: ndarray(np.from_dlpack(x))
sys.modules["cupy"] = cupy
import tessera as ts
A, x = ts.Diagonal([1.0, 2.0], ("X",)), ndarray(np.ones(2))
assert type(A(x)) is type(A @ x) is ndarray and A(x).a.tolist() == [1, 2]
y = ndarray(np.full(2, np.nan))
assert A(x, out=y) is y and y.a.tolist() == [1, 2]
print("torch" in sys.modules, "jax" in sys.modules)
"""


def test_a_library_like_cupy():
    ran = subprocess.run([sys.executable, "-c", STAND_IN], capture_output=True, text=True)
    assert ran.stdout == "False False\n", ran.stderr
