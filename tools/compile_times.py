# SPDX-License-Identifier: Apache-2.0
"""Lists the slowest compilations of a build folder, from ninja's log.

usage: compile_times.py BUILD_DIR [how many]

Times are what ninja last saw: with a warm compiler cache they are short. For true ones, build with
CCACHE_DISABLE=1 in a fresh folder.
"""

import sys
from pathlib import Path


def main(folder: str, count: int = 10) -> None:
    seconds: dict[str, float] = {}
    for line in (Path(folder) / ".ninja_log").read_text().splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[3].endswith(".o"):
            seconds[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    for name, value in sorted(seconds.items(), key=lambda item: -item[1])[:count]:
        print(f"{value:7.1f} s  {name.split('.dir/')[-1]}")
    print(f"{sum(seconds.values()):7.1f} s  in all, {len(seconds)} files")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
