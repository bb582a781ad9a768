# SPDX-License-Identifier: Apache-2.0
"""Random matrices of every form by number, with the full array and the places that the form stores. NumPy alone says
what is right: whole numbers are Python's, elements that a form does not store are zero whatever they meet."""

from typing import Any, NamedTuple

import numpy as np

import tessera as ts

M = ts.matrix
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = [*SIGNED, *UNSIGNED]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = ["bool", *INTEGERS, *FLOATS, *COMPLEX]
FORMS = ["Dense", "Bit", "TriangularBit", "Triangular", "Strict", "Symmetric", "AntiSymmetric", "Diagonal", "Identity"]
SIZES = [0, 1, 2, 3, 5, 16, 17, 31, 32, 33, 34, 47, 64, 65, 70]


class Drawn(NamedTuple):
    matrix: Any
    full: np.ndarray  # integers as Python's, bfloat16 as float32
    has: np.ndarray  # where the form stores an element
    dtype: str
    text: str


def word(dtype):
    return str(dtype).removeprefix("tessera.")


def kind(dtype):
    """As NumPy's letters."""
    if dtype == "bool":
        return "b"
    return "i" if dtype in INTEGERS else "f" if dtype in FLOATS else "c"


def limits(dtype):
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def rounded(values, dtype):
    """Numbers as a dtype holds them, in the dtype of the model."""
    if kind(dtype) == "i":
        return values.astype(object)
    if dtype == "bfloat16":
        short = ts.asarray(np.ascontiguousarray(values, "float32")).astype("bfloat16")
        return short.astype("float32").numpy().reshape(values.shape)
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def epsilon(dtype):
    if kind(dtype) not in "fc":
        return 0.0
    return 2.0**-7 if dtype == "bfloat16" else float(np.finfo(dtype).eps)


def largest(dtype):
    return float(np.finfo("float32" if dtype == "bfloat16" else dtype).max)


def numbers(rng, shape, dtype, special):
    """Small numbers; `special` adds infinities, NaN and zeros of both signs, or the ends of the integers."""
    letter = kind(dtype)
    if letter == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if letter == "i":
        low, high = limits(dtype)
        values = rng.integers(max(low, -9), 10, shape).astype(object)
        if special:
            values = np.where(rng.random(shape) < 0.05, rng.choice(np.array([low + 1, high], object), shape), values)
        return values
    values = rng.integers(-16, 17, shape) / 8
    if letter == "c":
        values = values + 1j * rng.integers(-16, 17, shape) / 8
    if special:
        few = rng.random(shape) < min(0.1, 3 / max(1, values.size))
        odd = rng.choice([np.inf, -np.inf, np.nan, -0.0, np.inf], shape)
        values = np.where(few, odd, values)
    return rounded(values, dtype)


def given(values, dtype):
    """What a constructor gets."""
    if dtype == "bfloat16":
        return ts.asarray(np.ascontiguousarray(values, "float32")).astype(dtype)
    return values.astype(dtype)


def forms_of(dtype):
    if dtype == "bool":
        return [f for f in FORMS if f != "AntiSymmetric"]
    if dtype in UNSIGNED:
        return [f for f in FORMS if f not in ("AntiSymmetric", "Bit", "TriangularBit")]
    return [f for f in FORMS if f not in ("Bit", "TriangularBit")]


def plain(rng, form, dtype, n, special):
    """A matrix without views, its elements and the places that it stores."""
    shape = (n, n)
    if form in ("Dense", "Bit", "Diagonal", "Identity") and rng.random() < 0.3:
        shape = (n, int(rng.choice(SIZES)))
    a, every = numbers(rng, shape, dtype, special), np.ones(shape, bool)
    upper, strict = np.triu(every), np.triu(every, 1)
    zero = a.dtype.type(0) if a.dtype != object else 0
    only = lambda has, values=a: np.where(has, values, zero)  # noqa: E731
    if form == "Dense":
        return M.Dense(given(a, dtype)), a, every
    if form == "Bit":
        return M.Bit(a), a, every
    if form == "TriangularBit":
        return M.TriangularBit(only(strict)), only(strict), strict
    if form in ("Triangular", "Strict"):
        has = upper if form == "Triangular" else strict
        if rng.random() < 0.5:
            has = has.T
            return (
                M.Triangular(given(only(has), dtype), lower=True, strict=form == "Strict", check=False),
                only(has),
                has,
            )
        return M.Triangular(given(only(has), dtype), strict=form == "Strict", check=False), only(has), has
    if form == "Symmetric":
        full = np.where(upper, a, a.T)
        return M.Symmetric(given(full, dtype), check=False), full, every
    if form == "AntiSymmetric":
        with np.errstate(invalid="ignore"):
            full = np.where(strict, a, np.where(strict.T, -a.T, zero))
        return M.AntiSymmetric(given(full, dtype), check=False), full, ~np.eye(n, dtype=bool)
    has = np.eye(*shape, dtype=bool)
    if form == "Diagonal":
        return M.Diagonal(given(np.diagonal(a), dtype), shape=shape), only(has), has
    one = np.eye(*shape).astype(int).astype(object) if a.dtype == object else np.eye(*shape).astype(a.dtype)
    return M.Identity(shape, dtype), one, has


def scaled_dtype(dtype, v):
    ranks = "bifc"
    own = (
        "bool"
        if isinstance(v, bool)
        else "int64"
        if isinstance(v, int)
        else "float64"
        if isinstance(v, float)
        else "complex128"
    )
    if ranks.index(kind(own)) <= ranks.index(kind(dtype)):
        return dtype
    if kind(own) == "c" and kind(dtype) == "f":
        return "complex128" if dtype == "float64" else "complex64"
    return own


def in_kind(values, dtype):
    """The model's numbers in the dtype of the model for another dtype."""
    if kind(dtype) == "i":
        return values.astype(int).astype(object) if values.dtype == bool else values
    if kind(dtype) == "b":
        return values != 0
    if values.dtype == object:
        values = values.astype(float) if kind(dtype) == "f" else values.astype(complex)
    return rounded(values, dtype)


def times(drawn, v):
    """The model of v times a matrix: None where an integer does not fit."""
    dtype = scaled_dtype(drawn.dtype, v)
    x = in_kind(drawn.full, dtype)
    if v is True or (isinstance(v, int) and v == 1):
        return dtype, x
    with np.errstate(all="ignore"):
        y = np.where(
            drawn.has, x * (v if kind(dtype) == "i" else x.dtype.type(v)), x.dtype.type(0) if x.dtype != object else 0
        )
    if kind(dtype) == "i":
        if not fits(y, dtype):
            return None
    else:
        y = rounded(y, dtype)
    return dtype, y


def fits(values, dtype):
    low, high = limits(dtype)
    return all(low <= v <= high for v in values.flat)


def draw(rng, special=None):
    """A matrix of any form, dtype and view."""
    dtype = str(rng.choice(DTYPES))
    form = str(rng.choice(forms_of(dtype)))
    if dtype == "bool" and rng.random() < 0.6:
        form = str(rng.choice(["Bit", "TriangularBit"]))
    n = int(rng.choice(SIZES))
    special = rng.random() < 0.4 if special is None else special
    matrix, full, has = plain(rng, form, dtype, n, special)
    text = f"{form} {dtype} {matrix.shape}{' special' if special else ''}"
    d = Drawn(matrix, full, has, dtype, text)
    if rng.random() < 0.35:
        d = Drawn(d.matrix.T, d.full.T, d.has.T, d.dtype, d.text + ".T")
    if rng.random() < 0.2:
        d = Drawn(d.matrix.conj(), conj(d.full), d.has, d.dtype, d.text + ".conj()")
    if rng.random() < 0.3:
        v = [2, -1, 3, 0.5, -0.25, 1.0, 1j, 0.5 - 1j, 0, True][rng.integers(0, 10)]
        made = times(d, v)
        if made is not None:
            d = Drawn(v * d.matrix, made[1], d.has, made[0], f"{v} * {d.text}")
    return d


def conj(values):
    return np.conj(values) if values.dtype.kind == "c" else values


def numpy_of(matrix):
    """As the model has it."""
    dtype = word(matrix.dtype)
    values = (matrix.astype("float32") if dtype == "bfloat16" else matrix).numpy()
    return values.astype(object) if kind(dtype) == "i" else values
