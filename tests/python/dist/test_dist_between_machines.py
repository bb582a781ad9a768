# SPDX-License-Identifier: Apache-2.0
"""Collectives of ranks that share no memory, as between machines: MPI's own calls and few messages, with NumPy's
results and the same bits on every rank. Runs mpirun itself, so it is not run under mpirun."""

import os
from pathlib import Path

import launch
import pytest

pytestmark = [
    pytest.mark.skipif("OMPI_COMM_WORLD_SIZE" in os.environ, reason="starts ranks of its own"),
    pytest.mark.skipif(launch.mpirun() is None, reason="no mpirun here"),
]
PROGRAM = str(Path(__file__).parent / "between_machines.py")


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_results_are_those_of_shared_memory(ranks, tmp_path):
    path = tmp_path / "said"
    with launch.Group(ranks, [PROGRAM, str(path)], extra={"TESSERA_COMM_SINGLE_COPY": "0"}) as group:
        status = group.wait(120)
        words = group.words()
    assert status == 0, f"status {status}:\n{words}"
    said = [Path(f"{path}.rank{rank}").read_text() for rank in range(ranks)]
    assert said == ["all is well"] * ranks, said
