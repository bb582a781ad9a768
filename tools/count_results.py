# SPDX-License-Identifier: Apache-2.0
"""Sums the result files of one test run and prints one countable line.

usage: count_results.py RESULTS_DIR [more dirs]

Reads GoogleTest's XML (one per test program), ctest's JUnit file (counts only programs that left no
XML of their own: examples, crashes), pytest's JUnit file, and *.count files ("passed NAME", then what was said).
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

SHOWN = 2000  # characters of what a failed case said


def why_failed(case: ET.Element) -> ET.Element | None:
    """What a case says of its failure, None for one that did not fail."""
    failure = case.find("failure")
    return failure if failure is not None else case.find("error")


def count_suites(path: Path, failures: list[str]) -> tuple[int, int]:
    """Passed and failed cases of one GoogleTest or pytest XML file; skipped ones count as neither."""
    passed = failed = 0
    for case in ET.parse(path).getroot().iter("testcase"):
        ran = case.get("status", "run") != "notrun" and case.get("result") not in ("skipped", "suppressed")
        said = why_failed(case)
        if said is not None:
            failed += 1
            text = (said.text or said.get("message") or "").strip()
            failures.append(f"{path.stem}: {case.get('classname')}.{case.get('name')}\n{text[-SHOWN:]}")
        elif ran and case.find("skipped") is None:
            passed += 1
    return passed, failed


def count_ctest(path: Path, counted: dict[str, int], failures: list[str]) -> tuple[int, int]:
    """Programs that ctest ran; one whose own XML explains its verdict is not counted twice."""
    passed = failed = 0
    for case in ET.parse(path).getroot().iter("testcase"):
        name, bad = case.get("name", ""), case.get("status") == "fail"
        if bad and counted.get(name, 0) == 0:
            failures.append(f"{name} (crashed, timed out or was not built)")
            failed += 1
        elif not bad and name not in counted:
            passed += 1
    return passed, failed


def main(folders: list[str]) -> int:
    passed = failed = 0
    failures: list[str] = []
    for folder in map(Path, folders):
        counted: dict[str, int] = {}
        for path in sorted(folder.glob("*.xml")):
            if path.name == "ctest.xml":
                continue
            try:
                good, bad = count_suites(path, failures)
            except ET.ParseError:
                continue
            counted[path.stem] = bad
            passed, failed = passed + good, failed + bad
            print(f"{path.stem:32} {good:6} passed {bad:4} failed")
        if (folder / "ctest.xml").exists():
            good, bad = count_ctest(folder / "ctest.xml", counted, failures)
            passed, failed = passed + good, failed + bad
        for path in sorted(folder.glob("*.count")):
            verdict, _, said = path.read_text().partition("\n")
            good_verdict = verdict.startswith("passed")
            passed, failed = passed + good_verdict, failed + (not good_verdict)
            if not good_verdict:
                failures.append(f"{path.stem}\n{said[-SHOWN:].strip()}".strip())
    # The end of a long log is what people see of it: who failed, and why, stands beside the sum.
    for failure in failures:
        print(f"failed: {failure}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
