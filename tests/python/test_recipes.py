# SPDX-License-Identifier: Apache-2.0
"""Recipes of imaging beside the minimum that they name: what shifts of wavelets and few inner steps change."""

import numpy as np

import tessera as ts
from tessera import imaging as im


def test_shifts_make_wavelets_better_and_are_repeated(rng):
    shape = (48, 45)
    head, maps = im.shepp_logan().image(shape), im.Coils(6).maps(shape)
    mask = im.poisson_disc(shape, 2.5, calibration=10)
    data = im.sense_operator(maps)(head).numpy()
    data = data + 0.02 * (rng.standard_normal(data.shape) + 1j * rng.standard_normal(data.shape))
    made = {seed: im.l1_wavelet(data, maps, mask=mask, lamda=0.02, seed=seed) for seed in (None, 0, 1)}
    errors = {seed: im.nrmse(found.image, head) for seed, found in made.items()}
    assert errors[0] < 0.95 * errors[None] and errors[1] < 0.95 * errors[None]
    assert not np.array_equal(made[0].image, made[1].image)
    again = im.l1_wavelet(data, maps, mask=mask, lamda=0.02)
    assert np.array_equal(again.image, made[0].image)
    on_device = im.l1_wavelet(data, maps, mask=mask, lamda=0.02, device="sim:0").image.to("cpu")
    assert im.nrmse(on_device, again.image) < 1e-6
    # Without shifts it is the minimum: no better at a point nearby.
    A, W = made[None].operator, ts.Wavelet(made[None].operator.ishape, "db4")
    exact = im.l1_wavelet(data, maps, mask=mask, lamda=0.02, seed=None, maxiter=2000, rtol=1e-12).image

    def value(x):
        return 0.5 * float(ts.sum(ts.abs2(A(x) - data * mask))) + 0.02 * float(ts.sum(ts.abs(W(x))))

    for _ in range(20):
        step = 1e-3 * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
        assert value(exact) <= value(exact + step) and value(exact) <= value(made[0].image)


def test_few_inner_steps_of_tv_are_enough_on_a_grid(rng):
    shape = (32, 30)
    head, maps = im.shepp_logan().image(shape), im.Coils(6).maps(shape)
    mask = im.poisson_disc(shape, 2.5, calibration=10)
    data = im.sense_operator(maps)(head).numpy()
    data = data + 0.02 * (rng.standard_normal(data.shape) + 1j * rng.standard_normal(data.shape))
    A = im.sense_operator(maps, mask=mask)
    differences = ts.Gradient(A.ishape, A.ishape, edge="replicate")
    options = dict(mask=mask, lamda=0.02, rtol=0)
    best = im.tv(data, maps, **options, inner=20, maxiter=400).image

    def value(x):
        lengths = np.sqrt((np.abs(differences(x).numpy()) ** 2).sum(0))
        return 0.5 * float(ts.sum(ts.abs2(A(x) - data * mask))) + 0.02 * lengths.sum()

    found = im.tv(data, maps, **options, maxiter=60).image
    assert value(best) <= value(found) < 1.005 * value(best) and im.nrmse(found, best) < 0.02
