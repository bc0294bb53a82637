"""`python -m benchmarks`: run every benchmark, and fail if a limit is exceeded. `--memory` adds the long memory run."""

import sys

from benchmarks import (
    dashboard,
    estimators,
    event_loop,
    feature_speed,
    keys,
    logs,
    page_features,
    pb_mhb_speed,
    pmed_speed,
    policy_speed,
    sampler,
    service,
    slot_ids_speed,
    time_scaling,
    tracker,
)

if __name__ == "__main__":
    results = [
        benchmark.main()
        for benchmark in (
            pb_mhb_speed,
            time_scaling,
            policy_speed,
            pmed_speed,
            estimators,
            logs,
            sampler,
            slot_ids_speed,
            feature_speed,
            service,
            keys,
            page_features,
            event_loop,
            dashboard,
            tracker,
        )
    ]
    sys.exit(not all(results))
