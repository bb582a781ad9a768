# SPDX-License-Identifier: Apache-2.0
"""Other people's suites, run on our arrays: NumPy's own tests of indexing, which come with NumPy, and the array API's
conformance suite from the checkout that ``TESSERA_ARRAY_API_TESTS`` names (with its submodule, and ``ndindex`` and
``pytest-json-report`` installed).

What does not pass stands in ``suites/*.txt`` with a reason. These lists can only become shorter: a test of them that
passes, and one that is not there any more, is an error. ``TESSERA_EXAMPLES`` draws more examples of each test.
"""

import functools
import os
import pathlib
import re
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest

import tessera as ts

LISTS = pathlib.Path(__file__).parent / "suites"
OURS = ["arange", "asarray", "broadcast_to", "empty", "full", "ones", "zeros", "zeros_like"]
OURS += ["any", "may_share_memory", "nonzero", "prod", "reshape", "take"]


def exceptions(name):
    """Tests that do not pass, and why: lines 'test  # reason'."""
    lines = [line for line in (LISTS / f"{name}.txt").read_text().splitlines() if line and not line.startswith("#")]
    return dict(re.split(r"\s+#\s+", line, maxsplit=1) for line in lines)


def plain(x):
    """As NumPy's assertions compare it: our arrays as NumPy's, also within lists."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x)) if type(x) in (list, tuple) else x
    return x.numpy() if isinstance(x, ts.Array) else x


class Numpy:
    """NumPy with our arrays in place of its own, where they have such elements."""

    ndarray = ts.Array

    def __getattr__(self, name):
        return getattr(ts if name in OURS else np, name)

    @staticmethod
    def array(x, dtype=None, **more):
        swapped = dtype is not None and not np.dtype(dtype).isnative
        return np.array(x, dtype, **more) if swapped else ts.array(x, dtype, **more)

    @staticmethod
    def copy(x):
        return ts.array(x)


def load(path):
    """A module made of NumPy's tests. Our arrays have no ``flat``, which is no key; one test counts with it."""
    module = types.ModuleType("numpys_tests_of_indexing")
    source = path.read_text().replace("arr.flat[indexed_arr.ravel()]", "arr.reshape(-1)[indexed_arr.ravel()]")
    exec(compile(source, str(path), "exec"), vars(module))
    module.HAS_REFCOUNT = False  # our views hold memory, not arrays
    return module


def numpys_tests():
    """The classes of NumPy's tests of indexing, made anew over our arrays; empty where NumPy came without its tests."""
    path = pathlib.Path(np.__file__).parent / "_core" / "tests" / "test_indexing.py"
    if not path.exists():
        return {}
    module, reference = load(path), load(path)
    module.np = Numpy()
    automated = reference.TestMultiIndexingAutomated()
    module.TestMultiIndexingAutomated._get_multi_index = lambda self, array, key: automated._get_multi_index(
        plain(array), plain(key)
    )
    for name in ("assert_", "assert_array_equal", "assert_equal"):
        compare = getattr(module, name)
        setattr(module, name, functools.partial(lambda f, *args, **kw: f(*map(plain, args), **kw), compare))
    classes = {name: item for name, item in vars(module).items() if name.startswith("Test")}
    there = {f"{name}::{test}" for name, made in classes.items() for test in dir(made)}
    gone = {test.split("[")[0] for test, why in KNOWN.items() if "newer NumPy" not in why} - there
    assert not gone, f"suites/numpy_indexing.txt names tests that are not there: {sorted(gone)}"
    return classes


KNOWN = exceptions("numpy_indexing")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    globals().update(numpys_tests())


@pytest.fixture(autouse=True)
def known_exceptions(request):
    why = KNOWN.get(request.node.nodeid.split("::", 1)[1])
    if why is not None:
        request.applymarker(pytest.mark.xfail(reason=why, strict=True))


def test_numpys_tests_are_there():
    found = [name for name in globals() if name.startswith("Test")]
    if not found:
        pytest.skip("NumPy was installed without its tests")
    assert len(found) > 10


@pytest.mark.skipif("TESSERA_ARRAY_API_TESTS" not in os.environ, reason="TESSERA_ARRAY_API_TESTS names no checkout")
def test_the_conformance_suite(tmp_path):
    """One process runs the suite; known exceptions are strict, so that one which passes fails the run."""
    checkout = os.environ["TESSERA_ARRAY_API_TESTS"]
    known = exceptions("array_api")
    (tmp_path / "xfails.txt").write_text("\n".join(known))
    examples = os.environ.get("TESSERA_EXAMPLES", "20")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "xfail_strict=True", "-rfE"]
    command += ["--xfails-file", str(tmp_path / "xfails.txt"), "--max-examples", examples, "--disable-deadline"]
    command += ["--derandomize", "--tb=no", "array_api_tests"]
    package = pathlib.Path(ts.__path__[0]).parent
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "ARRAY_API_TESTS_MODULE": "tessera", "PYTHONPATH": path}
    ran = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-3000:]
    missing = [line for line in ran.stdout.splitlines() if "not matched" in line or "was not found" in line]
    assert not missing, missing
