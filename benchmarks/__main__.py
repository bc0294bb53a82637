"""`python -m benchmarks`: every benchmark; fails when a limit does not hold. With --memory also the long one."""

import sys

from benchmarks import estimators, growth, policies, speed

if __name__ == "__main__":
    good = [benchmark.main() for benchmark in (speed, growth, policies, estimators)]
    sys.exit(not all(good))
