# SPDX-License-Identifier: Apache-2.0
"""Sparse: brute force in NumPy and SciPy."""

import numpy as np
import pytest
import scipy.sparse
from support import check, close, draw_numbers, on

import tessera as ts


class TestSparse:
    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "parts", "triplets", "dense"])
    @pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
    def test_as_scipy(self, device, rng, form, dtype):
        m = scipy.sparse.random(13, 9, 0.3, random_state=3, dtype="float64").tocsr()
        m.data = draw_numbers(rng, m.nnz, dtype)
        coo = m.tocoo()
        matrix, shape = {
            "csr": (m, None),
            "csc": (m.tocsc(), None),
            "coo": (coo, None),
            "parts": ((m.data, m.indices, m.indptr), m.shape),
            "triplets": ((coo.data[::-1], (coo.row[::-1], coo.col[::-1])), m.shape),
            "dense": (m.toarray(), None),
        }[form]
        A = ts.Sparse(matrix, ("N",), ("M",), batch_shape=("C",), shape=shape).to(device)
        assert A.ishape == ("C", "N") and A.oshape == ("C", "M") and (A.size("N"), A.size("M")) == (9, 13)
        tol = 1e-5 if dtype in ("float32", "complex64") else 1e-12
        x, y = draw_numbers(rng, (11, 9), dtype), draw_numbers(rng, (11, 13), dtype)
        close(A(on(device, x)), (m @ x.T).T, tol)
        close(A.H(on(device, y)), (m.conj().T @ y.T).T, tol)
        assert A(on(device, x)).dtype == dtype

    def test_real_matrix_on_complex_vectors(self, device, rng):
        m = scipy.sparse.random(6, 5, 0.5, random_state=1, dtype="float32").tocsr()
        x = draw_numbers(rng, 5, "complex64")
        A = ts.Sparse(m).to(device)
        y = A(on(device, x))
        assert y.dtype == "complex64"
        close(y, m @ x, 1e-6)
        assert ts.Sparse(m)(np.arange(5)).dtype == "float64"

    def test_several_dims_and_splitting(self, rng):
        m = scipy.sparse.random(6, 20, 0.4, random_state=2).tocsr()
        A = ts.Sparse(m, ("X", "Y"), ("P", "Q"), (4, 5), (2, 3))
        x = rng.standard_normal((7, 4, 5))
        full = np.asarray((m @ x.reshape(7, 20).T).T).reshape(7, 2, 3)
        close(A(x), full, 1e-12)
        check(A.split({"Q": slice(1, 3)})(x), full[:, :, 1:3], tol=1e-12)
        halves = [A.split({"X": slice(0, 1)})(x[:, :1]), A.split({"X": slice(1, 4)})(x[:, 1:])]
        check(halves[0] + halves[1], full, tol=1e-12)
        both = A.split({"P": slice(1, 2), "Y": slice(2, 4)})
        dense = m.toarray().reshape(2, 3, 4, 5)[1:2, :, :, 2:4]
        close(both(x[:, :, 2:4]), np.einsum("pqxy,bxy->bpq", dense, x[:, :, 2:4]), 1e-12)
        y = rng.standard_normal((7, 1, 3))
        close(both.H(y), np.einsum("pqxy,bpq->bxy", dense, y), 1e-12)

    @pytest.mark.parametrize(
        "make, error, text",
        [
            (lambda: ts.Sparse(([1.0], [3], [0, 1]), shape=(1, 3)), IndexError, "column 3 of entry 0"),
            (lambda: ts.Sparse(([1.0], ([1], [0])), shape=(1, 3)), IndexError, "row 1 of entry 0"),
            (lambda: ts.Sparse(([1.0], [0], [0])), ValueError, "shape of the matrix"),
            (lambda: ts.Sparse(([1.0], [0], [0]), shape=(1, 3)), ValueError, "row starts"),
            (lambda: ts.Sparse(([1.0], [0], [0, 2]), shape=(1, 3)), ValueError, "0 to 2; expected 0 to 1"),
            (lambda: ts.Sparse(([1.0], [0.5], [0, 1]), shape=(1, 3)), TypeError, "expected integers"),
            (lambda: ts.Sparse(np.eye(3), ("N", "M"), ("P",)), ValueError, "input"),
            (lambda: ts.Sparse(np.eye(3), ("N",), ("N",)), ValueError, "'N' appears twice"),
            (lambda: ts.Sparse(np.eye(3), ("...",)), ValueError, "without '...'"),
            (lambda: ts.Sparse(np.eye(3), output_size=(4,)), ValueError, "output"),
            (lambda: ts.Sparse(np.ones(3)), ValueError, "expected a matrix"),
        ],
    )
    def test_bad_input(self, make, error, text):
        with pytest.raises(error, match=text) as caught:
            make()
        assert "Sparse" in str(caught.value)
