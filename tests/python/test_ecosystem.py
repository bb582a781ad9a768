# SPDX-License-Identifier: Apache-2.0
"""Our arrays and operators in packages that know nothing of us: scikit-learn by the array API, xarray by names, joblib by
pickles."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tessera as ts

LEARNING = """
import numpy as np, tessera as ts, sklearn
from sklearn import metrics, preprocessing
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
rng = np.random.default_rng(1)
X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
y, labels = X @ rng.normal(size=5), (X[:, 0] > 0).astype("int64")
CALLS = [
    lambda of: preprocessing.MinMaxScaler().fit_transform(of(X)),
    lambda of: preprocessing.MaxAbsScaler().fit_transform(of(X)),
    lambda of: preprocessing.normalize(of(X)),
    lambda of: metrics.r2_score(of(y), of(y + 0.1), multioutput="raw_values"),
    lambda of: metrics.mean_squared_error(of(y), of(y + 0.1), multioutput="raw_values"),
    lambda of: metrics.accuracy_score(of(labels), of(labels)),
    lambda of: metrics.pairwise.euclidean_distances(of(X[:7])),
    lambda of: metrics.pairwise.cosine_similarity(of(X[:7])),
    lambda of: Ridge(solver="svd").fit(of(X), of(y)).coef_,
    lambda of: abs(PCA(3, svd_solver="full").fit(of(X)).components_),
    lambda of: LinearDiscriminantAnalysis().fit(of(X), of(labels)).predict(of(X)),
]
with sklearn.config_context(array_api_dispatch=True):
    for i, call in enumerate(CALLS):
        got, want = call(lambda a: ts.asarray(a.copy())), call(lambda a: a)
        assert isinstance(got, (ts.Array, float)), (i, type(got))
        assert isinstance(got, ts.Array) or i == 5, i
        assert np.allclose(np.asarray(got), want, rtol=1e-8, atol=1e-10), (i, got, want)
print(len(CALLS))
"""


def test_scikit_learn():
    """It reads SciPy's setting when it is imported: in a process of its own."""
    pytest.importorskip("sklearn", minversion="1.5")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": ":".join([ts.__path__[0] + "/..", *sys.path])}
    ran = subprocess.run([sys.executable, "-c", LEARNING], env=environment, capture_output=True, text=True)
    assert ran.stdout == "11\n", ran.stderr


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
def test_xarray(dtype):
    xr = pytest.importorskip("xarray")
    n = np.arange(24).reshape(2, 3, 4).astype(dtype)
    x = ts.names.NamedArray(n, ("coil", "Nx", "Ny"))
    d = x.to_xarray()
    assert isinstance(d.data, ts.Array) and d.dims == ("coil", "Nx", "Ny")
    plain = xr.DataArray(n, dims=("coil", "Nx", "Ny"))
    for work in (
        lambda a: a.sum("Nx"),
        lambda a: a.isel(coil=1, Ny=slice(None, None, 2)),
        lambda a: a.transpose("Ny", "coil", "Nx"),
        lambda a: a * a.isel(Nx=0) + 1,
        lambda a: a.mean("coil") - a,
        lambda a: xr.concat([a, a], dim="Ny"),
        lambda a: a.where(a != 5, 0),
    ):
        got, want = work(d), work(plain)
        assert isinstance(got.data, ts.Array) and got.dims == want.dims
        np.testing.assert_allclose(got.data.numpy(), want.data)
    back = ts.names.NamedArray.from_xarray(d.isel(coil=1).transpose("Ny", "Nx"))
    assert back.dims == ("Ny", "Nx") and np.array_equal(back.numpy(), n[1].T)
    assert np.array_equal(ts.names.NamedArray.from_xarray(plain).numpy(), n)
    F = ts.FFT(1, ("coil",), (("Ny",), ("Ky",)))
    assert x.sel(Nx=0).apply(F).to_xarray().dims == ("coil", "Ky")
    with pytest.raises(ts.DTypeError, match="DataArray"):
        ts.names.NamedArray.from_xarray(n)


def test_xarray_missing_is_a_sentence():
    program = "import sys; sys.modules['xarray'] = None; import tessera as ts\n"
    program += "try: ts.names.NamedArray([1.0], ('X',)).to_xarray()\nexcept ImportError as e: print(e)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "to_xarray needs the package xarray" in said


JOBS = """
import sys
import joblib, numpy as np, tessera as ts

def apply(A, x):
    return (A.N @ A.H)(A(x))

if __name__ == "__main__":
    w = np.arange(1.0, 7).reshape(2, 3) * (1 + 1j)
    A = ts.FFT(2, (), (("X", "Y"), ("K", "L"))) @ ts.Diagonal(w, ("X", "Y"))
    inputs = [ts.asarray(np.full((2, 3), i + 0j)) for i in range(4)]
    for x, y in zip(inputs, joblib.Parallel(n_jobs=2, backend=sys.argv[1])(joblib.delayed(apply)(A, x) for x in inputs)):
        assert isinstance(y, ts.Array)
        np.testing.assert_allclose(y.numpy(), apply(A, x).numpy())
    print("same")
"""


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend, tmp_path):
    """In a process of its own: one with the threads of other libraries may not be forked."""
    pytest.importorskip("joblib")
    (tmp_path / "jobs.py").write_text(JOBS)
    command = [sys.executable, str(tmp_path / "jobs.py"), backend]
    path = ":".join([ts.__path__[0] + "/..", *sys.path])
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert ran.stdout == "same\n", ran.stderr


def test_joblib_caches(tmp_path):
    joblib = pytest.importorskip("joblib")
    calls = []

    def work(A, x):
        calls.append(1)
        return A(x)

    cached = joblib.Memory(tmp_path, verbose=0).cache(work)
    A, x = ts.Diagonal([1.0, 2.0], ("X",)), ts.asarray([3.0, 4.0])
    assert cached(A, x).tolist() == cached(ts.Diagonal([1.0, 2.0], ("X",)), x.copy()).tolist() == [3, 8]
    assert len(calls) == 1 and cached(A, x + 1).tolist() == [4, 10] and len(calls) == 2
