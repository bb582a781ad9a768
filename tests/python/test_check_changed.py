# SPDX-License-Identifier: Apache-2.0
"""`make check`: which programs and tests a changed file concerns."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_changed as check  # noqa: E402

sys.path.pop(0)


@pytest.mark.parametrize(
    ("changed", "programs", "tests", "package"),
    [
        ([], [], [], False),
        (["src/tessera/base/trace.cpp"], ["tessera_test_base"], ["test_kernel_trace.py"], True),
        (["src/tessera/linop/core/state.cpp"], ["tessera_test_linop", "tessera_laws"], [], True),
        (["tests/laws/samples_basic.cpp"], ["tessera_laws"], [], False),
        (["python/tessera/_doctor_machine.py"], [], ["test_doctor.py"], True),
        (["python/tessera/__init__.py"], [], [], True),
        (["tests/python/test_names.py", "tests/python/test_gone.py"], [], ["test_names.py"], False),
        (["src/tessera/tessera.hpp"], [], [], False),
    ],
)
def test_what_is_concerned(changed, programs, tests, package):
    found = check.concerned(changed)
    assert found.programs == programs and found.package is package
    assert set(tests) <= set(found.tests)
    assert tests or not found.tests


def test_pages_and_scripts():
    found = check.concerned(["docs/guide/names.md", "docs/guide/gone.md", "scripts/common.sh", ".ci/run"])
    assert found.pages == ["docs/guide/names.md"] and found.scripts == ["scripts/common.sh", ".ci/run"]


def test_nothing_is_run_twice_and_all_that_is_named_is_there():
    concern = check.concerned(["python/tessera/names.py", "src/tessera/names/dim.cpp", "tests/python/test_linops.py"])
    made = check.steps(concern, "2")
    names = [what for what, _ in made if what not in ("lint", "syntax of scripts")]
    assert len(names) == len(set(names))
    assert names.index("build") < names.index("tessera_test_names") < names.index("test_names.py")
    for what, command in made:
        for part in command:
            assert not part.startswith(("tests/", "tools/")) or (ROOT / part).exists(), what


def test_every_layer_with_tests_has_a_program():
    layers = [path.name for path in (ROOT / "src/tessera").iterdir() if path.is_dir()]
    for layer in layers:
        found = check.concerned([f"src/tessera/{layer}/x.cpp"]).programs
        tested = any((ROOT / "src/tessera" / layer).rglob("*_test.cpp"))
        assert (f"tessera_test_{layer}" in found) is tested
