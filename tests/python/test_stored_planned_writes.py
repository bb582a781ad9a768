# SPDX-License-Identifier: Apache-2.0
"""Within a plan nothing is read or written, whatever writes; and what a plan made has no numbers afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from support import drawn, host_memory

import tessera as ts

MIB = 1 << 20


@pytest.fixture(autouse=True)
def folder(tmp_path):
    ts.set_backing_dir(str(tmp_path))
    yield tmp_path
    ts.set_backing_dir(None)


def in_place(x, op):
    """The call of an operator in place on the name that is given it."""
    scope = {"x": x}
    exec(f"x[2:9] {op} 3", scope)


# Each writes into x, of (400, 300) numbers; y has its shape, r that of a row.
WRITES = {
    "number": lambda x, y, r: x.__setitem__(0, 5.0),
    "everything": lambda x, y, r: x.__setitem__(..., 5.0),
    "steps": lambda x, y, r: x.__setitem__((slice(None, None, 3), slice(1, 20, 2)), 5.0),
    "an array": lambda x, y, r: x.__setitem__(slice(3, 5), np.ones((2, 300))),
    "one on disk": lambda x, y, r: x.__setitem__(..., y),
    "a formula": lambda x, y, r: x.__setitem__(slice(0, 7), (y + 1)[0:7]),
    "itself": lambda x, y, r: x.__setitem__(..., x * 2),
    "in place": lambda x, y, r: in_place(x, "+="),
    "clip, out": lambda x, y, r: ts.clip(y, 0.1, 0.2, out=x),
    "round, out": lambda x, y, r: ts.round(y, 1, out=x),
    "operator, out": lambda x, y, r: ts.Diagonal(r.numpy(), ("A", "B"))(y, out=x),
}
OUTS = {
    "sum": lambda y, out: y.sum(axis=0, out=out),
    "mean": lambda y, out: ts.mean(y, axis=0, out=out),
    "max": lambda y, out: y.max(axis=0, out=out),
    "std": lambda y, out: y.std(axis=0, out=out),
}


def operands():
    return [ts.stored.array(drawn(s, "float64", k)) for k, s in enumerate([(400, 300), (400, 300), (300,)])]


@pytest.mark.parametrize("budget", [MIB, 64 * MIB])
@pytest.mark.parametrize("name", WRITES)
def test_no_write_within_a_plan(name, budget, folder):
    x, y, r = operands()
    before = x.numpy()
    with host_memory(budget):
        files, moved = sorted(folder.iterdir()), ts._tessera._stored_traffic()
        plan = ts.stored.plan(WRITES[name], x, y, r)
        assert ts._tessera._stored_traffic() == moved
        assert f"writes {plan.disk_written} bytes" in ts.stored.explain(WRITES[name], x, y, r).splitlines()[-3]
        assert sorted(folder.iterdir()) == files
        np.testing.assert_array_equal(x.numpy(), before)
        moved = ts._tessera._stored_traffic()
        WRITES[name](x, y, r)
        written = ts._tessera._stored_traffic()[1] - moved[1]
    assert not np.array_equal(x.numpy(), before)
    assert 0 < plan.disk_written <= written  # whole pages are


@pytest.mark.parametrize("kind", ["disk", "memory", "numpy"])
@pytest.mark.parametrize("name", OUTS)
def test_no_result_goes_to_out_within_a_plan(name, kind):
    y = ts.stored.array(drawn((40, 30), "float64", 1))
    out = {"disk": ts.stored.ones, "memory": ts.ones, "numpy": np.ones}[kind](30)
    plan = ts.stored.plan(OUTS[name], y, out)
    assert np.asarray(out).tolist() == [1.0] * 30
    assert plan.disk_written == (240 if kind == "disk" else 0)
    OUTS[name](y, out)
    np.testing.assert_allclose(np.asarray(out), getattr(np, name)(y.numpy(), axis=0))


def test_what_keys_read_is_counted_and_not_read():
    x = ts.stored.array(drawn((40, 30), "float64", 1))
    u = ts.stored.matrix(ts.matrix.Triangular(np.triu(np.ones((50, 50)))))
    seen = []
    for call, least in [
        (lambda: seen.append(np.array(x[3:5])), 480),
        (lambda: seen.append(np.array((x * 2 + x)[:, 1:3])), 640),
        (lambda: seen.append(x.numpy().copy()), 9600),
        (lambda: seen.append(np.array(u[3:5])), 0),
        (lambda: seen.append(u.numpy().copy()), 20000),
    ]:
        moved = ts._tessera._stored_traffic()
        plan = ts.stored.plan(call)
        assert ts._tessera._stored_traffic() == moved
        assert least <= plan.disk_read and plan.passes == 1
    assert all(not s.any() for s in seen)


def test_writes_are_refused_as_the_call_refuses_them(tmp_path):
    ts.stored.array(np.ones(4), tmp_path / "x.tiles")
    x = ts.stored.open(tmp_path / "x.tiles")
    for call in (lambda: x.__setitem__(0, 2), lambda: (x + 1).__setitem__(0, 2)):
        with pytest.raises(ts.Error) as planned:
            ts.stored.plan(call)
        with pytest.raises(ts.Error) as made:
            call()
        assert type(planned.value) is type(made.value)


def test_other_files_are_not_written_within_a_plan(tmp_path):
    x = ts.stored.ones((3, 4))
    for ending in ("npy", "npz", "tessera", "zarr", "h5"):
        path = tmp_path / f"x.{ending}"
        with pytest.raises(ts.ArgumentError, match=r"within a plan nothing is written to .*x\.save"):
            ts.stored.plan(ts.save, path, x)
        assert not path.exists()
    plan = ts.stored.plan(ts.stored.create, (3, 4), path=tmp_path / "new.tiles")
    assert plan.disk_peak > 0 and not (tmp_path / "new.tiles").exists()


@pytest.mark.parametrize("begun", [0, 2])
@pytest.mark.parametrize("kind", ["all in memory", "memory", "disk", "path"])
@pytest.mark.parametrize("solver", ["cg", "minres", "lsqr", "lsmr"])
def test_checkpoints_are_left_alone_within_a_plan(solver, kind, begun, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    w, b = np.linspace(1, 9, 50), np.linspace(-1, 1, 50)
    A = ts.Diagonal(w if kind == "all in memory" else ts.stored.array(w, tmp_path / "w.tiles"), ("X",))
    if kind in ("disk", "path"):
        b = ts.stored.array(b, tmp_path / "b.tiles" if kind == "path" else None)

    def go(n, **options):
        return getattr(ts.solve, solver)(A, b, maxiter=n, rtol=1e-14, **options)

    whole, saved = go(5), folder / "c.npz"
    if begun:
        go(begun, checkpoint=saved)
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}
    assert bool(before) == bool(begun)
    for checkpoint in (saved, ts.solve.Checkpoint(saved, every=1)):
        plan = ts.stored.plan(go, 5, checkpoint=checkpoint)
        assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()} == before
        assert plan.disk_written == ts.stored.plan(go, 5).disk_written
    again = go(5, checkpoint=saved)
    assert again.history == whole.history
    np.testing.assert_array_equal(np.asarray(again.x), np.asarray(whole.x))


def test_what_is_there_already_is_refused_within_a_plan(tmp_path):
    """As the call refuses it; a job that was not finished is planned, as it may be gone on with."""
    x, path = ts.stored.array(np.eye(6) * 4), tmp_path / "there.tiles"
    u = ts.stored.matrix(ts.matrix.Triangular(np.triu(np.ones((6, 6)))))
    calls = {
        "create": lambda: ts.stored.create((6, 6), path=path),
        "array": lambda: ts.stored.array(np.ones(3), path),
        "save": lambda: x.save(path),
        "formula": lambda: (x + 1).save(path),
        "transpose": lambda: x.transpose(path=path),
        "matmul": lambda: ts.stored.matmul(x, x, path),
        "cholesky": lambda: ts.stored.cholesky(x, path=path),
        "sort": lambda: ts.stored.sort(x, path=path),
        "fft": lambda: ts.stored.fft(x, path=path),
        "matrix": lambda: u.save(path),
        "product": lambda: ts.stored.matmul(u, u, path),
    }
    for name, call in calls.items():
        ts.stored.plan(call)
        path.write_bytes(b"somebody's")
        for refused in (call, lambda call=call: ts.stored.plan(call)):
            with pytest.raises(ts.IoError, match=r"there\.tiles.*File exists"):
                refused()
        assert path.read_bytes() == b"somebody's", name
        path.unlink()
    (tmp_path / "there.tiles.partial").write_bytes(b"of a job")
    (tmp_path / "there.tiles.job").write_bytes(b"of a job")
    ts.stored.plan(calls["save"])
    path.symlink_to(tmp_path / "nothing")
    for refused in (calls["create"], lambda: ts.stored.plan(calls["create"])):
        with pytest.raises(ts.IoError, match=r"there\.tiles.*File exists"):
            refused()


# Each makes an array on disk of a square x.
MAKERS = {
    "transposed": lambda x: x.T,
    "copied": lambda x: x.copy(),
    "product": lambda x: x @ x,
    "sorted": ts.sort,
    "factor": lambda x: ts.linalg.cholesky(x),
    "transformed": lambda x: ts.fft.fft(x),
    "created": lambda x: ts.stored.create(x.shape),
    "zeros": lambda x: ts.stored.zeros(x.shape),
    "saved": lambda x: x.save("never.tiles"),
    "formula of such": lambda x: x.T * 2,
}
READERS = {
    "a key": lambda r: r[0],
    "everything": lambda r: r.numpy(),
    "a number": lambda r: r.sum().item(),
    "an element": lambda r: r[0, 0].item(),
    "a formula": lambda r: (r * 2)[1, 1].item(),
    "a pass": lambda r: (r * 2).compute(),
    "a product": lambda r: r @ r,
    "a file": lambda r: r.save("never.tiles"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("maker", MAKERS)
def test_results_of_plans_are_refused(maker, reader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, kept = ts.stored.array(np.eye(6) * 4), []
    ts.stored.plan(lambda: kept.append(MAKERS[maker](x)))
    assert repr(kept[0]).startswith("StoredArray(shape=(6, 6)")
    with pytest.raises(
        ts.ArgumentError, match=r"array of shape \(6, 6\) is the result of a plan.*make the call itself"
    ):
        READERS[reader](kept[0])
    assert not list(tmp_path.glob("never*"))
    with pytest.raises(ts.ArgumentError, match=r"result of a plan|is a formula"):
        kept[0][0] = 1
    np.testing.assert_array_equal(x.numpy(), np.eye(6) * 4)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("maker", MAKERS)
def test_results_of_plans_are_refused_within_another_one(maker, reader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, kept = ts.stored.array(np.eye(6) * 4), []
    ts.stored.plan(lambda: READERS[reader](MAKERS[maker](x)))  # within the plan that made it
    ts.stored.plan(lambda: kept.append(MAKERS[maker](x)))
    with pytest.raises(ts.ArgumentError, match=r"array of shape \(6, 6\) is the result of a plan"):
        ts.stored.plan(READERS[reader], kept[0])
    for write in (lambda: x.__setitem__(..., kept[0]), lambda: kept[0].__setitem__(0, 1)):
        with pytest.raises(ts.ArgumentError, match=r"result of a plan|is a formula"):
            ts.stored.plan(write)
    assert ts.stored.plan(lambda: x.T).passes == 1  # those after it are as ever


def test_long_lines_of_plans_are_refused_within_another_one():
    x, kept = ts.stored.array(np.ones(1 << 18, "complex128")), []  # seen as a square by its transform
    with host_memory(MIB):
        ts.stored.plan(lambda: kept.append(x.copy()))
        ts.stored.plan(ts.fft.fft, x)
        with pytest.raises(ts.ArgumentError, match="result of a plan"):
            ts.stored.plan(ts.fft.fft, kept[0])


def test_matrices_of_plans_are_refused():
    u, kept = ts.stored.matrix(ts.matrix.Triangular(np.triu(np.ones((6, 6))))), []
    ts.stored.plan(lambda: kept.append(u @ u))
    for read in (lambda m: m[0], lambda m: m.sum(), lambda m: m.numpy(), lambda m: m @ np.ones(6)):
        with pytest.raises(ts.ArgumentError, match="result of a plan"):
            read(kept[0])
        with pytest.raises(ts.ArgumentError, match="result of a plan"):
            ts.stored.plan(read, kept[0])


def test_a_store_of_one_plan_counts_in_that_plan_alone():
    x, kept = ts.stored.ones((100, 100)), []
    alone = ts.stored.plan(lambda: (x.T, x.T)).disk_peak
    ts.stored.plan(lambda: kept.append(x.T))
    again = ts.stored.plan(lambda: (kept.clear(), x.T, x.T)).disk_peak  # the first one's goes here
    assert again == alone > 80000
    ts.stored.plan(lambda: kept.append(x.T))
    kept.clear()  # within none
    assert ts.stored.plan(lambda: (x.T, x.T)).disk_peak == alone


READS = {
    "a key": lambda x: x[3:5],
    "all": lambda x: x[...],
    "a sum": lambda x: ts.sum(x),
    "sums": lambda x: x.sum(axis=1),
    "the largest": lambda x: ts.max(x, axis=0),
    "a product with a vector": lambda x: x @ ts.stored.ones(x.shape[1], str(x.dtype)),
    "a view": lambda x: x[3:5][0, ::2],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("which", READS)
def test_numbers_of_a_plan_are_not_taken_for_results(which, dtype):
    """While it is made they are zeros, which a function may look at; kept, they are none."""
    if dtype == "bool" and which not in ("a key", "all", "a view"):
        return
    x, seen, kept = ts.stored.ones((40, 30), dtype), [], []

    def call():
        kept.append(READS[which](x))
        seen.append(np.array(kept[0][...]))

    ts.stored.plan(call)
    assert isinstance(kept[0], ts.Array) and not seen[0].any()
    after = kept[0].numpy()
    if dtype.startswith(("float", "complex")):
        assert np.isnan(after).all()
    elif dtype != "bool":
        assert (after == (np.iinfo(after.dtype).max if after.dtype.kind == "u" else -1)).all()
    assert (np.asarray(READS[which](x)) != after).all() or dtype == "bool"  # a plan leaves nothing behind
