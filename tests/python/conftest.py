# SPDX-License-Identifier: Apache-2.0
"""Shared by the Python tests: poisoned memory, the devices under test, hypothesis settings."""

import os

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
