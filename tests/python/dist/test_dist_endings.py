# SPDX-License-Identifier: Apache-2.0
"""How ranks end: with everything alive that a program can leave alive, quietly, and MPI before the ends of libraries
that were loaded after it, on which it may stand. Runs mpirun itself, so it is not run under mpirun."""

import os
import shutil
import subprocess

import launch
import pytest

pytestmark = [
    pytest.mark.skipif("OMPI_COMM_WORLD_SIZE" in os.environ, reason="starts ranks of its own"),
    pytest.mark.skipif(launch.mpirun() is None, reason="no mpirun here"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler here"),
]

# A library as any other, with something to do at exit.
LATER = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void look(void) {
  int over = 0;
  int (*finalized)(int*) = (int (*)(int*))dlsym(RTLD_DEFAULT, "MPI_Finalized");
  if (finalized) finalized(&over);
  printf("MPI was over: %d\\n", over);
  fflush(stdout);
}
void watch(void) { atexit(look); }
"""

ALIVE = """
import builtins, ctypes, sys
import numpy as np
import tessera as ts
world = ts.dist.world
world.barrier()
ctypes.CDLL(sys.argv[1]).watch()
ts.config.sim_delay_us = 2000
one, other = ("sim:0", "sim:1") if ts.why_unavailable("cuda") else ("cuda:0", "cuda:0")
rng = np.random.default_rng(0)
F = ts.FFT(1, ("C",), (("X",), ("K",)))
A = ts.Diagonal(rng.normal(size=(4, 32)), ("C", "K")) @ F
x = ts.ones((4, 32), "complex64")
there = x.to(one)
batched = ts.create_batched_linop(A, ts.BatchSpec({"C": 2}, [one, other]))
plan = A.to(one).plan(there)
d = ts.dist.arange(20, split=0) * 1.5
solves = [ts.solve.cg(A.N, x, maxiter=3) for _ in range(2)]
over_ranks = A.N(ts.dist.ones((4, 32), split=0))
builtins.keep = [A, A.N, batched, batched(x), plan(there), plan(there), d, d[::-1], solves, over_ranks]
builtins.keep += [ts.stored.ones((8, 8)), ts.matrix.Dense(np.ones((3, 3))) @ np.ones(3), world, ts.Stream(other)]
builtins.keep.append(lambda: builtins.keep)
moved = A.to(one)
for _ in range(4 + ts.config.graph_after):  # with a graph, where the device has them
    moved(there)
plan(there)  # and nobody waits for it
"""

THREAD = "import threading; threading.Thread(target=plan, args=(there,)).start()"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("later")
    (folder / "later.c").write_text(LATER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "later.so", folder / "later.c", "-ldl"], check=True)
    return folder / "later.so"


@pytest.mark.parametrize("ending", ["", THREAD])
def test_with_everything_alive(ending, library, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(ALIVE + ending + "\n")
    with launch.Group(3, [str(program), str(library)]) as group:
        ended, words = group.wait(300), group.words()
    assert ended == 0, words
    assert words.split("\n") == ["MPI was over: 1"] * 3 + [""], words


def test_with_an_error(library, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(ALIVE + "raise SystemExit(3)\n")
    with launch.Group(3, [str(program), str(library)]) as group:
        ended, words = group.wait(300), group.words()
    assert ended == 3 and words.count("MPI was over: 1") == 3 and "ignal" not in words, words
