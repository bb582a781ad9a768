# SPDX-License-Identifier: Apache-2.0
"""tessera.compat.heat on one rank; tests/python/dist has more ranks, beside_heat.py the tests beside Heat."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tessera.compat.heat as ht

import tessera as ts

torch = pytest.importorskip("torch")


def test_beside_heat():
    """In a process of its own: Heat starts MPI, and this one has asked for its ranks already."""
    alone = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMIX_"))}
    heat = subprocess.run([sys.executable, "-c", "import heat"], env=alone, capture_output=True, text=True, timeout=600)
    if heat.returncode != 0:
        pytest.skip(f"Heat is not installed or finds no MPI: {heat.stderr[-200:]}")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", str(Path(__file__).with_name("beside_heat.py"))]
    run = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=1800)
    assert run.returncode == 0 and "passed" in run.stdout, run.stdout[-6000:] + run.stderr[-2000:]


@pytest.mark.parametrize("module", [ht, ht.linalg, ht.random, ht.fft, ht.io, ht.statistics], ids=lambda m: m.__name__)
def test_examples_run(module):
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    report = []
    for name in (None, *module.__all__):
        if name in ("load_hdf5", "save_hdf5") and not ht.supports_hdf5():
            continue  # the library was built without
        item = module if name is None else getattr(module, name)
        assert item.__doc__ and (">>>" in item.__doc__ or not callable(item)), f"{name} has no example"
        for test in finder.find(item, name or module.__name__, globs={"ht": ht, "ts": ts, "np": np}):
            runner.run(test, out=report.append)
    assert not report and runner.tries > 3, "".join(report)


def test_memory_of_a_part_is_shared():
    x = ht.zeros((2, 3), split=0)
    x.larray[0, 0] = 5
    x.touch()
    x.lloc[1, 1] = 6
    assert x.sum().item() == 11 and isinstance(x.larray, torch.Tensor)
    x.larray = torch.ones(2, 3)
    assert x.sum().item() == 6
    with pytest.raises(ValueError, match=r"expected a tensor of shape \(2, 3\)"):
        x.larray = torch.ones(3)
    assert ht.array(torch.ones(2, dtype=torch.float64)).dtype is ht.float64


def test_out_and_where():
    x, out = ht.arange(4, split=0), ht.zeros(4, split=0)
    assert ht.sqrt(x, out) is out and ht.add(x, 1, out=out, where=x > 1) is out
    assert out.tolist() == [0, 1, 3, 4]
    with pytest.raises(ValueError, match="out has shape"):
        ht.add(x, 1, out=ht.zeros(3))
    with pytest.raises(ValueError, match="out is needed"):
        ht.add(x, 1, where=x > 1)


def test_names_that_are_left_out_are_not_there():
    for holder, name in ((ht, "cluster"), (ht.linalg, "hsvd"), (ht.io, "load_zarr"), (ht.comm, "Allreduce")):
        assert not hasattr(holder, name) and getattr(holder, name, 3) == 3, name


def test_hdf5_is_told_as_it_is(tmp_path):
    path = str(tmp_path / "x.h5")
    if ht.supports_hdf5():
        ht.save_hdf5(ht.arange(3), path, "x")
        assert ht.load_hdf5(path, "x").tolist() == [0, 1, 2]
    else:
        with pytest.raises(ts.NotAvailable):
            ht.save_hdf5(ht.arange(3), path, "x")


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.reshape(-1).reshape(x.shape), lambda x: ht.flip(x, 0)])
@pytest.mark.parametrize("split", [None, 0, 1])
def test_what_is_changed_in_place_keeps_its_memory(make, split):
    x = make(ht.array(np.arange(12.0).reshape(3, 4), split=split))
    x += 1
    part, view, wanted = x.larray, x[1:], x.numpy().copy()
    for change in (lambda: x.add_(2), lambda: x.__imul__(3), lambda: view.__isub__(4), lambda: x.cumsum_(1)):
        change()
        assert np.array_equal(x.larray, part) and np.array_equal(view.numpy(), x.numpy()[1:])
    wanted = (wanted + 2) * 3
    wanted[1:] -= 4
    np.testing.assert_allclose(x.numpy(), wanted.cumsum(1), rtol=1e-5)


def test_random_numbers():
    ht.random.seed(7)
    x, n = ht.random.rand(1000, split=0), ht.random.randn(1000, dtype=ht.float64)
    assert 0 <= x.min().item() and x.max().item() < 1 and abs(n.mean().item()) < 0.2 and n.dtype is ht.float64
    k = ht.random.randint(2, 5, (100,), split=0)
    assert k.dtype is ht.int32 and set(k.tolist()) == {2, 3, 4} and isinstance(ht.random.random(), float)
    for five in (ht.arange(5), np.int64(5), 5, [0, 1, 2, 3, 4], np.arange(5), ht.arange(5, split=0)):
        assert sorted(ht.random.permutation(five).tolist()) == [0, 1, 2, 3, 4]
    ht.random.seed()


def test_refusals_are_sentences():
    for module, name in (
        (ht, "cluster"),
        (ht, "float16"),
        (ht, "lanczos"),
        (ht.linalg, "hsvd"),
        (ht.random, "get_state"),
        (ht.io, "load_zarr"),
    ):
        with pytest.raises(NotImplementedError, match=f"{name} is not offered: "):
            getattr(module, name)
    with pytest.raises(NotImplementedError, match="use mpi4py"):
        ht.comm.Allreduce  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute"):
        ht.nonsense  # noqa: B018
    with pytest.raises(TypeError, match="there is no dtype"):
        ht.zeros(2, dtype="float16")
    with pytest.raises(TypeError, match="make one with ht.array"):
        ht.DNDarray([1])
    with pytest.raises(ValueError, match="ends in .npy"):
        ht.load("x.txt")
