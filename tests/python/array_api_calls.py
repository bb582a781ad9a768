# SPDX-License-Identifier: Apache-2.0
"""Every function of the array API standard (2023.12, and those that 2024.12 adds), called with the standard's names of
arguments: CALLS[name](xp, a) of a namespace xp and of operands a made by it. NumPy is such a namespace, too."""

from types import SimpleNamespace

import numpy as np


def operands(make):
    """What the calls take; `make` turns an array of NumPy into one of the namespace."""
    rng = np.random.default_rng(5)
    square = rng.normal(size=(4, 4))
    found = {
        "f": rng.normal(size=(5, 4)),
        "g": rng.normal(size=(5, 4)),
        "p": rng.uniform(0.1, 0.9, size=(5, 4)),
        "v": rng.normal(size=7),
        "i": rng.integers(-9, 9, size=(5, 4)),
        "j": rng.integers(1, 5, size=(5, 4)),
        "b": rng.integers(0, 2, size=(5, 4)).astype(bool),
        "c": rng.normal(size=(5, 4)) + 1j * rng.normal(size=(5, 4)),
        "s": square @ square.T + 4 * np.eye(4),
        "t": rng.normal(size=(2, 5, 4)),
        "n": np.array([1.0, np.nan, 1.0, np.nan, -np.inf, 0.5]),
        "w": rng.normal(size=(6, 3)),
        "u": rng.normal(size=(6, 3)),
        "one": rng.normal(size=(5, 1, 4)),
        "sorted": np.sort(rng.normal(size=9)),
    }
    return SimpleNamespace(**{name: make(values) for name, values in found.items()})


UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log1p log2 log10
negative positive reciprocal round sign signbit sin sinh square sqrt tan tanh trunc""".split()
ABOVE_ONE = ("acosh",)
BINARY = """add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp maximum
minimum multiply nextafter not_equal pow remainder subtract""".split()
LOGIC = "logical_and logical_or logical_xor".split()
BITS = "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor".split()
SUMS = "max mean min prod std sum var".split()

CALLS = {
    **{n: lambda xp, a, n=n: getattr(xp, n)(a.p + 1 if n in ABOVE_ONE else a.p) for n in UNARY},
    **{n: lambda xp, a, n=n: getattr(xp, n)(a.p, a.p + 0.25) for n in BINARY},
    **{n: lambda xp, a, n=n: getattr(xp, n)(a.b, ~a.b) for n in LOGIC},
    **{n: lambda xp, a, n=n: getattr(xp, n)(a.i, a.j) for n in BITS},
    **{n: lambda xp, a, n=n: getattr(xp, n)(a.t, axis=(0, 2), keepdims=True) for n in SUMS},
    "all": lambda xp, a: xp.all(a.b, axis=0, keepdims=True),
    "any": lambda xp, a: xp.any(a.b, axis=(0, 1)),
    "arange": lambda xp, a: xp.arange(3, stop=17, step=2, dtype=xp.int16),
    "argmax": lambda xp, a: xp.argmax(a.f, axis=1, keepdims=True),
    "argmin": lambda xp, a: xp.argmin(a.f, axis=0),
    "argsort": lambda xp, a: (xp.argsort(a.f, axis=0), xp.argsort(a.f, axis=-1, stable=True)),
    "asarray": lambda xp, a: xp.asarray([[1, 2], [3, 4]], dtype=xp.float32, copy=True),
    "astype": lambda xp, a: xp.astype(a.f, xp.int32, copy=True),
    "bitwise_invert": lambda xp, a: xp.bitwise_invert(a.i),
    "broadcast_arrays": lambda xp, a: tuple(xp.broadcast_arrays(a.one, a.f)),
    "broadcast_to": lambda xp, a: xp.broadcast_to(a.one, (2, 5, 3, 4)),
    "can_cast": lambda xp, a: (
        xp.can_cast(xp.int8, xp.int16),
        xp.can_cast(xp.int16, xp.int8),
        xp.can_cast(a.i, xp.float64),
    ),
    "clip": lambda xp, a: (xp.clip(a.f, min=-0.5, max=0.5), xp.clip(a.i, max=2)),
    "concat": lambda xp, a: (xp.concat([a.f, a.g], axis=1), xp.concat((a.f, a.w), axis=None)),
    "conj": lambda xp, a: xp.conj(a.c),
    "count_nonzero": lambda xp, a: xp.count_nonzero(a.b, axis=0, keepdims=True),
    "cumulative_prod": lambda xp, a: xp.cumulative_prod(a.v, include_initial=True),
    "cumulative_sum": lambda xp, a: xp.cumulative_sum(a.i, axis=1, dtype=xp.float64, include_initial=True),
    "diff": lambda xp, a: (xp.diff(a.f, axis=0, n=2), xp.diff(a.v, prepend=a.n[:1], append=a.v[:2])),
    "empty": lambda xp, a: xp.empty((2, 3), dtype=xp.int8).shape,
    "empty_like": lambda xp, a: xp.empty_like(a.f, dtype=xp.int8).shape,
    "expand_dims": lambda xp, a: xp.expand_dims(a.f, axis=-1),
    "eye": lambda xp, a: xp.eye(3, 5, k=1, dtype=xp.float32),
    "finfo": lambda xp, a: [
        float(getattr(xp.finfo(xp.float32), n)) for n in ("bits", "eps", "max", "min", "smallest_normal")
    ],
    "flip": lambda xp, a: (xp.flip(a.f, axis=0), xp.flip(a.t)),
    "from_dlpack": lambda xp, a: xp.from_dlpack(np.arange(5)),
    "full": lambda xp, a: xp.full((2, 3), 4, dtype=xp.float32),
    "full_like": lambda xp, a: xp.full_like(a.i, 4, dtype=xp.float32),
    "iinfo": lambda xp, a: [int(getattr(xp.iinfo(xp.int16), n)) for n in ("bits", "max", "min")],
    "imag": lambda xp, a: xp.imag(a.c),
    "isdtype": lambda xp, a: (xp.isdtype(xp.int8, "signed integer"), xp.isdtype(xp.int8, ("bool", xp.uint8))),
    "linspace": lambda xp, a: xp.linspace(0, 1, num=7, dtype=xp.float64, endpoint=False),
    "logical_not": lambda xp, a: xp.logical_not(a.b),
    "matmul": lambda xp, a: xp.matmul(a.t, a.s),
    "matrix_transpose": lambda xp, a: xp.matrix_transpose(a.t),
    "meshgrid": lambda xp, a: tuple(xp.meshgrid(a.v, a.n, a.sorted, indexing="ij")),
    "moveaxis": lambda xp, a: xp.moveaxis(a.t, (0, 1), (-1, 0)),
    "nonzero": lambda xp, a: xp.nonzero(a.b),
    "ones": lambda xp, a: xp.ones((2, 3), dtype=xp.int32),
    "ones_like": lambda xp, a: xp.ones_like(a.f),
    "permute_dims": lambda xp, a: xp.permute_dims(a.t, axes=(2, 0, 1)),
    "real": lambda xp, a: xp.real(a.c),
    "repeat": lambda xp, a: (xp.repeat(a.f, 3, axis=1), xp.repeat(a.v, xp.asarray([0, 1, 2, 0, 3, 1, 1]))),
    "reshape": lambda xp, a: (xp.reshape(a.f, (2, 10)), xp.reshape(a.t, shape=(-1,), copy=True)),
    "result_type": lambda xp, a: xp.result_type(a.i, xp.float32) == xp.float64,
    "roll": lambda xp, a: (xp.roll(a.f, 2, axis=0), xp.roll(a.f, shift=(1, -2), axis=(0, 1)), xp.roll(a.f, 3)),
    "searchsorted": lambda xp, a: (
        xp.searchsorted(a.sorted, a.f, side="right"),
        xp.searchsorted(a.v, a.f, sorter=xp.argsort(a.v)),
    ),
    "sort": lambda xp, a: (xp.sort(a.f, axis=0, stable=True), xp.sort(a.n)),
    "squeeze": lambda xp, a: xp.squeeze(a.one, axis=1),
    "stack": lambda xp, a: xp.stack([a.f, a.g], axis=-1),
    "std with correction": lambda xp, a: xp.std(a.f, axis=0, correction=1.0),
    "take": lambda xp, a: xp.take(a.f, xp.asarray([3, 0, 3]), axis=1),
    "take_along_axis": lambda xp, a: xp.take_along_axis(a.f, xp.argsort(a.f, axis=0), axis=0),
    "tensordot": lambda xp, a: (
        xp.tensordot(a.f, a.g, axes=2),
        xp.tensordot(a.t, a.f, axes=((1, 2), (0, 1))),
        xp.tensordot(a.w, a.s, axes=0),
    ),
    "tile": lambda xp, a: (xp.tile(a.f, (2, 3)), xp.tile(a.v, (2, 1, 2))),
    "tril": lambda xp, a: xp.tril(a.t, k=-1),
    "triu": lambda xp, a: xp.triu(a.t, k=1),
    "unique_all": lambda xp, a: (*xp.unique_all(a.n), *xp.unique_all(a.i)),
    "unique_counts": lambda xp, a: tuple(xp.unique_counts(a.n)),
    "unique_inverse": lambda xp, a: (*xp.unique_inverse(a.n), *xp.unique_inverse(a.i)),
    "unique_values": lambda xp, a: tuple(xp.sort(xp.unique_values(x)) for x in (a.n, a.i)),
    "unstack": lambda xp, a: xp.unstack(a.t, axis=1),
    "var with correction": lambda xp, a: xp.var(a.t, axis=(1, 2), correction=1.5),
    "vecdot": lambda xp, a: (xp.vecdot(a.c, a.f), xp.vecdot(a.f, a.g, axis=0)),
    "where": lambda xp, a: xp.where(a.b, a.f, a.i),
    "zeros": lambda xp, a: xp.zeros((2, 3)),
    "zeros_like": lambda xp, a: xp.zeros_like(a.c),
    "constants": lambda xp, a: (xp.e, xp.pi, xp.inf, xp.newaxis is None, xp.nan != xp.nan),
    "linalg.cholesky": lambda xp, a: xp.linalg.cholesky(a.s, upper=True),
    "linalg.cross": lambda xp, a: (xp.linalg.cross(a.w, a.u), xp.linalg.cross(a.w.T, a.u.T, axis=0)),
    "linalg.det": lambda xp, a: xp.linalg.det(a.s),
    "linalg.diagonal": lambda xp, a: xp.linalg.diagonal(a.t, offset=1),
    "linalg.eigh": lambda xp, a: xp.linalg.eigh(a.s).eigenvalues,
    "linalg.eigvalsh": lambda xp, a: xp.linalg.eigvalsh(a.s),
    "linalg.inv": lambda xp, a: xp.linalg.inv(a.s),
    "linalg.matmul": lambda xp, a: xp.linalg.matmul(a.f, a.s),
    "linalg.matrix_norm": lambda xp, a: (xp.linalg.matrix_norm(a.t, ord=1, keepdims=True), xp.linalg.matrix_norm(a.f)),
    "linalg.matrix_power": lambda xp, a: [xp.linalg.matrix_power(a.s, n) for n in (0, 1, 3, -2)],
    "linalg.matrix_rank": lambda xp, a: xp.linalg.matrix_rank(a.f, rtol=1e-9),
    "linalg.matrix_transpose": lambda xp, a: xp.linalg.matrix_transpose(a.f),
    "linalg.outer": lambda xp, a: xp.linalg.outer(a.v, a.sorted),
    "linalg.pinv": lambda xp, a: xp.linalg.pinv(a.f, rtol=1e-9),
    "linalg.qr": lambda xp, a: xp.linalg.qr(a.f, mode="reduced").Q @ xp.linalg.qr(a.f).R,
    "linalg.slogdet": lambda xp, a: (xp.linalg.slogdet(a.s).sign, xp.linalg.slogdet(a.s).logabsdet),
    "linalg.solve": lambda xp, a: xp.linalg.solve(a.s, a.f.T),
    "linalg.svd": lambda xp, a: (
        xp.linalg.svd(a.f, full_matrices=False).S,
        *(xp.matmul(q, xp.matrix_transpose(q)) for q in (xp.linalg.svd(a.f).U, xp.linalg.svd(a.f.T).Vh)),
    ),
    "linalg.svdvals": lambda xp, a: xp.linalg.svdvals(a.f),
    "linalg.tensordot": lambda xp, a: xp.linalg.tensordot(a.f, a.s, axes=1),
    "linalg.trace": lambda xp, a: xp.linalg.trace(a.t, offset=1),
    "linalg.vecdot": lambda xp, a: xp.linalg.vecdot(a.c, a.c, axis=0),
    "linalg.vector_norm": lambda xp, a: (
        xp.linalg.vector_norm(a.f, axis=0, ord=3, keepdims=True),
        xp.linalg.vector_norm(a.t),
    ),
    **{
        f"fft.{n}": lambda xp, a, n=n: getattr(xp.fft, n)(
            a.f if n in ("rfft", "ihfft") else a.c, n=6, axis=0, norm="ortho"
        )
        for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        f"fft.{n}": lambda xp, a, n=n: getattr(xp.fft, n)(
            a.f if n == "rfftn" else a.c, s=(3, 5), axes=(1, 0), norm="forward"
        )
        for n in ("fftn", "ifftn", "rfftn", "irfftn")
    },
    "fft.fftfreq": lambda xp, a: (xp.fft.fftfreq(7, d=0.5), xp.fft.fftfreq(8)),
    "fft.rfftfreq": lambda xp, a: (xp.fft.rfftfreq(7, d=0.5), xp.fft.rfftfreq(2)),
    "fft.fftshift": lambda xp, a: xp.fft.fftshift(a.f, axes=0),
    "fft.ifftshift": lambda xp, a: xp.fft.ifftshift(a.t),
}


def flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]
