# SPDX-License-Identifier: Apache-2.0
"""usage: fuzz_matrix.py SECONDS [FIRST]: cases of test_matrix_forms and test_linalg_residuals, one after the other.

Without FIRST it begins anywhere. What fails names its number: TESSERA_CASE=NUMBER with pytest and the file runs it alone."""

import os
import sys
import time
import warnings

os.environ.setdefault("TESSERA_POISON", "1")
os.environ.setdefault("TESSERA_CASES", "1")  # matrices of up to 200 rows

import test_linalg_residuals  # noqa: E402
import test_matrix_forms  # noqa: E402


def main(seconds, first):
    warnings.simplefilter("ignore")
    end, failed = time.monotonic() + seconds, 0
    number = first
    while time.monotonic() < end:
        for family in (test_matrix_forms, test_linalg_residuals):
            try:
                family.run_case(number)
            except AssertionError as error:
                failed += 1
                print(f"{family.__name__}: {error}", flush=True)
        number += 1
    print(f"fuzz_matrix: {2 * (number - first)} cases from {first} on, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    start = int(sys.argv[2]) if len(sys.argv) > 2 else int.from_bytes(os.urandom(4), "little")
    sys.exit(main(float(sys.argv[1]), start))
