# SPDX-License-Identifier: Apache-2.0
"""ts.context(): which device an operation would run on, and why."""

import pytest

import tessera as ts


def test_a_context_without_accelerators_stays_on_the_host():
    c = ts.context()
    assert c is ts.context() and repr(c) == "ComputeContext(AutoSolver (cpu))"
    choice = c.choose("matmul", ts.ones((30, 40)), ts.ones((40, 50)))
    assert choice.device == "cpu" and choice.transferred_bytes == 0 and choice.compute_seconds > 0
    assert c.explain("matmul", ts.ones((3, 4)), ts.ones((4, 5))).count("\n") == 0


def test_larger_work_is_said_to_take_longer():
    c = ts.context()
    small, large = (c.choose("solve", ts.eye(n), ts.ones(n)).compute_seconds for n in (8, 2048))
    assert large > 10 * small


@pytest.mark.parametrize(
    ("op", "shapes", "text"),
    [
        ("matmul", [(3, 4), (3, 4)], r"matmul: operands of shapes \(3, 4\) and \(3, 4\) do not fit"),
        ("matmul", [(3, 4)], "matmul: 1 operands; expected 2"),
        ("eigh", [(3, 4)], r"eigh: an operand of shape \(3, 4\); expected square matrices"),
        ("dance", [(3, 4)], "'dance' is no operation with a known cost; expected elementwise, "),
    ],
)
def test_questions_that_make_no_sense(op, shapes, text):
    with pytest.raises(ValueError, match=text):
        ts.context().explain(op, *(ts.ones(s) for s in shapes))


def test_settings():
    c = ts.context()
    with pytest.raises(ts.DeviceError, match="sim:0 was asked for, which this context does not use"):
        try:
            c.force("sim:0")
            c.explain("reduce", ts.ones(4))
        finally:
            c.force(None)
    with pytest.raises(ValueError, match="gpu_threshold_elements: -1"):
        c.set_gpu_threshold_elements(-1)
    with pytest.raises(ValueError, match="config or settings"):
        c.enable_gpu(ts.AcceleratorConfig(), device_id=1)
    with pytest.raises(ValueError, match="device_id = -1"):
        c.enable_gpu(device_id=-1)


def test_precision_mode_is_a_scope():
    with pytest.raises(ValueError, match="'bogus'; expected 'lowest' or 'highest'"), ts.precision_mode("bogus"):
        pass
    with ts.precision_mode("highest"):
        assert ts._tessera._promotion() == "highest"
        with ts.precision_mode("low"):
            assert ts._tessera._promotion() == "lowest"
        assert ts._tessera._promotion() == "highest"
    assert ts._tessera._promotion() == "lowest"
