"""The roles of docs/postgres.md: what the page creates is enough for each command, and no more."""

import asyncio
import os
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from slotwise.checks import BadInput
from slotwise.service.maintenance.verify import verify
from slotwise.service.store.postgres.postgres_store import change_postgres, create_postgres, read_postgres
from tests.postgres_server import VARIABLE, running_server
from tests.service.store.test_nodes import ANY, click, define, nodes, statuses

PAGE = Path(__file__).parents[3] / "docs" / "postgres.md"


def statements() -> list[str]:
    found = re.search(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    lines = [line for line in found[1].splitlines() if not line.startswith("--")]
    return [statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()]


@pytest.mark.skipif(VARIABLE in os.environ, reason="creates roles and a database with the names on the page")
def test_the_roles_of_the_page_are_enough_and_may_do_no_more() -> None:
    with running_server() as server:
        folder = parse_qs(urlsplit(server.address).query)["host"][0]

        def address(role: str) -> str:
            return f"postgresql://{role}@/shop?host={folder}"

        with psycopg.connect(server.address, autocommit=True) as connection:
            for statement in statements():
                if not statement.startswith("ALTER DEFAULT"):
                    connection.execute(statement)  # type: ignore[call-overload]
        with psycopg.connect(address("slotwise_owner"), autocommit=True) as connection:
            for statement in statements():
                if statement.startswith("ALTER DEFAULT"):
                    connection.execute(statement)  # type: ignore[call-overload]
        create_postgres(address("slotwise_owner"))

        async def scenario() -> None:
            async with nodes(address("slotwise_service"), address("slotwise_service")) as (first, second):
                await define(first)
                shown = (await first.recommend("shop", ANY)).display
                assert await statuses(second, click(shown)) == ["accepted"]
                await first.store.do(lambda ledger: ledger.prune(first.store.clock(), 10))
                await first.store.do(lambda ledger: ledger.fold_nodes(first.store.clock() + 1e5, 10))

        asyncio.run(scenario())
        reader = address("slotwise_reader")
        assert verify(reader).differences == []
        assert len(read_postgres(reader, lambda ledger: ledger.log(1, 0, 10))) == 2
        with pytest.raises(BadInput, match="permission denied"):
            change_postgres(reader, lambda ledger: ledger.save_secrets([(0.0, "secret")]))
        for role in ("slotwise_reader", "slotwise_service"):
            with psycopg.connect(address(role), autocommit=True) as connection, pytest.raises(psycopg.Error):
                connection.execute("DROP TABLE keys")
