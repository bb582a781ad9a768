# SPDX-License-Identifier: Apache-2.0
"""Operators on PyTorch's CUDA tensors: where make gpu-test finds a PyTorch that has them."""

import numpy as np
import pytest
from conftest import MAIN_DEVICE

import tessera as ts

pytestmark = pytest.mark.skipif(not MAIN_DEVICE.startswith("cuda"), reason="needs TESSERA_TEST_DEVICE=cuda:0")


@pytest.fixture
def torch():
    library = pytest.importorskip("torch")
    if not library.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA device")
    return library


def draw(rng, shape, dtype="complex128"):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def operators():
    """Operators on the cpu, with the shapes of their inputs."""
    rng = np.random.default_rng(3)
    W = ts.Dense(draw(rng, (5, 3)), ("M", "N"), ("N",), ("M",))
    S = ts.Dense(draw(rng, (2, 3, 4)), ("C", "Nx", "Ny"), ("Nx", "Ny"), ("C", "Nx", "Ny"))
    F = ts.FFT(2, ("C",), (("Nx", "Ny"), ("Kx", "Ky")), "backward", True)
    blocks = ts.ArrayToBlocks((6, 5), (2, 3), (2, 1), None, (), ("X", "Y"), ("Bx", "By", "Px", "Py"))
    return [
        pytest.param(W, (3,), id="matrix"),
        pytest.param(F @ S, (3, 4), id="chain"),
        pytest.param((F @ S).N, (3, 4), id="normal"),
        pytest.param(blocks, (6, 5), id="blocks"),
    ]


@pytest.mark.parametrize("A, shape", operators())
def test_values_and_gradients(torch, rng, A, shape):
    x = draw(rng, shape)
    f = ts.torch.wrap(A.to("cuda:0"))
    on = torch.tensor(x, device="cuda:0", requires_grad=True)
    y = f(on)
    assert y.is_cuda and y.device == on.device
    np.testing.assert_allclose(y.detach().cpu().numpy(), A(x).numpy(), atol=1e-11)
    assert torch.autograd.gradcheck(f, (on,), check_forward_ad=True)
    y.real.sum().backward()
    assert on.grad.is_cuda
    np.testing.assert_allclose(on.grad.cpu().numpy(), A.H(np.ones(y.shape, "complex128")).numpy(), atol=1e-11)


def test_memory_is_shared(torch):
    t = torch.zeros(4, device="cuda:0")
    shared = ts.torch.asarray(t)
    assert str(shared.device) == "cuda:0"
    shared[1] = 3
    ts.synchronize()
    assert t.tolist() == [0, 3, 0, 0]
    back = torch.from_dlpack(ts.ones(3, "float32", "cuda:0"))
    assert back.is_cuda and back.tolist() == [1, 1, 1]


def test_a_module_moves_with_its_model(torch):
    W = operators()[0].values[0]
    model = torch.nn.Sequential(ts.torch.wrap(W), ts.torch.wrap(W.H)).to("cuda:0")
    assert str(model[0].linop.device) == "cuda:0"
    x = torch.ones(3, dtype=torch.complex128, device="cuda:0")
    np.testing.assert_allclose(model(x).cpu().numpy(), W.N(np.ones(3, "complex128")).numpy(), atol=1e-12)
    assert str(model.to("cpu")[1].linop.device) == "cpu"


def test_what_a_stream_still_computes_is_waited_for(torch):
    """Values made on a stream of the caller's, after work that takes a while; and used there again."""
    n = 1 << 20
    D = ts.Diagonal(ts.array(np.full(n, 2.0, "float32"), device="cuda:0"), ("X",))
    f, side = ts.torch.wrap(D), torch.cuda.Stream()
    big = torch.ones((2048, 2048), device="cuda:0")
    torch.cuda.synchronize()
    for round in range(5):
        with torch.cuda.stream(side):
            for _ in range(20):
                big = big @ big * (1 / 2048)
            x = torch.full((n,), float(round), device="cuda:0") * big[0, 0]
            y = f(x) + 1
        side.synchronize()
        assert torch.all(y == 2 * round + 1)
