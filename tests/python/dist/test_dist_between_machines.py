# SPDX-License-Identifier: Apache-2.0
"""Ranks that share no memory, as between machines: MPI's own calls and few messages, counted as they leave a rank, with
NumPy's results and the same bits on every rank. Runs mpirun itself, so it is not run under mpirun."""

import os
from pathlib import Path

import launch
import pytest
import wire_count

pytestmark = [
    pytest.mark.skipif("OMPI_COMM_WORLD_SIZE" in os.environ, reason="starts ranks of its own"),
    pytest.mark.skipif(launch.mpirun() is None, reason="no mpirun here"),
]
HERE = Path(__file__).parent


def said_by(ranks, program, path, *arguments):
    """What each rank wrote in the end."""
    command = [str(HERE / program), str(path), *map(str, arguments)]
    with launch.Group(ranks, command, extra={"TESSERA_COMM_SHARED_WINDOW": "0"}) as group:
        status = group.wait(120)
        words = group.words()
    assert status == 0, f"status {status}:\n{words}"
    return [Path(f"{path}.rank{rank}").read_text() for rank in range(ranks)]


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_results_are_those_of_shared_memory(ranks, tmp_path):
    said = said_by(ranks, "between_machines.py", tmp_path / "said")
    assert said == ["all is well"] * ranks, said


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_messages_grow_as_they_must(ranks, tmp_path):
    library = wire_count.build(tmp_path)
    if library is None:
        pytest.skip("no mpicc here")
    said = said_by(ranks, "count_messages.py", tmp_path / "said", library)
    if "cannot count" in said:
        pytest.skip("this MPI does not show its messages")
    assert said == ["all is well"] * ranks, said
