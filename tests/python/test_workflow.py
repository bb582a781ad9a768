# SPDX-License-Identifier: Apache-2.0
"""The workflow does what .ci/run does, in parts; scripts/test.sh knows the parts that it names."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / ".github/workflows/ci.yml"
RUNS = re.findall(r"run: ((?:\.ci/run|scripts/test\.sh)[^}\n]*?) *\}", WORKFLOW.read_text())


def parts_of(script, pattern):
    return set(re.search(pattern, (ROOT / script).read_text())[1].split())


def named(script):
    words = [run.split() for run in RUNS]
    return [part for first, *rest in words if first == script for part in rest]


def test_the_parts_of_the_workflow_are_those_of_the_script():
    everything = parts_of(".ci/run", r'\nparts="([^"]*)"') | parts_of(".ci/run", r'\nwhen_named="([^"]*)"')
    tests = parts_of("scripts/test.sh", r'\nparts="([^"]*)"')
    assert sorted(named(".ci/run")) == sorted(everything - {"test"})
    assert sorted(named("scripts/test.sh")) == sorted(tests)


def test_no_part_takes_longer_than_twenty_minutes():
    assert int(re.search(r"timeout-minutes: (\d+)", WORKFLOW.read_text())[1]) <= 20


@pytest.mark.parametrize("page", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda page: page.name)
def test_it_is_yaml(page):
    yaml = pytest.importorskip("yaml")
    assert isinstance(yaml.safe_load(page.read_text()), dict)


@pytest.mark.parametrize("script", ["scripts/test.sh", ".ci/run"])
def test_a_part_that_is_not_there_is_refused(script):
    ended = subprocess.run(["bash", str(ROOT / script), "surgery"], capture_output=True, text=True)
    assert ended.returncode == 2 and "'surgery' is none of" in ended.stderr
