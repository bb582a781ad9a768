# SPDX-License-Identifier: Apache-2.0
"""No two types of one name: the linker would take the functions of either for both, without a word.

Looks at what is defined at the left margin, in named namespaces; types in anonymous namespaces are of their file.
"""

import re
import subprocess
import sys
from collections import defaultdict

SOURCES = (".hpp", ".cpp", ".cu", ".cuh")
OPENS = re.compile(r"namespace\s*([\w:]*)\s*\{")
CLOSES = re.compile(r"\}\s*//\s*namespace")
DEFINES = re.compile(r"(?:struct|class|enum class)\s+(?:TESSERA_API\s+)?(\w+)\s*(?:final\s*)?(?::[^:].*)?\{")


def defined_in(path):
    """The types of a file as (full name, line)."""
    names, before = [], ""
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if opened := OPENS.match(line):
                names.append(opened[1])
            elif CLOSES.match(line) and names:
                names.pop()
            elif (found := DEFINES.match(line)) and all(names) and not before.startswith("template"):
                yield "::".join([*names, found[1]]), number
            before = line


def main():
    places = defaultdict(list)
    tracked = subprocess.run(["git", "ls-files", "src", "tests"], capture_output=True, text=True, check=True).stdout
    for path in filter(lambda path: path.endswith(SOURCES), tracked.split()):
        for name, line in defined_in(path):
            places[name].append(f"{path}:{line}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    for name, where in sorted(twice.items()):
        print(f"{name} is defined {len(where)} times: {', '.join(where)}")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
