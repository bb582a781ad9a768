# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch as proximal maps: what they are given, what comes back, and a reconstruction that they help."""

import numpy as np
import pytest

import tessera as ts

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("parts", ["batch", "channels"])
def test_shapes_and_dtypes(device, rng, dtype, parts):
    seen = []

    def model(x):
        seen.append((tuple(x.shape), x.dtype, x.requires_grad))
        return 0.5 * x

    v = rng.standard_normal((5, 7))
    v = (v + 1j * rng.standard_normal((5, 7)) if dtype.startswith("complex") else v).astype(dtype)
    found = ts.torch.denoiser(model, parts=parts)(ts.array(v, device=device), 0.3)
    assert str(found.device) == device and str(found.dtype) == dtype
    np.testing.assert_allclose(found.numpy(), v / 2, rtol=1e-6)
    two = {"batch": (2, 1, 5, 7), "channels": (1, 2, 5, 7)}[parts] if dtype.startswith("complex") else (1, 1, 5, 7)
    assert seen == [(two, torch.float32 if dtype in ("float32", "complex64") else torch.float64, False)]


def test_a_module_works_in_its_own_precision(rng):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(3, 1, 3, padding=1))
    v = rng.standard_normal((6, 8)) + 1j * rng.standard_normal((6, 8))
    found = ts.torch.denoiser(net)(ts.asarray(v), 1.0).numpy()
    with torch.no_grad():
        parts = [net(torch.tensor(p[None, None], dtype=torch.float32))[0, 0].numpy() for p in (v.real, v.imag)]
    np.testing.assert_allclose(found, parts[0] + 1j * parts[1], atol=1e-6)
    assert all(w.grad is None for w in net.parameters())


class Smoother(torch.nn.Module):
    """The proximal map of lam / 2 |differences|^2 is a filter; this is a crude one of the same kind."""

    def forward(self, x, sigma):
        kernel = torch.ones(1, 1, 3, 3, dtype=x.dtype) / 9
        smooth = torch.nn.functional.conv2d(torch.nn.functional.pad(x, (1, 1, 1, 1), mode="replicate"), kernel)
        return x + min(sigma, 1.0) * (smooth - x)


def test_plug_and_play_beats_least_squares(rng, tmp_path):
    from tessera import imaging as im

    maps = im.Coils(4).maps((32, 32))
    y, x = np.mgrid[-1:1:32j, -1:1:32j]
    truth = np.exp(-4 * (x**2 + y**2))
    mask = im.poisson_disc((32, 32), 3, calibration=8)
    A = im.sense_operator(maps, mask=mask)
    data = A(truth + 0j).numpy() + 0.05 * mask * (
        rng.standard_normal((4, 32, 32)) + 1j * rng.standard_normal((4, 32, 32))
    )
    g = ts.torch.denoiser(Smoother(), lam=0.05)
    assert g.name == "denoiser(Smoother, 0.05, batch)"
    helped = ts.solve.fista(A, data, g, rtol=0, maxiter=40)
    plain = ts.solve.fista(A, data, None, rtol=0, maxiter=40)
    assert im.nrmse(helped.x, truth) < 0.7 * im.nrmse(plain.x, truth)
    by_admm = ts.solve.admm(A, data, g, rho=0.5, rtol=0, maxiter=20)
    assert im.nrmse(by_admm.x, truth) < im.nrmse(plain.x, truth)
    # It goes on after a stop, and is known by its name.
    ts.solve.fista(A, data, g, rtol=0, maxiter=10, checkpoint=tmp_path / "c.npz")
    again = ts.solve.fista(A, data, g, rtol=0, maxiter=40, checkpoint=tmp_path / "c.npz")
    assert again.x.tolist() == helped.x.tolist()
    with pytest.raises(ValueError, match="another problem: the regulariser"):
        other = ts.torch.denoiser(Smoother(), lam=0.1)
        ts.solve.fista(A, data, other, rtol=0, checkpoint=tmp_path / "c.npz")


def test_what_it_refuses():
    with pytest.raises(ts.ArgumentError, match="model is 3.0; expected a function"):
        ts.torch.denoiser(3.0)
    with pytest.raises(ValueError, match="parts"):
        ts.torch.denoiser(lambda x: x, parts="none")
    with pytest.raises(ValueError, match="negative"):
        ts.torch.denoiser(lambda x: x, lam=-1.0)
    with pytest.raises(ValueError, match=r"gave \(1, 1, 2\)"):
        ts.torch.denoiser(lambda x: x[..., :2])(ts.ones(3), 1.0)
    with pytest.raises(ZeroDivisionError):
        ts.solve.fista(ts.Identity(("X",)), [1.0], ts.torch.denoiser(lambda x: 1 / 0))
