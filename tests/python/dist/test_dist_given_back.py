# SPDX-License-Identifier: Apache-2.0
"""What unordered reads of large arrays keep: a bounded plan beside the key, and nothing after it."""

import numpy as np
import pytest
from layouts import Counted

import tessera as ts

D, world = ts.dist, ts.dist.world
EACH = 600_000  # positions of a rank: 4.8 MB
IDLE = 32 << 20  # what the pool may keep where little is in use


def own(whole):
    return np.array_split(whole, world.size)[world.rank].copy()


def held():
    return ts.memory_stats("cpu")["in_use"]


def made():
    whole = np.random.default_rng(5).permutation(EACH * world.size)
    x = D.array(own(np.arange(whole.size) * 1.5), is_split=0)
    return whole, x, D.array(own(whole), is_split=0)


def test_a_key_keeps_one_bounded_plan():
    _, x, key = made()
    wanted = key.local.numpy() * 1.5
    before = held()
    y = x[key]
    assert np.array_equal(y.local.numpy(), wanted)
    del y
    plan = held() - before
    assert plan <= 8 * EACH + (1 << 16)  # four bytes for each position, four for each element served
    counts = [EACH] * world.size
    if world.size > 1:
        counts[:2] = [EACH - 7, EACH + 7]
    other = x.redistribute(counts)  # the same key on another layout: the last plan stays alone
    after = held()
    y = other[key]
    assert np.array_equal(y.local.numpy(), wanted)
    del y
    assert held() - after <= 1 << 18
    before_read = world.traffic.messages
    y = other[key]  # remembered: rows alone travel
    assert world.traffic.messages - before_read <= (world.size - 1) * -(-24 * EACH // ((8 << 20) // world.size))
    del y, key
    assert held() <= after - plan + (1 << 16)
    del x, other, wanted
    stats = ts.memory_stats("cpu")
    assert stats["reserved"] <= stats["in_use"] * 9 // 8 + IDLE + (1 << 20)


def resident(name="VmRSS"):
    """Bytes of this process: now, or (VmHWM) at most since the last forget_peak()."""
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name))


def forget_peak():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


@pytest.mark.skipif(world.size > 4, reason="the same of more memory")
@pytest.mark.parametrize("everybody_knows", [False, True])
def test_what_a_permutation_takes_and_keeps(slate, everybody_knows):
    """Parts of 15 MiB, as the process sees it: pages of arrays and messages, not what the pool counts."""
    each, mebi = 15 * 2**20 // 8, 2**20
    whole = np.random.default_rng(6).permutation(each * world.size)
    x = D.array(np.arange(each * world.rank, each * (world.rank + 1)) * 1.5, is_split=0)
    wanted = own(whole) * 1.5
    key = whole if everybody_knows else D.array(own(whole), is_split=0)
    start, can_forget = resident(), forget_peak()
    y = x[key]
    taken, right = resident("VmHWM") - start, np.array_equal(y.local.numpy(), wanted)
    del y
    kept = resident() - start
    everybody = slate.everybody((taken, kept, right))
    assert all(right for _, _, right in everybody)
    # The result and the plan beside a distributed key (8 bytes an entry each), pieces on their way, what the pool keeps.
    assert max(kept for _, kept, _ in everybody) <= 15 * mebi + IDLE + 16 * mebi, everybody
    if can_forget:
        assert max(taken for taken, _, _ in everybody) <= 2 * 15 * mebi + IDLE + 24 * mebi, everybody


def test_pieces_are_explained(slate):
    whole, x, _ = made()
    e = x.explain(whole)  # a key that all ranks know: nothing is asked
    with Counted(slate) as sent:
        y = x[whole]
    assert e.exact and (e.messages, e.index_bytes + e.data_bytes) == (sent.messages, sent.bytes)
    assert np.array_equal(y.local.numpy(), own(whole) * 1.5)
