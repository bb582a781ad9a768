# SPDX-License-Identifier: Apache-2.0
"""Modules with the names and argument orders of other libraries, over ours: change an import and go on.

>>> import tessera.compat.torchlinops as torchlinops  # for torch-named-linops; needs PyTorch
>>> torchlinops.Scalar(2.0)(torch.ones(1)).tolist()
[2.0]

What a call of theirs becomes, and what is not offered, stands in docs/guide/moving-from-others.md.
"""
