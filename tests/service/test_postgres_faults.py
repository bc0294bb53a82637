"""Three nodes under load over one database, while faults are injected. A client keeps its own oracle.

An event that was answered `accepted` must be in the database, and every click must count once.
"""

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.postgres_server import PostgresServer, running_server
from tests.service.postgres_cluster import NODES, Cluster
from tests.service.postgres_faults import Faults
from tests.tcp_proxy import Fault

LONGEST = 15.0  # seconds that a running node may fail to recommend, on a busy machine


@pytest.fixture
def cluster(postgres: PostgresServer) -> Iterator[Cluster]:
    made = Cluster(postgres.database(), seed=0)
    try:
        yield made
    finally:
        made.kill()


def test_faults_lose_no_accepted_click_and_count_none_twice(cluster: Cluster) -> None:
    """Twelve faults, each of another kind or moment. The clocks of the nodes differ by an hour."""
    cluster.define()
    cluster.start()
    faults = Faults(cluster)
    for fault in (Fault.BEFORE, Fault.DURING, Fault.AFTER):
        faults.cut_commit(1, fault)
    faults.force_deadlock(0)
    faults.fail_to_serialize(0)
    faults.cut_connections(2)
    faults.end_backends(0)
    faults.stop_a_while(0, 0.5)
    faults.come_back_after_an_hour(1)
    faults.slow_down(1)
    faults.exhaust_readers(0)
    faults.kill(2)
    cluster.finish()
    cluster.check()


@pytest.mark.soak
def test_hundreds_of_faults() -> None:
    """`SLOTWISE_FAULTS` says how many, `SLOTWISE_FAULT_SEED` which. PostgreSQL itself is restarted, too."""
    number, seed = int(os.environ.get("SLOTWISE_FAULTS", "200")), int(os.environ.get("SLOTWISE_FAULT_SEED", "1"))
    with running_server() as server:
        cluster = Cluster(server.database(), seed)
        try:
            cluster.define()
            cluster.start()
            faults, happened = Faults(cluster), Counter[str]()
            for k in range(number):
                if k % 20 == 19:
                    server.restart(cluster.random.choice(["fast", "immediate"]))
                    happened["restart of PostgreSQL"] += 1
                elif k % 50 == 30:
                    faults.kill_all()
                    happened["kill of all nodes"] += 1
                elif k % 50 == 40:
                    faults.stop_for_long(cluster.random.randrange(NODES))
                    happened["stop for 30 seconds"] += 1
                else:
                    happened[faults.any()] += 1
                if k % 50 == 49:
                    print(f"{k + 1} faults: {dict(happened)}; {cluster}", flush=True)
            cluster.finish()
            cluster.check()
            print(f"{number} faults: {dict(happened)}; {cluster}")
            assert max(probe.longest for probe in cluster.probes) < LONGEST
        finally:
            cluster.kill()
