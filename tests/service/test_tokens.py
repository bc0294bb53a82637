"""Tokens: which ones are valid, and for how long."""

import hashlib
from pathlib import Path

from itsdangerous import Signer

from slotwise.service.tokens import TokenClaims, Tokens
from tests.service.running_service import Client, run_scenario


def test_only_a_token_of_this_display_is_valid(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(click_window=100)
        mine, other = await client.recommend(), await client.recommend()
        token = mine["token"]
        body, _, signature = token.rpartition(".")
        forged = f"{other['id']}.{body.partition('.')[2]}.{signature}"
        click = {"type": "click", "position": "hero"}
        wrong = [{**click, "token": text} for text in (forged, token[:-1] + "x", "x", body, token + "é")]
        assert await client.send(*wrong, {**click, "token": token, "display": other["id"]}) == ["rejected"] * 6
        assert await client.send({"type": "discard", "token": token}, {**click}) == ["rejected"] * 2
        client.clock.now += 102
        assert await client.send({**click, "token": token}) == ["rejected"]
        assert (await client.service.model("shop")).counts().clicks.sum() == 0.0

    run_scenario(tmp_path, scenario)


def test_old_tokens_stay_valid_after_a_rotation_of_secrets(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(click_window=10 * 86400)
        first = await client.recommend()
        client.clock.now += 2 * 86400
        await client.service.tick()
        second = await client.recommend()
        clicks = [{"type": "click", "position": "hero", "token": row["token"]} for row in (first, second)]
        assert await client.send(*clicks) == ["accepted", "accepted"]
        assert len(await client.service.store.read(lambda ledger: ledger.secrets())) == 2

    run_scenario(tmp_path, scenario)


def test_tokens_of_earlier_versions_stay_valid() -> None:
    """They have a signature by HMAC-SHA256, as itsdangerous makes it."""
    for secret in ("short", "x" * 43, "long" * 40):
        tokens = Tokens([(0.0, "another"), (1.0, secret), (2.0, "newest")])
        signer = Signer(secret, key_derivation="none", digest_method=hashlib.sha256)
        token = signer.sign("d.7.1.64").decode()
        assert tokens.read(token, 100.0) == TokenClaims("d", 7, 1)
        assert tokens.read(token, 101.0) == "the token has expired"
        assert isinstance(tokens.read(token.replace("d.7", "e.7"), 100.0), str)


def test_a_signature_belongs_to_its_secret() -> None:
    tokens = [Tokens([(0.0, secret)]) for secret in ("one", "two")]
    token = tokens[0].sign(TokenClaims("d", 7, 1), 99.5)
    assert tokens[0].read(token, 100.0) == TokenClaims("d", 7, 1)
    assert tokens[1].read(token, 100.0) == "the token was not issued by this service"
    assert Tokens([(0.0, "two"), (1.0, "one")]).read(token, 100.0) == TokenClaims("d", 7, 1)
