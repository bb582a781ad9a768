# SPDX-License-Identifier: Apache-2.0
"""What unordered reads of large arrays keep: a bounded plan beside the key, and nothing after it."""

import numpy as np
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


def test_pieces_are_explained(slate):
    whole, x, _ = made()
    e = x.explain(whole)  # a key that all ranks know: nothing is asked
    with Counted(slate) as sent:
        y = x[whole]
    assert e.exact and (e.messages, e.index_bytes + e.data_bytes) == (sent.messages, sent.bytes)
    assert np.array_equal(y.local.numpy(), own(whole) * 1.5)
