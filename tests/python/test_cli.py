# SPDX-License-Identifier: Apache-2.0
"""The command line tool, from outside: what it prints, how it refuses."""

import os
import subprocess
from pathlib import Path

import pytest

import tessera as ts

TOOL = Path(ts.__file__).resolve().parents[2] / "bin" / "tessera"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="the tool was not built beside the package")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(TOOL), *arguments], capture_output=True, text=True, env={**os.environ, **environment})


def test_info_names_devices_and_libraries() -> None:
    done = run("info", "--no-topology")
    assert done.returncode == 0, done.stderr
    for word in ("cpu", "sim:0", "OpenBLAS", "FFT ", "MPI", "num_threads"):
        assert word in done.stdout


def test_unknown_commands_are_refused() -> None:
    done = run("demonstrate")
    assert done.returncode != 0 and "subcommand" in done.stderr
