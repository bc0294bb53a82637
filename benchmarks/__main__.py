"""`python -m benchmarks`: run every benchmark, and fail if a limit is exceeded. `--memory` adds the long memory run."""

import sys

from benchmarks import ensemble, estimators, growth, logs, pmed_cost, policies, sampler, service, speed

if __name__ == "__main__":
    results = [
        benchmark.main()
        for benchmark in (speed, growth, policies, pmed_cost, estimators, logs, sampler, ensemble, service)
    ]
    sys.exit(not all(results))
