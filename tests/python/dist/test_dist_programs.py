# SPDX-License-Identifier: Apache-2.0
"""Programs that use MPI by other means, too. Runs mpirun itself, so it is not run under mpirun."""

import importlib.util
import os
import textwrap

import launch
import pytest

pytestmark = [
    pytest.mark.skipif("OMPI_COMM_WORLD_SIZE" in os.environ, reason="starts ranks of its own"),
    pytest.mark.skipif(launch.mpirun() is None, reason="no mpirun here"),
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="no mpi4py here"),
]
USE = "world = ts.dist.world; x = ts.dist.arange(20, split=0); assert int(x[::-1].sum()) == 190 and world.size == 3"


def ends_well(tmp_path, text, status=0):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(text))
    with launch.Group(3, [str(path)]) as group:
        ended = group.wait(300)
        words = group.words()
    assert ended is not None, f"still running after 300 s:\n{words}"
    assert (ended != 0) == (status != 0), words
    return words


@pytest.mark.parametrize(
    "first",
    [
        "from mpi4py import MPI; import tessera as ts",
        "import tessera as ts; ts.dist.world.size; from mpi4py import MPI",
    ],
)
def test_whoever_starts_mpi_ends_it(first, tmp_path):
    words = ends_well(tmp_path, f"{first}\n{USE}\nassert MPI.COMM_WORLD.allreduce(1) == 3\nprint('all is well')\n")
    assert words.count("all is well") == 3, words


def test_a_rank_that_leaves_early_is_named(tmp_path):
    """mpi4py ends MPI; the library must not wait there for ever."""
    text = f"""
    from mpi4py import MPI
    import os
    import tessera as ts
    {USE}
    if world.rank == 1: os._exit(0)
    x[[3, 9, 1]].numpy()
    """
    ends_well(tmp_path, text, status=1)
