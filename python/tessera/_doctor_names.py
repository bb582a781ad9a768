# SPDX-License-Identifier: Apache-2.0
"""Which environment variables somebody reads, and the nearest one to a name that nobody does."""

from __future__ import annotations

from collections.abc import Mapping

from . import _tessera as _core

# Beside the settings of ts.config, each of which has a variable.
_READ = ("BACKING_DIR", "CHECK_CALLS", "FFT", "INSTRUCTIONS", "PLUGIN_PATH")
# Those of tests, benchmarks and the build, whole or by how they begin: no mistake where they are set, and not offered.
_TESTS = (
    "ARRAY_API_TESTS",
    "CASE",
    "CASES",
    "CHECK_SECONDS",
    "CI_MINUTES",
    "CUDA",
    "EXAMPLES",
    "JOBS",
    "LARGE",
    "MEMORY_ROWS",
    "MPI_SENT",
    "NUFFT_CASES",
    "RANDOM",
    "SLATE",
)
_OF_TESTS = ("BENCH_", "CUT_", "DIST_", "FUZZ_", "IMAGING_", "RANKS_", "TEST_")


def known_variables() -> list[str]:
    """The variables that the library reads.

    >>> from tessera._doctor_names import known_variables
    >>> "TESSERA_NUM_THREADS" in known_variables() and "TESSERA_BACKING_DIR" in known_variables()
    True
    """
    return sorted("TESSERA_" + name.upper() for name in (*(row[0] for row in _core._settings()), *_READ))


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Variables of our prefix that nobody reads."""
    known = set(known_variables())
    ours = {name: name.removeprefix("TESSERA_") for name in environment if name.startswith("TESSERA_")}
    tests = {name for name, word in ours.items() if word in _TESTS or word.startswith(_OF_TESTS)}
    return sorted(set(ours) - known - tests)


def nearest(name: str) -> str:
    """The variable that a mistyped one most likely means; "" where none is near.

    >>> from tessera._doctor_names import nearest
    >>> nearest("TESSERA_NUM_TREADS")
    'TESSERA_NUM_THREADS'
    """
    import difflib

    words = {known.removeprefix("TESSERA_"): known for known in known_variables()}
    close = difflib.get_close_matches(name.removeprefix("TESSERA_").upper(), words, n=1, cutoff=0.6)
    return words[close[0]] if close else ""


def notice_unknown(environment: Mapping[str, str]) -> None:
    """A warning for each variable of our prefix that nobody reads, at the import of the package."""
    if not any(name.startswith("TESSERA_") for name in environment):
        return
    try:
        unknown = unknown_variables(environment)
    except _core.Error:  # the value of another one cannot be read: the first call says so
        return
    import warnings

    for name in unknown:
        close = nearest(name)
        offer = f"; {close} is one that is read" if close else ""
        warnings.warn(f"tessera: nobody reads the variable {name}{offer}", RuntimeWarning, stacklevel=4)
