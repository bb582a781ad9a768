# SPDX-License-Identifier: Apache-2.0
"""Budgets of each tier as people set and see them."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import tessera as ts

TIERS = {"cpu": "host", "sim:0": "device", "pinned": "pinned", "disk": "disk"}


def asked(tier, amount):
    """The arguments that set the budget of one tier."""
    return {TIERS[tier]: {tier: amount} if tier.startswith("sim") else amount}


def budget_of(tier):
    return ts.memory_stats(tier)["budget"]


@pytest.fixture(autouse=True)
def unchanged():
    ts.set_memory_budget("default", "default", pinned="default", disk="default")  # whatever others have set
    before = {tier: budget_of(tier) for tier in TIERS}, ts.backing_dir()
    yield
    assert ({tier: budget_of(tier) for tier in TIERS}, ts.backing_dir()) == before


@pytest.mark.parametrize("tier", TIERS)
def test_amounts_of_every_kind(tier):
    before = budget_of(tier)
    for amount, expected in [
        (3 << 30, 3 << 30),
        ("2GiB", 2 << 30),
        ("1.5MiB", 3 << 19),
        (0, 0),
        (np.int64(4096), 4096),
    ]:
        with ts.memory_budget(**asked(tier, amount)):
            assert budget_of(tier) == expected
        assert budget_of(tier) == before
    with ts.memory_budget(**asked(tier, "100%")):
        whole = budget_of(tier)
    with ts.memory_budget(**asked(tier, "12.5%")):
        assert abs(budget_of(tier) - whole / 8) < max(2, whole * 0.01)  # of the disk others take some meanwhile
    ts.set_memory_budget(**asked(tier, "1MiB"))
    ts.set_memory_budget()  # nothing is named: nothing changes
    assert budget_of(tier) == 1 << 20
    ts.set_memory_budget(**asked(tier, "default"))
    assert budget_of(tier) == before


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("wrong", ["a lot", "101%", "-5%", "%", "2GiBs", "", -1, 10**30, 1.5, [1], {"sim:0": "x"}])
def test_what_is_no_amount_is_refused_and_changes_nothing(tier, wrong):
    before = {t: budget_of(t) for t in TIERS}
    others = {k: v for t in TIERS if t != tier for k, v in asked(t, "1MiB").items()}
    for call in (ts.set_memory_budget, ts.memory_budget):
        with pytest.raises((ValueError, TypeError, OverflowError)) as caught:
            call(**others, **asked(tier, wrong))
        assert len(str(caught.value).split()) > 4
    assert {t: budget_of(t) for t in TIERS} == before


def test_errors_name_the_argument():
    with pytest.raises(ts.ArgumentError, match="set_memory_budget: host: 'much' is not"):
        ts.set_memory_budget(host="much")
    with pytest.raises(ts.ArgumentError, match="set_memory_budget: device sim:1 is -1 bytes; expected"):
        ts.set_memory_budget(device={"sim:1": -1})
    with pytest.raises(ts.DeviceError, match="sim:"):
        ts.set_memory_budget(host="1GiB", device={"sim:99": 1})
    with pytest.raises(OSError, match="backing folder"):
        ts.set_memory_budget(host="1GiB", disk_dir="/proc/no/such/folder")
    with pytest.raises(ts.ArgumentError, match="set_backing_dir: the path of a folder is empty"):
        ts.set_backing_dir("")


def test_scopes_nest_and_end_by_errors(tmp_path):
    free = budget_of("cpu")
    folder = ts.backing_dir()
    with ts.memory_budget("3GiB", disk_dir=tmp_path / "a"):
        assert ts.backing_dir() == str(tmp_path / "a")
        with pytest.raises(KeyError):
            with ts.memory_budget("2GiB", {"sim:0": "1MiB"}, tmp_path / "b", disk="1GiB"):
                assert (budget_of("cpu"), budget_of("sim:0"), budget_of("disk")) == (2 << 30, 1 << 20, 1 << 30)
                assert ts.backing_dir() == str(tmp_path / "b")
                raise KeyError
        assert (budget_of("cpu"), budget_of("sim:0"), budget_of("disk")) == (3 << 30, 0, 0)
        assert ts.backing_dir() == str(tmp_path / "a")
    assert budget_of("cpu") == free and ts.backing_dir() == folder


def test_what_exists_stays_valid(device):
    kept = ts.arange(2**18, dtype="float64", device=device)
    with ts.memory_budget(host=1, device=1):
        assert ts.memory_stats(device)["in_use"] > budget_of(device)
        if device == "cpu":
            assert np.asarray(kept)[-1] == 2**18 - 1
        with pytest.raises(ts.OutOfMemory, match=f"{device}: cannot allocate .* of the budget of 1 B"):
            ts.zeros(2**18, device=device)
    assert kept.sum().item() == (2**18 - 1) * 2**17
    assert (kept + 1)[0].item() == 1


def test_all_devices_or_some():
    with ts.memory_budget(device="3MiB"):
        for d in ts.devices():
            assert budget_of(d) == (0 if d == "cpu" else 3 << 20)
        with ts.memory_budget(device={"sim:3": "1MiB", "cpu": "5GiB"}):
            assert [budget_of(f"sim:{i}") >> 20 for i in range(5)] == [3, 3, 3, 1, 3]
            assert budget_of("cpu") == 5 << 30


def test_table_of_tiers(tmp_path):
    with ts.memory_budget(host="64MiB", device={"sim:2": "8MiB"}, disk_dir=tmp_path, disk="32MiB"):
        a = ts.zeros(2**17, device="sim:2")
        s = ts.stored.array(np.ones(2**18))
        tiers = ts.memory_tiers()
        assert set(tiers) >= {"cpu", "pinned", "sim:2", "disk"}
        assert tiers["sim:2"]["in_use"] == 2**20 <= tiers["sim:2"]["peak"]
        assert tiers["sim:2"]["left"] == 7 << 20
        assert 2**21 <= tiers["disk"]["in_use"] < 3 << 20
        assert tiers["disk"]["left"] == (32 << 20) - tiers["disk"]["in_use"]
        assert tiers["cpu"]["left"] == (64 << 20) - tiers["cpu"]["in_use"]
        for name, numbers in tiers.items():
            assert numbers["in_use"] <= numbers["peak"], name
            assert min(numbers.values()) >= 0
        lines = repr(tiers).splitlines()
        assert lines[0].split() == ["tier", "in", "use", "peak", "reserved", "budget", "left"]
        assert any(line.startswith("sim:2") and "8.00 MiB" in line for line in lines)
        assert str(tmp_path) in lines[-1]
        del s
        assert ts.memory_stats("disk")["in_use"] == 0
        assert ts.memory_stats("disk")["peak"] >= 2**21
        ts.reset_peak("disk")
        assert ts.memory_stats("disk")["peak"] == 0
        assert a.shape == (2**17,)
    with pytest.raises(ts.ArgumentError, match="reset_peak"):
        ts.reset_peak("pinned")


def test_budget_of_the_disk_is_kept(tmp_path):
    with ts.memory_budget(disk_dir=tmp_path, disk="1MiB"):
        s = ts.stored.array(np.ones(2**16))
        with pytest.raises(ts.OutOfMemory, match="disk"):
            ts.stored.array(np.ones(2**17))
        assert [f.name for f in tmp_path.iterdir() if "array" in f.name] and s[:].sum().item() == 2**16
    del s
    assert not list(tmp_path.iterdir())


ENVIRONMENT = """
import tessera as ts
t = ts.memory_tiers()
print([t[k]["budget"] for k in ("cpu", "pinned", "disk")], ts.memory_stats("sim:4")["budget"], ts.backing_dir())
print(ts.config.host_budget, ts.config.device_budget)
with ts.config.using(device_budget=5, host_budget="25%"):
    print(ts.config.host_budget, ts.config.device_budget)
print(ts.config.host_budget, ts.config.device_budget)
ts.set_memory_budget(host="1GiB", device="25%")
print(ts.memory_stats()["budget"], ts.memory_stats("sim:4")["budget"])
ts.set_memory_budget(host="default", device="default")
print(ts.memory_stats()["budget"], ts.memory_stats("sim:4")["budget"])
"""


def run(program, **environment):
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=env)


def test_environment(tmp_path):
    budgets = {"HOST_BUDGET": "3GiB", "DEVICE_BUDGET": "50%", "PINNED_BUDGET": "1MiB", "DISK_BUDGET": "2MiB"}
    budgets |= {"SIM_MEMORY": "1GiB", "BACKING_DIR": str(tmp_path)}
    ended = run(ENVIRONMENT, **{f"TESSERA_{k}": v for k, v in budgets.items()})
    assert ended.returncode == 0, ended.stderr
    gib = 1 << 30
    assert ended.stdout.splitlines() == [
        f"{[3 * gib, 1 << 20, 2 << 20]} {gib // 2} {tmp_path}",
        f"{3 * gib} 50%",
        "25% 5",
        f"{3 * gib} 50%",
        f"{gib} {gib // 4}",
        f"{3 * gib} {gib // 2}",
    ]
    wrong = run("import tessera as ts; ts.zeros(3)", TESSERA_HOST_BUDGET="150%")
    assert wrong.returncode != 0 and "TESSERA_HOST_BUDGET" in wrong.stderr


def test_scopes_of_threads_leave_what_was(tmp_path):
    """Scopes are of the process: other threads see them, and after the last of them all is as before."""
    seen = []

    def look():
        seen.append(budget_of("sim:5"))

    with ts.memory_budget(device={"sim:5": 12345}):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [12345] and budget_of("sim:5") == 0
