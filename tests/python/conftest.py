# SPDX-License-Identifier: Apache-2.0
"""Shared by the Python tests: poisoned memory, the devices under test, hypothesis settings."""

import os
import zlib
from collections import Counter

# Before the library reads them.
os.environ.setdefault("TESSERA_POISON", "1")

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

import tessera as ts  # noqa: E402

pytest.register_assert_rewrite("support")

hypothesis.settings.register_profile(
    "default",
    max_examples=int(os.environ.get("TESSERA_EXAMPLES", "60")),
    deadline=None,
    derandomize="TESSERA_RANDOM" not in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile("default")

MAIN_DEVICE = os.environ.get("TESSERA_TEST_DEVICE", "cpu")
DEVICES = [MAIN_DEVICE] if MAIN_DEVICE != "cpu" else ["cpu", "sim:0"]


# One in so many of the cases of a test that has many, as of those of a law in C++; which ones follows from their names, and
# over ranks from their number: of thirds, 1, 2 and 3 ranks have all between them. Pages of the documentation have nothing
# in common and all run.
SHARE = int(os.environ.get("TESSERA_TEST_SHARE", "1"))
RANKS = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "0"))
MANY = 24
WHOLE = ("test_docs.py",)


def pytest_collection_modifyitems(config, items):
    if SHARE == 1:
        return
    tests = [item.nodeid.partition("[")[0] for item in items]
    cases = Counter(tests)
    wanted, left = [], []
    for item, test in zip(items, tests, strict=True):
        drawn = (zlib.crc32(item.name.encode()) + RANKS) % SHARE == 0
        of_share = cases[test] < MANY or item.path.name in WHOLE or drawn
        (wanted if of_share else left).append(item)
    items[:] = wanted
    config.hook.pytest_deselected(items=left)


@pytest.fixture(params=DEVICES)
def device(request):
    """The device of TESSERA_TEST_DEVICE; cpu and sim:0 without it."""
    return request.param


@pytest.fixture
def main_device():
    return MAIN_DEVICE


@pytest.fixture(autouse=True)
def poisoned():
    assert ts.config.poison
    yield
    ts.synchronize()


@pytest.fixture
def rng():
    return np.random.default_rng(1)
