"""`python -m benchmarks`: every benchmark; fails when a limit does not hold. With --memory also the long one."""

import sys

from benchmarks import estimators, growth, pmed_cost, policies, sampler, service, speed

if __name__ == "__main__":
    good = [benchmark.main() for benchmark in (speed, growth, policies, pmed_cost, estimators, sampler, service)]
    sys.exit(not all(good))
