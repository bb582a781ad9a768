# SPDX-License-Identifier: Apache-2.0
"""usage: check_changed.py [BASE]: builds and runs what the files concern that differ from BASE (main where there is
one), then a quick core of tests, until TESSERA_CHECK_SECONDS (300) have passed; what was left by then is named.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE_PROGRAMS = ("tessera_test_base", "tessera_test_names", "tessera_test_linop", "tessera_test_plan")
CORE_TESTS = ("names", "functions", "linops", "errors")
SAMPLES = "--gtest_filter=*Adjoint*"  # of the laws, where an operator changed: the rest is for `make test`


@dataclass
class Concern:
    """Programs of C++ tests, files of Python tests, pages, scripts, and whether the package is concerned at all."""

    programs: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    package: bool = False

    def add(self, kind: str, name: str) -> None:
        names = getattr(self, kind)
        if name not in names:
            names.append(name)


def words(path: Path) -> set[str]:
    return set(path.stem.removeprefix("test_").lower().strip("_").split("_"))


def tests_of(changed: Path, known: list[Path]) -> list[Path]:
    """Python tests whose name has the name of a changed file in it, or the other way around."""
    mine = words(changed) - {"", "init", "main"}
    return [test for test in known if mine and (mine <= words(test) or words(test) <= mine)]


def concerned(changed: list[str], root: Path = ROOT) -> Concern:
    """What has to be built and run for files that changed, given as paths from the root."""
    found = Concern()
    known = sorted((root / "tests/python").glob("test_*.py"))
    for name in changed:
        path = Path(name)
        parts = path.parts
        if name.startswith("src/tessera/") and len(parts) > 3:
            layer = parts[2]
            if any((root / "src/tessera" / layer).rglob("*_test.cpp")):
                found.add("programs", f"tessera_test_{layer}")
            if layer in ("linop", "kernels", "testing"):
                found.add("programs", "tessera_laws")
            found.package = True
        if name.startswith("tests/laws/"):
            found.add("programs", "tessera_laws")
        if name.startswith("python/"):
            found.package = True
        if name.startswith(("src/", "python/")):
            for test in tests_of(path, known):
                found.add("tests", test.name)
        if name.startswith("tests/python/test_") and (root / name).exists():
            found.add("tests", path.name)
        if path.suffix == ".md" and (root / name).exists():
            found.add("pages", name)
        if path.suffix == ".sh" or name == ".ci/run":
            found.add("scripts", name)
    return found


def base_of(wanted: str | None) -> str:
    """The commit to compare with: where this branch left main, else the commit before this one."""
    for name in (wanted,) if wanted else ("origin/main", "main"):
        run = subprocess.run(["git", "merge-base", "HEAD", name], capture_output=True, text=True, cwd=ROOT)
        if run.returncode == 0 and (wanted or run.stdout.strip() != git("rev-parse", "HEAD")):
            return run.stdout.strip()
    return wanted or "HEAD~1"


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip()


def changed_files(base: str) -> list[str]:
    """What differs from that commit, committed or not, and what git does not know yet."""
    named = git("diff", "--name-only", base).splitlines()
    return sorted({*named, *git("ls-files", "--others", "--exclude-standard").splitlines()})


def steps(concern: Concern, jobs: str) -> list[tuple[str, list[str]]]:
    """(what, command) in the order in which they run: what is concerned first."""
    python, built = str(ROOT / ".venv/bin/python"), str(ROOT / "build/release")
    pytest = [python, "-m", "pytest", "-q", "-x"]
    programs = [*concern.programs, *(name for name in CORE_PROGRAMS if name not in concern.programs)]
    core = [f"test_{name}.py" for name in CORE_TESTS]
    made = [("lint", [python, f"tools/check_{part}.py"]) for part in ("layers", "files", "names")]
    made += [("ruff", [python, "-m", "ruff", "check", "-q", "."])]
    made += [("syntax of scripts", ["bash", "-n", name]) for name in concern.scripts]
    targets = [*programs, "tessera_wheel"]
    made += [("build", ["cmake", "--build", built, "-j", jobs, "--target", *targets])]
    for name in programs:
        only = [SAMPLES] if name == "tessera_laws" else []
        made.append((name, [f"{built}/bin/{name}", "--gtest_brief=1", *only]))
    if concern.package:
        made.append(("types", [python, "-m", "mypy", "--config-file", "pyproject.toml", "-p", "tessera"]))
    for name in [*concern.tests, *(name for name in core if name not in concern.tests)]:
        made.append((name, [*pytest, f"tests/python/{name}"]))
    if concern.pages:
        made.append(("documentation", [*pytest, "tests/python/test_docs.py", "-k", " or ".join(concern.pages)]))
    return made


def main() -> int:
    limit = float(os.environ.get("TESSERA_CHECK_SECONDS", "300"))
    began = time.monotonic()
    base = base_of(sys.argv[1] if len(sys.argv) > 1 else None)
    changed = changed_files(base)
    print(f"check: {len(changed)} files differ from {base[:12]}", flush=True)
    built = ROOT / "build/release/python"
    environment = {**os.environ, "MYPYPATH": str(built), "PYTHONPATH": str(built)}
    failed, left = [], []
    for what, command in steps(concerned(changed), os.environ.get("JOBS", "2")):
        passed = time.monotonic() - began
        if passed > limit:
            left.append(what)
            continue
        print(f"\n== {what} ({passed:.0f} s)", flush=True)
        try:  # the build is not cut short: nothing can run without it, and what it made is there the next time
            within = None if what == "build" else max(limit - passed, 1)
            status = subprocess.run(command, cwd=ROOT, env=environment, timeout=within).returncode
        except subprocess.TimeoutExpired:
            left.append(what)
            continue
        # pytest says 5 where a page has nothing that runs
        if status not in ((0, 5) if what == "documentation" else (0,)):
            failed.append(what)
            if what == "build":
                break
    seconds = time.monotonic() - began
    if left:
        print(f"\ncheck: no time for {', '.join(left)}; `make test` runs them, TESSERA_CHECK_SECONDS gives more")
    print(f"\ncheck: {'failed: ' + ', '.join(failed) if failed else 'passed'} after {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
