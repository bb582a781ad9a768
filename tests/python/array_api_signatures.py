# SPDX-License-Identifier: Apache-2.0
"""The functions of the array API standard, 2024.12, as it writes them, and for each a call with other values of its
keywords: KEYWORDS[name] = (arguments by place, {keyword: values}), made by operands of array_api_calls."""

import ast

UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan
log log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square sqrt tan tanh
trunc""".split()
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum
multiply nextafter not_equal pow remainder subtract matmul""".split()
LINES = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
clip(x, /, min=None, max=None)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
concat(arrays, /, *, axis=0)
expand_dims(x, /, *, axis=0)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
where(condition, x1, x2, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
fft.fft(x, /, *, n=None, axis=-1, norm='backward')
fft.ifft(x, /, *, n=None, axis=-1, norm='backward')
fft.fftn(x, /, *, s=None, axes=None, norm='backward')
fft.ifftn(x, /, *, s=None, axes=None, norm='backward')
fft.rfft(x, /, *, n=None, axis=-1, norm='backward')
fft.irfft(x, /, *, n=None, axis=-1, norm='backward')
fft.rfftn(x, /, *, s=None, axes=None, norm='backward')
fft.irfftn(x, /, *, s=None, axes=None, norm='backward')
fft.hfft(x, /, *, n=None, axis=-1, norm='backward')
fft.ihfft(x, /, *, n=None, axis=-1, norm='backward')
fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.fftshift(x, /, *, axes=None)
fft.ifftshift(x, /, *, axes=None)
linalg.cholesky(x, /, *, upper=False)
linalg.cross(x1, x2, /, *, axis=-1)
linalg.det(x, /)
linalg.diagonal(x, /, *, offset=0)
linalg.eigh(x, /)
linalg.eigvalsh(x, /)
linalg.inv(x, /)
linalg.matmul(x1, x2, /)
linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')
linalg.matrix_power(x, n, /)
linalg.matrix_rank(x, /, *, rtol=None)
linalg.matrix_transpose(x, /)
linalg.outer(x1, x2, /)
linalg.pinv(x, /, *, rtol=None)
linalg.qr(x, /, *, mode='reduced')
linalg.slogdet(x, /)
linalg.solve(x1, x2, /)
linalg.svd(x, /, *, full_matrices=True)
linalg.svdvals(x, /)
linalg.tensordot(x1, x2, /, *, axes=2)
linalg.trace(x, /, *, offset=0, dtype=None)
linalg.vecdot(x1, x2, /, *, axis=-1)
linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
""".strip().splitlines()
LINES += [f"{name}(x, /)" for name in UNARY] + [f"{name}(x1, x2, /)" for name in BINARY]
# Methods of an array, without itself, and of what __array_namespace_info__() gives.
METHODS = """
__array_namespace__(*, api_version=None)
__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
__dlpack_device__()
to_device(device, /, *, stream=None)
""".strip().splitlines()
INFO = """
capabilities()
default_device()
default_dtypes(*, device=None)
devices()
dtypes(*, device=None, kind=None)
""".strip().splitlines()


def parsed(line):
    """(name, names by place alone, names by place or keyword, *name, {name: default} by keyword alone,
    {name: default} of all that have one)."""
    name, _, rest = line.partition("(")
    arguments = ast.parse(f"def f({rest}: ...").body[0].args
    value = ast.literal_eval
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = {
        a.arg: value(d)
        for a, d in zip(placed[len(placed) - len(arguments.defaults) :], arguments.defaults, strict=True)
    }
    keywords = {a.arg: value(d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
    return (
        name,
        [a.arg for a in arguments.posonlyargs],
        [a.arg for a in arguments.args],
        arguments.vararg and arguments.vararg.arg,
        keywords,
        {**defaults, **keywords},
    )


SIGNATURES = {parsed(line)[0]: parsed(line)[1:] for line in LINES}


def _of(operand, more=None, **values):
    """Calls on one operand, then others by place, with each value of each keyword."""
    return lambda a, xp: ([getattr(a, operand), *(more(a, xp) if more else ())], values)


AXIS = {"axis": [0, -1, -2]}
AXES = {"axis": [0, -1, (0, 1), None], "keepdims": [True, False]}
KINDS = {"dtype": ["float32", "complex128", None]}
NORMS = {"norm": ["ortho", "forward", "backward"]}
LINE = {"n": [3, 8, None], "axis": [0, 1, -1], **NORMS}
BLOCK = {"s": [(3, 5)], "axes": [(0, 1), (1, 0)], **NORMS}
MADE = {"dtype": ["int16", "float32", "complex64", None]}
KEYWORDS = {
    "arange": lambda a, xp: ([1], {"stop": [9, 2.5], "step": [2], "dtype": ["float32", "int8", None]}),
    "asarray": lambda a, xp: ([[[1, 2], [3, 4]]], {**MADE, "copy": [True, None]}),
    "eye": lambda a, xp: ([3, 4], {"k": [-1, 0, 2], **MADE}),
    "from_dlpack": _of("f", copy=[True, False, None]),
    "full": lambda a, xp: ([(2, 3), 4], MADE),
    "full_like": _of("i", lambda a, xp: [2], **MADE),
    "linspace": lambda a, xp: ([0, 5, 11], {"endpoint": [True, False], "dtype": ["float32", None]}),
    "meshgrid": lambda a, xp: ([a.v, a.sorted], {"indexing": ["xy", "ij"]}),
    "ones": lambda a, xp: ([(2, 3)], MADE),
    "ones_like": _of("i", **MADE),
    "zeros": lambda a, xp: ([3], MADE),
    "zeros_like": _of("f", **MADE),
    "tril": _of("t", k=[-1, 0, 1, 9]),
    "triu": _of("t", k=[-1, 0, 1, -9]),
    "astype": _of("f", lambda a, xp: [xp.float32], copy=[True, False]),
    "broadcast_to": _of("one", shape=[(2, 5, 3, 4)]),
    "clip": _of("f", min=[-0.5, None], max=[0.25, None]),
    "take": _of("f", lambda a, xp: [xp.asarray([3, 0, 3])], **AXIS),
    "take_along_axis": _of("f", lambda a, xp: [xp.argsort(a.f, axis=0)], axis=[0]),
    "tensordot": _of("s", lambda a, xp: [a.s], axes=[0, 1, 2, ((0,), (1,)), ((0, 1), (1, 0))]),
    "vecdot": _of("f", lambda a, xp: [a.g], axis=[-1, -2]),
    "concat": lambda a, xp: ([(a.f, a.g)], {"axis": [0, 1, -1, None]}),
    "expand_dims": _of("f", axis=[0, 1, 2, -1, (0, -1)]),
    "flip": _of("t", axis=[None, 0, -1, (0, 2)]),
    "permute_dims": _of("t", axes=[(2, 0, 1), (0, 1, 2)]),
    "repeat": _of("f", lambda a, xp: [2], axis=[None, 0, -1]),
    "reshape": _of("f", shape=[(4, 5), (-1,)], copy=[True, None]),
    "roll": _of("f", shift=[2, -1], axis=[None, 0, -1]),
    "squeeze": _of("one", axis=[1, (1,), -2]),
    "stack": lambda a, xp: ([(a.f, a.g)], {"axis": [0, 1, 2, -1]}),
    "unstack": _of("t", axis=[0, 1, -1]),
    "argmax": _of("f", axis=[None, 0, -1], keepdims=[True, False]),
    "argmin": _of("f", axis=[None, 0, -1], keepdims=[True, False]),
    "count_nonzero": _of("b", **AXES),
    "searchsorted": _of("sorted", lambda a, xp: [a.f], side=["left", "right"], sorter=["argsort"]),
    "argsort": _of("f", axis=[-1, 0], descending=[True, False], stable=[True, False]),
    "sort": _of("i", axis=[-1, 0], descending=[True, False], stable=[True, False]),
    "cumulative_prod": _of("p", axis=[0, -1], include_initial=[True, False], **KINDS),
    "cumulative_sum": _of("i", axis=[0, -1], include_initial=[True, False], **KINDS),
    "max": _of("f", **AXES),
    "mean": _of("f", **AXES),
    "min": _of("i", **AXES),
    "prod": _of("p", **AXES, **KINDS),
    "std": _of("f", **AXES, correction=[0, 1, 0.5]),
    "sum": _of("i", **AXES, **KINDS),
    "var": _of("c", **AXES, correction=[0, 1, 0.5]),
    "all": _of("b", **AXES),
    "any": _of("b", **AXES),
    "diff": _of("f", axis=[0, -1], n=[0, 1, 2, 3], prepend=["g"], append=["g"]),
    "fft.fft": _of("c", **LINE),
    "fft.ifft": _of("c", **LINE),
    "fft.rfft": _of("f", **LINE),
    "fft.irfft": _of("c", **LINE),
    "fft.hfft": _of("c", **LINE),
    "fft.ihfft": _of("f", **LINE),
    "fft.fftn": _of("c", **BLOCK),
    "fft.ifftn": _of("c", **BLOCK),
    "fft.rfftn": _of("f", **BLOCK),
    "fft.irfftn": _of("c", **BLOCK),
    "fft.fftfreq": lambda a, xp: ([7], {"d": [0.5, 2], "dtype": ["float32", "float64", None]}),
    "fft.rfftfreq": lambda a, xp: ([8], {"d": [0.5, 2], "dtype": ["float32", "float64", None]}),
    "fft.fftshift": _of("t", axes=[None, 0, (0, 2), -1]),
    "fft.ifftshift": _of("t", axes=[None, 0, (0, 2), -1]),
    "linalg.cholesky": _of("s", upper=[True, False]),
    "linalg.cross": _of("w", lambda a, xp: [a.u], axis=[-1, 1]),
    "linalg.diagonal": _of("t", offset=[0, 1, -2]),
    "linalg.matrix_norm": _of(
        "t", keepdims=[True, False], ord=["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")]
    ),
    "linalg.matrix_rank": _of("t", rtol=[None, 1e-9, 0.9]),
    "linalg.pinv": _of("f", rtol=[None, 1e-9]),
    "linalg.svdvals": _of("t"),
    "linalg.tensordot": _of("s", lambda a, xp: [a.s], axes=[0, 1, 2, ((0,), (1,))]),
    "linalg.trace": _of("t", offset=[0, 1, -1], dtype=["float32", "complex128", None]),
    "linalg.vecdot": _of("f", lambda a, xp: [a.g], axis=[-1, -2]),
    "linalg.vector_norm": _of(
        "t", axis=[None, 0, (0, 1), -1], keepdims=[True, False], ord=[1, 2, 3, 0, float("inf"), -float("inf")]
    ),
}
# Without a value that does not depend on the machine, or of which the signs are free.
VALUELESS = ("empty", "empty_like", "linalg.qr", "linalg.svd")
