# SPDX-License-Identifier: Apache-2.0
"""Operators written in Python, as a user writes them: with every method that such a class may have, or with few."""

import tessera as ts


class Weighted(ts.NamedLinop):
    """A weight of its own at every point."""

    def __init__(self, weight, dims):
        super().__init__(ts.NS(dims), dtype=weight.dtype)
        self.weight = weight

    @staticmethod
    def fn(linop, x, /):
        return linop.weight * x

    @staticmethod
    def adj_fn(linop, y, /):
        return linop.weight.conj() * y

    def split_forward(self, ibatch, obatch):
        assert ibatch == obatch
        return type(self)(self.weight[tuple(ibatch)], self.ishape)

    def size(self, dim):
        return self.weight.shape[self.ishape.index(dim)]


class WithNormal(Weighted):
    """The same, which knows its normal."""

    @staticmethod
    def normal_fn(linop, x, /):
        return (linop.weight * linop.weight.conj()) * x


class Mixing(ts.NamedLinop):
    """y[b, m] = sum over n of w[m, n] x[b, n], for as many b as the input has."""

    def __init__(self, matrix, ishape, oshape):
        super().__init__(ts.NS(ishape, oshape), "mixing", dtype=matrix.dtype)
        self.matrix = matrix

    def fn(self, x):
        return ts.matmul(x, self.matrix.T)

    def adj_fn(self, y):
        return ts.matmul(y, self.matrix.conj())

    def split_forward(self, ibatch, obatch):
        return Mixing(self.matrix[obatch[1], ibatch[1]], self.ishape, self.oshape)

    def size(self, dim):
        return {self.oshape[1]: self.matrix.shape[0], self.ishape[1]: self.matrix.shape[1]}.get(dim)


class MixingWithNormal(Mixing):
    def normal_fn(self, x):
        return self.adj_fn(self.fn(x))

    def split_forward(self, ibatch, obatch):
        return MixingWithNormal(self.matrix[obatch[1], ibatch[1]], self.ishape, self.oshape)


class OfOperators(ts.NamedLinop):
    """Made of other operators, one of them in a list; it cannot be cut."""

    def __init__(self, weight, dims):
        super().__init__(dims, dtype=weight.dtype)
        self.inner = [ts.Diagonal(weight, dims), ts.Scalar(2.0, dims)]
        self.calls = 0

    def fn(self, x):
        self.calls += 1
        return self.inner[1](self.inner[0](x))

    def adj_fn(self, y):
        return self.inner[0].H(self.inner[1].H(y))
