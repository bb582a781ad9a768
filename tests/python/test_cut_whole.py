# SPDX-License-Identifier: Apache-2.0
"""An operator that is cut is the operator: whatever it is (cut_cases.py draws it, with every option of its constructor),
its adjoint and its normal, along whatever dim it lets itself be cut, over one to eight devices, on streams of the
caller's or not, with its arrays there or sent each time, by hand, by fit under any budget that it accepts, in a stream,
over ranks. And all under the names of the whole.

`TESSERA_CUT_CASES=5000` draws as many, `TESSERA_CUT_SEED=7` others, `TESSERA_CUT_CASE=123` one alone.
"""

import os
import pickle

import cut_cases
import numpy as np
import pytest

import tessera as ts

SEED = int(os.environ.get("TESSERA_CUT_SEED", "0"))
CASES = int(os.environ.get("TESSERA_CUT_CASES", "160"))
ONLY = os.environ.get("TESSERA_CUT_CASE")
BUNCH = 20


def same(got, whole, double, what):
    got, whole = np.asarray(got.to("cpu")), np.asarray(whole)
    assert got.shape == whole.shape and got.dtype == whole.dtype, (what, got.shape, got.dtype, whole.shape, whole.dtype)
    if whole.size:
        error, scale = np.max(np.abs(got - whole)), max(1.0, np.max(np.abs(whole)))
        assert error <= (1e-9 if double else 2e-4) * scale, f"{what}: error {error} of {scale}\n{got}\n{whole}"


def same_normal(got, whole, double, what):
    """A complex factor and its conjugate make a real one where they meet; between tiles that are summed they do not."""
    real = np.asarray(whole).dtype.kind == "f" and got.dtype.kind == "c"
    same(got.real if real else got, whole, double, f"normal, {what}")
    assert not real or np.max(np.abs(np.asarray(got.imag.to("cpu"))), initial=0) <= 1e-3 * max(1, np.max(np.abs(whole)))


def named_alike(got, whole, what):
    assert got.ishape == whole.ishape and got.oshape == whole.oshape, f"{what}: {got.shape}, the whole is {whole.shape}"


class Law:
    """One operator, and what its cut forms must give."""

    def __init__(self, d, A, x, label):
        self.d, self.A, self.x, self.label = d, A, x, label
        self.whole = A(x)
        self.back, self.again = A.H(self.whole), A.N(x)
        self.cuts = 0

    def check(self, B, what):
        what = f"{self.label}: {what}\n{B.tree()}"
        named_alike(B, self.A, what)
        named_alike(B.H, self.A.H, f"adjoint, {what}")
        named_alike(B.N, self.A.N, f"normal, {what}")
        same(B(self.x), self.whole, self.d.double, what)
        same(B.H(self.whole), self.back, self.d.double, f"adjoint, {what}")
        same_normal(B.N(self.x), self.again, self.d.double, what)
        self.cuts += 1

    def sizes(self):
        """Tiles along one of its dims, or two."""
        names = [n for n in self.A.dims if n != "..." and "(" not in str(n)]
        if not names:
            return None
        return {n: self.d.size(1, 4) for n in self.d.order(names)[: self.d.one(1, 1, 2)]}

    def accepted(self, make, refusals=(ts.SplitError,)):
        try:
            return make()
        except refusals:
            return None

    def streams(self, devices):
        """None, one or two of the caller's: of the base device, and of that of the first tile."""
        given = {"base_stream": ts.Stream("cpu"), "transfer_stream": ts.Stream(devices[0] if devices else "cpu")}
        return {name: stream for name, stream in given.items() if self.d.chance(0.3)}

    def batched(self):
        sizes = self.sizes()
        devices = [f"sim:{i}" for i in range(self.d.size(1, 8))] if self.d.chance(0.8) else None
        spec = ts.BatchSpec(sizes, devices, resident=self.d.chance(), **self.streams(devices))
        B = self.accepted(lambda: ts.create_batched_linop(self.A, spec, shape=self.x.shape))
        if B is not None:
            self.check(B, spec)

    def two_levels(self):
        outer, inner = self.sizes(), self.sizes()
        devices = ["sim:0", "sim:1"]
        specs = [
            ts.BatchSpec(outer, devices, **self.streams(devices)),
            ts.BatchSpec(inner, resident=self.d.chance()),
        ]
        B = self.accepted(lambda: ts.create_batched_linop(self.A, specs, shape=self.x.shape))
        if B is not None:
            self.check(B, specs)

    def streamed(self):
        sizes, resident = self.sizes(), self.d.chance()
        B = self.accepted(lambda: ts.AsyncStreamer(self.A, sizes, "sim:0", resident, self.x.shape))
        if B is not None:
            self.check(B, f"AsyncStreamer {sizes} resident={resident}")

    def by_hand(self):
        """The tiles of split_linop, each applied to its part of the input and added to its part of the output."""
        sizes = self.sizes()
        tiles = self.accepted(lambda: ts.split_linop(self.A, sizes, self.x.shape))
        if tiles is None or "..." in self.A.ishape or "..." in self.A.oshape:
            return
        y = np.zeros(self.whole.shape, np.asarray(self.whole).dtype)
        for op, i, o in zip(*(t.ravel() for t in tiles), strict=True):
            y[o] += np.asarray(op(self.x[i]))
        same(ts.asarray(y), self.whole, self.d.double, f"{self.label}: split_linop {sizes}")
        self.cuts += 1

    def fitted(self):
        bytes_of = 2 * (self.x.nbytes + self.whole.nbytes) + self.A.nbytes + 256
        budget = int(bytes_of * self.d.rng.uniform(0.2, 1.5))
        devices = self.d.one(["sim:0"], ["sim:0", "sim:1", "sim:2"])
        B = self.accepted(lambda: ts.fit(self.A, self.x, budget=dict.fromkeys(devices, budget)), (ts.OutOfMemory,))
        if B is not None:
            self.check(B, f"fit under {budget} on {devices}")

    def over_ranks(self):
        """Of a distributed input, along any of its axes; and tiles whose places name ranks."""
        if not self.x.ndim or not self.x.size:
            return
        axis, ranks = self.d.size(0, self.x.ndim - 1), self.d.size(1, 4)
        x, whole = self.x, self.whole

        def apply(comm):
            mine = ts.dist.array(x, split=axis, comm=comm)
            y = self.A(mine)
            return tuple(np.asarray(part.numpy()) for part in (y, self.A.H(y), self.A.N(mine)))

        what = f"{self.label}: split {axis} over {ranks} ranks"
        for y, back, n in ts.dist.run_ranks(ranks, apply):
            same(ts.asarray(y), whole, self.d.double, what)
            same(ts.asarray(back), self.back, self.d.double, f"adjoint, {what}")
            same_normal(ts.asarray(n), self.again, self.d.double, what)
        self.cuts += 1

    def on_places(self):
        sizes, ranks = self.sizes(), self.d.size(1, 3)
        places = [f"rank{r}/sim:{r}" for r in range(ranks)]
        spec = ts.BatchSpec(sizes, places, "cpu")

        def apply(comm):
            B = ts.create_batched_linop(self.A, spec, shape=self.x.shape, comm=comm)
            named_alike(B, self.A, spec)
            return np.asarray(B(self.x)), np.asarray(B.H(self.whole)), np.asarray(B.N(self.x))

        results = self.accepted(lambda: ts.dist.run_ranks(ranks, apply))
        if results is None:
            return
        for y, back, again in results:
            same(ts.asarray(y), self.whole, self.d.double, f"{self.label}: {spec}")
            same(ts.asarray(back), self.back, self.d.double, f"adjoint, {self.label}: {spec}")
            same_normal(ts.asarray(again), self.again, self.d.double, f"{self.label}: {spec}")
        self.cuts += 1

    def scaled(self):
        """A factor changes neither the names of the normal nor what it is; nor do the rules of rewriting."""
        for c, B in ((2.0, 2.0 * self.A), (-1.0, -self.A), (3.0, self.A * 3.0), (1 - 2j, (1 - 2j) * self.A)):
            what = f"{c} times {self.label}\n{B.N.tree()}"
            named_alike(B.N, self.A.N, what)
            if isinstance(c, float):
                same(B.N(self.x), self.again * c**2, self.d.double, what)
        normal, what = self.A.N, f"not rewritten, {self.label}"
        with ts.config.using(rewrite=False, cache_adjoint_normal=False):
            named_alike(self.A.N, normal, what)
            if "toeplitz" not in self.label:  # an approximation of its own
                same(self.A.N(self.x).astype(self.again.dtype), self.again, self.d.double, what)

    def all(self):
        self.scaled()
        if self.sizes() is None:
            return self.over_ranks()
        for _ in range(3):
            self.batched()
        for form in self.d.order([self.two_levels, self.streamed, self.by_hand, self.fitted, self.over_ranks])[:2]:
            form()
        if self.d.chance(0.2):
            self.on_places()
        return None


def run_case(number):
    A, shape, d = cut_cases.drawn([SEED, number])
    real = any(part.kind == "FFT" and "real" in part.tree() for part in parts_of(A))
    x = ts.asarray(d.array(shape, d.dtype(real=real)))
    cuts = 0
    label = f"case {number} (TESSERA_CUT_CASE={number} TESSERA_CUT_SEED={SEED})"
    for form in ("", ".H", ".N"):
        op, given = {"": (A, x), ".H": (A.H, A(x)), ".N": (A.N, x)}[form]
        law = Law(d, op, given, f"{label}{form}\n{op.tree()}\n on {given.shape} {given.dtype}")
        law.all()
        cuts += law.cuts
    return cuts


def parts_of(A):
    yield A
    for part in A.linops:
        yield from parts_of(part)


@pytest.mark.parametrize("bunch", range(0, CASES, BUNCH))
def test_cut_is_whole(bunch):
    numbers = [int(ONLY)] if ONLY else range(bunch, min(bunch + BUNCH, CASES))
    assert sum(run_case(n) for n in numbers) > 0 or ONLY


def test_every_operator_is_drawn():
    """What has no function in cut_cases is put together of others, or is the cut itself."""
    others = {"NamedLinop", "Chain", "Add", "Concat", "Stack", "BlockDiag", "ToDevice", "AsyncStreamer", "Fitted"}
    classes = [c for c in vars(ts).values() if isinstance(c, type) and issubclass(c, ts.NamedLinop)]
    public = {c.__name__ for c in classes}
    assert public - others == set(cut_cases.DRAWERS) - {"Written"}  # by classes of a user


# --- what the law found, each by its shortest program


def test_positions_cut_along_an_inner_dim_are_packed_when_fetched():
    A = ts.Sampling((np.array([[0, 1], [2, 3], [1, 1]]),), (4,), ("R", "S"), ("D",), ())
    B = ts.create_batched_linop(A, ts.BatchSpec({"S": 1}, ["sim:0"], resident=False))
    assert B([10.0, 20, 30, 40]).tolist() == [[10, 20], [30, 40], [20, 20]]
    assert B.H([[1.0, 2], [3, 4], [5, 6]]).tolist() == A.H([[1.0, 2], [3, 4], [5, 6]]).tolist()


def test_fit_of_positions_under_small_budgets():
    rng = np.random.default_rng(3)
    A = ts.Sampling((rng.integers(0, 50, (4, 4000)),), (50,), ("R", "S"), ("D",), ())
    x = rng.standard_normal(50)
    fitted = ts.fit(A, x, budget={"sim:0": 60_000})
    assert "S" in fitted.specs[0].batch_sizes and np.array_equal(fitted(x), A(x))


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
def test_normal_of_lines_has_the_factor_of_the_whole(norm):
    F = ts.FFT(2, (), (("X", "Y"), ("K", "L")), norm)
    N = (ts.Diagonal([[1.0], [2.0]], ("K", "L")) @ F).N
    x = np.random.default_rng(4).standard_normal((2, 90))
    whole = np.asarray(N(x))
    cut = {"Y": 31}
    for B in (
        ts.create_batched_linop(N, ts.BatchSpec(cut, ["sim:0"]), shape=x.shape),
        ts.AsyncStreamer(N, cut, "sim:0", shape=x.shape),
        ts.fit(N, ts.asarray(x), budget={"sim:0": 4000}),
    ):
        assert np.allclose(np.asarray(B(x)), whole)
    parts = ts.dist.run_ranks(3, lambda comm: N(ts.dist.array(x, split=1, comm=comm)).numpy())
    assert all(np.allclose(p, whole) for p in parts)
    if norm == "ortho":
        assert np.allclose(np.asarray(N.split({"Y": slice(0, 1)})(x[:, :1])), whole[:, :1])
    else:
        with pytest.raises(ts.SplitError, match="'Y'.*not known"):
            N.split({"Y": slice(0, 1)})
    known = (ts.Diagonal([[1.0], [2.0]], ("K", "L")) @ F @ ts.Diagonal(np.ones((2, 90)), ("X", "Y"))).N
    assert np.allclose(np.asarray(known.split({"Y": slice(0, 1)})(x[:, :1])), whole[:, :1])


def test_normals_of_scaled_operators_have_the_same_names():
    S = ts.Sampling(([0, 2, 2],), (4,), ("P",), ("X",), ())
    for A in (S, 2 * S, -S, S * 3, (1 - 2j) * S):
        assert A.N.ishape == A.N.oshape == ("X",)
    y = ((2 * S).N + 0.1 * ts.Identity(("X",)))([1.0, 1, 1, 1])
    assert np.allclose(np.asarray(y), [4.1, 0.1, 8.1, 0.1])


def test_sizes_pass_through_operators_that_keep_them():
    D = ts.Diagonal(np.arange(1.0, 5), ("X",))
    F = ts.FFT(1, (), (("X",), ("K",)))
    assert (F @ D).size("K") == 4 and (D @ F.H).size("K") == 4
    assert (ts.Flip(("K",), ("K",)) @ F @ D).size("K1") == 4
    assert (ts.Zero(("X",), ("P",), {"P": 2}) @ D).H([1.0, 2.0]).tolist() == [0, 0, 0, 0]
    A = ts.Concat(F @ D, F @ D, idim="X", odim="K")
    x = np.arange(8.0)
    assert np.allclose(np.asarray(A(x)), np.concatenate([np.asarray((F @ D)(x[:4])), np.asarray((F @ D)(x[4:]))]))


def test_block_diagonals_of_parts_that_learn_their_sizes_from_the_input():
    F = ts.FFT(1, (), (("X",), ("Y",)))
    for parts in ([F, 2 * F], [ts.SimpleLinop(lambda x: 2 * x, lambda y: 2 * y, ishape=("X",), oshape=("Y",))] * 2):
        A = ts.Stack(*parts, idim_and_idx=("I", 0), odim_and_idx=("O", 0))
        x = np.arange(10.0).reshape(2, 5).astype(complex)
        for sizes in ({"I": 1}, {"O": 1}, {"I": 1, "O": 1}):
            B = ts.create_batched_linop(A, ts.BatchSpec(sizes, ["sim:0", "sim:1"]), shape=x.shape)
            assert np.allclose(np.asarray(B(x)), np.asarray(A(x)))
            assert np.allclose(np.asarray(B.N(x)), np.asarray(A.N(x)))
    A = ts.Stack(*[F, 2 * F] * 3, idim_and_idx=("I", 0), odim_and_idx=("O", 0))
    x = np.arange(300.0).reshape(6, 50).astype(complex)
    fitted = ts.fit(A, ts.asarray(x), budget={"sim:0": 12_000})
    assert fitted.specs and np.allclose(np.asarray(fitted(x)), np.asarray(A(x)))


def test_tiles_of_zeros_on_devices_leave_the_names_of_normals():
    M = ts.Matrix(ts.matrix.Diagonal(np.arange(1.0, 4)), ("...", "X"), ("...", "Y"))
    A = ts.Concat(2 * M, M, idim="X", odim="Y")
    x = np.arange(12.0).reshape(2, 6)
    for devices in (None, ["sim:0"], ["sim:0", "sim:1"]):
        B = ts.create_batched_linop(A, ts.BatchSpec({"X": 3, "Y": 3}, devices), shape=x.shape)
        assert B.N.shape == A.N.shape and np.allclose(np.asarray(B.N(x)), np.asarray(A.N(x)))


def test_kronecker_with_a_vector_has_a_normal():
    v, m = np.arange(1.0, 4), complex_noise(2, 4)
    A = ts.Kronecker(ts.Dense(v, ("P",), (), ("P",)), ts.Dense(m, ("M", "N"), ("N",), ("M",)))
    x = complex_noise(4)
    whole = (v @ v) * (m.conj().T @ (m @ x))
    assert np.allclose(np.asarray(A.N(x)), whole) and np.allclose(np.asarray((2 * A).N(x)), 4 * whole)
    for dim in ("P", "M", "N"):
        B = ts.create_batched_linop(A, ts.BatchSpec({dim: 1}, ["sim:0", "sim:1"]))
        assert np.allclose(np.asarray(B.N(x)), whole) and B.N.shape == A.N.shape
    one = ts.Kronecker(ts.Dense(v, ("P",), (), ("P",)))
    assert np.allclose(np.asarray(one.N(2.0)), 2 * v @ v)


def toeplitz_nufft(batch=()):
    """Of a coarse kernel: its normal as a convolution and one after the other differ by a part in a hundred."""
    locs = np.random.default_rng(7).uniform(-0.5, 0.5, (3, 5, 2)) * (5, 6)
    return ts.NUFFT(locs, (5, 6), ("R", "K"), ("X", "Y"), batch_shape=batch, oversamp=1.25, width=4, toeplitz=True)


def complex_noise(*shape):
    rng = np.random.default_rng(8)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def toeplitz_side_by_side():
    A = toeplitz_nufft()
    W = ts.Diagonal(complex_noise(3, 5), ("R", "K"))
    S = ts.Sampling((np.arange(15).reshape(3, 5) % 5, np.arange(15).reshape(3, 5) % 6), (5, 6), ("R", "K"), "XY", ())
    return {
        "rows": (ts.Concat(A, W @ A, odim="K"), (5, 6)),
        "blocks": (ts.Concat(A, W @ A, idim="X", odim="K"), (10, 6)),
        "one column": (ts.Concat(A, idim="X"), (5, 6)),
        "stacked rows": (ts.Stack(A, W @ A, odim_and_idx=("O", 0)), (5, 6)),
        "stacked blocks": (ts.Stack(A, W @ A, A, idim_and_idx=("I", 0), odim_and_idx=("O", 0)), (3, 5, 6)),
        "one stacked column": (ts.Stack(A, idim_and_idx=("I", 0)), (1, 5, 6)),
        "rows beside a weight": (ts.Concat(A, S, odim="K"), (5, 6)),
        "blocks beside a weight": (ts.Concat(A, S, idim="X", odim="K"), (10, 6)),
        "stacked beside a weight": (ts.Stack(A, S, odim_and_idx=("O", 0)), (5, 6)),
    }


@pytest.mark.parametrize("name", list(toeplitz_side_by_side()))
def test_normals_side_by_side_are_convolutions(name):
    """Of all parts that give rows of their own, also where a tile has inputs that none of its parts takes."""
    A, shape = toeplitz_side_by_side()[name]
    x = complex_noise(*shape)
    whole = np.asarray(A.N(x))
    assert "NUFFT" not in A.N.tree()
    assert 1e-4 < np.max(np.abs(whole - np.asarray(A.H(A(x))))) / np.max(np.abs(whole)) < 0.05
    for dim in ("K", "R", "O"):
        for size in (1, 2, 4) if dim in A.oshape else ():
            tiles = [A.split({dim: slice(i, min(i + size, A.size(dim)))}) for i in range(0, A.size(dim), size)]
            assert np.allclose(sum(np.asarray(t.N(x)) for t in tiles), whole, atol=1e-12)


def toeplitz_chains():
    """With weights, maps before and mixing after: dims that are cut within the chain, or summed."""
    A, coils = toeplitz_nufft(), toeplitz_nufft(("C",))
    maps = ts.Dense(complex_noise(4, 5, 6), ("C", "X", "Y"), ("X", "Y"), ("C", "X", "Y"))
    squeeze = ts.Dense(complex_noise(2, 4), ("V", "C"), ("C", "R", "K"), ("V", "R", "K"))
    return {
        "points": (A, (5, 6)),
        "weights": (ts.Diagonal(complex_noise(3, 5), ("R", "K")) @ A, (5, 6)),
        "maps": (coils @ maps, (5, 6)),
        "weighted maps": (ts.Diagonal(complex_noise(4, 3, 5), ("C", "R", "K")) @ coils @ maps, (5, 6)),
        "basis": (coils @ ts.Dense(complex_noise(3, 4), ("P", "C"), ("P", "X", "Y"), ("C", "X", "Y")), (3, 5, 6)),
        "summed": (A @ maps.H, (4, 5, 6)),
        "squeezed": (squeeze @ coils, (4, 5, 6)),
        "squeezed maps": (squeeze @ coils @ maps, (5, 6)),
        "sum": (A + 2 * A, (5, 6)),
    }


def cuts_of(A, x):
    """The operator in tiles of one and two along each of its dims that lets itself be cut."""
    for dim in A.dims:
        for size in (1, 2):
            for devices in (None, ["sim:0"], ["sim:0", "sim:1", "sim:2"]):
                try:
                    yield ts.create_batched_linop(A, ts.BatchSpec({dim: size}, devices), shape=x.shape)
                except ts.SplitError:
                    break


@pytest.mark.parametrize("name", list(toeplitz_chains() | toeplitz_side_by_side()))
def test_a_toeplitz_normal_is_the_same_however_it_is_cut(name):
    A, shape = (toeplitz_chains() | toeplitz_side_by_side())[name]
    x = complex_noise(*shape)
    whole = np.asarray(A.N(x))
    for c, scaled in ((2, 2 * A), (1, -A), (3, A * 3.0)):
        assert np.allclose(np.asarray(scaled.N(x)), c**2 * whole, atol=1e-11), scaled.N.tree()
    cuts = list(cuts_of(A, x))
    assert len(cuts) >= 12
    for B in cuts:
        assert np.allclose(np.asarray(B.N(x)), whole, atol=1e-12), B.tree()
    for B in cuts[::5]:
        assert np.allclose(np.asarray((2 * B).N(x)), 4 * whole, atol=1e-12)
        assert np.allclose(np.asarray(B.H.H.N(x)), whole, atol=1e-12)
        W = ts.Diagonal(np.arange(1.0, 1 + A.size("K")), A.oshape)
        assert np.allclose(np.asarray((W @ B).N(x)), np.asarray((W @ A).N(x)), atol=1e-11)
        assert np.allclose(np.asarray(B.rename({"X": "Z"}).N(x)), whole, atol=1e-12)
        assert np.allclose(np.asarray(pickle.loads(pickle.dumps(B)).N(x)), whole, atol=1e-12)
    moved = cuts[0].to("sim:3").N
    assert np.allclose(np.asarray(moved(ts.asarray(x).to("sim:3")).to("cpu")), whole, atol=1e-12)
    for B in (ts.AsyncStreamer(A, {"K": 2}, "sim:0", False), ts.fit(A, ts.asarray(x), budget={"sim:0": 40_000})):
        assert np.allclose(np.asarray(B.N(x)), whole, atol=1e-12)


@pytest.mark.parametrize("name", ["weighted maps", "basis", "squeezed maps"])
def test_a_toeplitz_normal_is_the_same_over_ranks(name):
    A, shape = toeplitz_chains()[name]
    x = complex_noise(*shape)
    whole = np.asarray(A.N(x))
    for dims in ({"K": 2}, {"C": 1}, {"C": 2, "K": 2}, {A.ishape[0] if name == "basis" else "R": 1}):
        spec = ts.BatchSpec(dims, ["rank0/sim:0", "rank1/sim:1", "rank2/cpu"], "cpu")

        def apply(comm, spec=spec):
            B = ts.create_batched_linop(A, spec, comm=comm)
            return np.asarray(B.N(x)), np.asarray((2 * B.rename({"X": "Z"})).N(x)) / 4

        for got in ts.dist.run_ranks(3, apply):
            assert all(np.allclose(g, whole, atol=1e-12) for g in got)


def test_tiles_of_points_have_one_convolution():
    """What no longer depends on the points is not computed for each tile of them, nor cut along them."""
    A, shape = toeplitz_chains()["weighted maps"]
    B = ts.create_batched_linop(A, ts.BatchSpec({"C": 2, "K": 1}, [["sim:0"] * 5, ["sim:1"] * 5]))
    assert "NUFFT" not in B.N.tree() and B.N.tree().count("norm=ortho adjoint") == 2
    assert all(f"@ sim:{i}" in B.N.tree() for i in (0, 1))
