"""The keys in memory: changes by other processes apply, and uses are saved at most once an hour."""

import asyncio
import time
from pathlib import Path

from slotwise.client.keys import StoreKeys
from slotwise.service.keys.key_cache import POLL_SECONDS
from tests.service.running_service import START, Client, run_scenario
from tests.waiting import until


def test_changes_of_another_process_apply(tmp_path: Path) -> None:
    """`StoreKeys` has a connection of its own, as another process has."""

    async def scenario(client: Client) -> None:
        cache, keys = client.service.keys, StoreKeys(tmp_path / "store.db")
        client.clock.now = time.time() + 100.0  # `StoreKeys` uses the clock of the machine
        running = asyncio.create_task(cache.run())
        new = await asyncio.to_thread(keys.create, {"name": "web", "scopes": ["serve"]})
        secret = new["key"].encode()
        await until(lambda: cache.find(secret) is not None)
        assert cache.find(secret[:-1]) is None
        await asyncio.to_thread(keys.revoke, new["id"])
        await until(lambda: not cache.any_active())
        found = cache.find(secret)
        assert found is not None
        assert found.key.status(client.clock.now) == "revoked"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    assert POLL_SECONDS <= 0.5  # a change applies within a second
    run_scenario(tmp_path, scenario)


def test_a_rate_limit_goes_on_when_keys_change(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        new = await client.create_key("serve", rate=1.0)
        found = client.service.keys.find(new.secret.encode())
        assert found is not None
        assert found.limit is not None
        assert found.limit.take(5.0) == 0.0
        await client.create_key("read")
        again = client.service.keys.find(new.secret.encode())
        assert again is found
        assert found.limit.take(5.0) > 0.0

    run_scenario(tmp_path, scenario)


def test_a_use_is_saved_once_an_hour(tmp_path: Path) -> None:
    hour = START // 3600 * 3600

    async def scenario(client: Client) -> None:
        store, cache = client.service.store, client.service.keys
        new = await client.create_key("read")
        client.use_key(new)

        async def last_used() -> float | None:
            await cache.save_uses()
            stored = await store.read(lambda ledger: ledger.key(new.key.id))
            assert stored is not None
            return stored.last_used

        assert await last_used() is None
        client.clock.now = hour + 10.0
        await client.ok("GET", "/v1/version")
        assert await last_used() == hour
        client.clock.now = hour + 3599.0
        await client.ok("GET", "/v1/version")
        assert cache._used == {}  # nothing is written within the hour
        client.clock.now = hour + 3600.0
        await client.ok("GET", "/v1/version")
        assert await last_used() == hour + 3600.0

    run_scenario(tmp_path, scenario, with_keys=True)
