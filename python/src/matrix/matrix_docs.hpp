// SPDX-License-Identifier: Apache-2.0
#pragma once
// Long documentation strings of tessera.matrix. Every example runs as a test.
//   nb::class_<AnyMatrix>(m, "AnyMatrix", any_matrix_doc);

namespace tessera::python {

inline constexpr const char* any_matrix_doc =
    "A matrix of any form: full, of bits, or packed by what is known of it.\n\n"
    "Copies share memory until one of them is written to; scaling, transposing and conjugating are "
    "views. Operations run where the context says, and results stay there.\n\n"
    ">>> m = ts.matrix.Symmetric([[1., 2.], [2., 5.]])\n"
    ">>> isinstance(m, ts.matrix.AnyMatrix), m.form, m.shape, m[1, 0]\n"
    "(True, 'Symmetric', (2, 2), 2.0)\n"
    ">>> (2 * m).T.numpy().tolist()\n"
    "[[2.0, 4.0], [4.0, 10.0]]\n";
inline constexpr const char* dense_doc =
    "All elements in rows. From anything like an array of two axes, or a shape: zeros. "
    "``copy=False`` shares the memory of the array.\n\n"
    ">>> m = ts.matrix.Dense([[1, 2], [3, 4]], 'float32')\n"
    ">>> m.H.numpy().tolist(), m.nbytes, ts.matrix.Dense((2, 3)).shape\n"
    "([[1.0, 3.0], [2.0, 4.0]], 16, (2, 3))\n";
inline constexpr const char* bit_doc =
    "Zeros and ones, 64 in a word. What is not zero is one.\n\n"
    ">>> m = ts.matrix.Bit(np.eye(1000))\n"
    ">>> m.nbytes, m[3, 3], m[3, 4], (~m)[3, 4]\n"
    "(128000, True, False, True)\n";
inline constexpr const char* triangular_bit_doc =
    "Zeros and ones above the diagonal: the relation of a causal set. The other half is not "
    "stored.\n\n"
    ">>> c = ts.matrix.TriangularBit([[0, 1, 1], [0, 0, 1], [0, 0, 0]])\n"
    ">>> c[0, 2], c.T[0, 2], c.properties['has_zero_diagonal']\n"
    "(True, False, True)\n";
inline constexpr const char* triangular_doc =
    "An upper or lower triangle, with its diagonal or (``strict``) without. ``check=False`` does "
    "not look whether the rest is zero.\n\n"
    ">>> m = ts.matrix.Triangular([[1., 0.], [5., 2.]], lower=True)\n"
    ">>> m[1, 0], m[0, 1], m.T[0, 1]\n"
    "(5.0, 0.0, 5.0)\n";
inline constexpr const char* symmetric_doc =
    "A matrix that is its transpose; half of it is stored. Complex ones are not conjugated across "
    "the diagonal.\n\n"
    ">>> m = ts.matrix.Symmetric(3)\n"
    ">>> m[0, 2] = 4; m[2, 0]\n"
    "4.0\n";
inline constexpr const char* anti_symmetric_doc =
    "A matrix that is its transpose with the other sign; its diagonal is zero.\n\n"
    ">>> m = ts.matrix.AntiSymmetric(3)\n"
    ">>> m[0, 2] = 5; m[2, 0]\n"
    "-5.0\n";
inline constexpr const char* diagonal_doc =
    "Numbers on the diagonal and zeros elsewhere. From those numbers (``shape`` for matrices that "
    "are not square), from a matrix, or a shape: zeros.\n\n"
    ">>> m = ts.matrix.Diagonal([2., 3.], shape=(2, 3))\n"
    ">>> m.numpy().tolist()\n"
    "[[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]]\n";
inline constexpr const char* identity_doc =
    "Ones on the diagonal; nothing is stored.\n\n"
    ">>> m = ts.matrix.Identity((2, 3), 'int32')\n"
    ">>> m.nbytes, (7 * m).numpy().tolist()\n"
    "(0, [[7, 0, 0], [0, 7, 0]])\n";

inline constexpr const char* check_doc =
    "Looks at the elements whether they have a property; declares nothing.\n\n"
    ">>> m = ts.matrix.Dense([[0., 1.], [1., 0.]])\n"
    ">>> m.check('is_permutation'), m.check('is_diagonal')\n"
    "(True, False)\n";
inline constexpr const char* transpose_doc =
    "The transpose: a view.\n\n>>> ts.matrix.Dense((2, 3)).transpose().shape\n(3, 2)\n";
inline constexpr const char* conj_doc =
    "The conjugates: a view.\n\n>>> ts.matrix.Dense([[1j]]).conj()[0, 0]\n-1j\n";
inline constexpr const char* real_doc =
    "The real parts, in the same form; of real numbers the matrix itself.\n\n"
    ">>> ts.matrix.Diagonal([1 + 2j, 3j]).real.numpy().tolist()\n[[1.0, 0.0], [0.0, 0.0]]\n";
inline constexpr const char* imag_doc =
    "The imaginary parts, in the same form; of real numbers zeros.\n\n"
    ">>> ts.matrix.Diagonal([1 + 2j, 3j]).imag.numpy().tolist()\n[[2.0, 0.0], [0.0, 3.0]]\n";
inline constexpr const char* all_doc =
    "Whether no element is zero; ``(m == n).all()`` is whether two matrices are equal.\n\n"
    ">>> m = ts.matrix.Symmetric([[1, 2], [2, 5]])\n"
    ">>> (m == m.T).all(), m.all()\n(True, True)\n";
inline constexpr const char* any_doc =
    "Whether there is an element that is not zero.\n\n"
    ">>> ts.matrix.Dense(2).any(), ts.matrix.Identity(2).any()\n(False, True)\n";
inline constexpr const char* copy_doc =
    "The same elements in memory of its own, views applied. Scaled bits become numbers.\n\n"
    ">>> m = ts.matrix.Dense(2); n = m.copy(); n[0, 0] = 1; m[0, 0]\n0.0\n";
inline constexpr const char* astype_doc =
    "The elements converted, in the same form where that can hold them. OverflowError where "
    "integers do not fit, TypeError for complex to real.\n\n"
    ">>> ts.matrix.Bit([[1, 0]]).astype('float32').form\n'Dense'\n";
inline constexpr const char* to_doc =
    "The matrix with its elements on a device.\n\n"
    ">>> ts.matrix.Dense(2).to('sim:0').device == 'sim:0'\nTrue\n";
inline constexpr const char* set_doc =
    "Sets an element; the same as ``m[i, j] = value``. ValueError where the form has no such "
    "element.\n\n>>> m = ts.matrix.Triangular(2); m.set(0, 1, 3); m[0, 1]\n3.0\n";
inline constexpr const char* set_identity_doc =
    "Makes it the identity in its form, and declares that. ValueError where the form has no "
    "diagonal.\n\n"
    ">>> m = ts.matrix.Dense((2, 3)); m.set_identity(); m.numpy().tolist()\n"
    "[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]\n"
    ">>> m.properties['is_identity'], m.properties['diagonal_value']\n(True, 1)\n";
inline constexpr const char* array_doc_of_matrix =
    "All elements as an array in memory of its own.\n\n"
    ">>> ts.matrix.Identity(2).array('int8').tolist()\n[[1, 0], [0, 1]]\n";
inline constexpr const char* numpy_doc =
    "All elements as a NumPy array in memory of its own.\n\n"
    ">>> ts.matrix.Diagonal([1, 2]).numpy().tolist()\n[[1, 0], [0, 2]]\n";

}  // namespace tessera::python
