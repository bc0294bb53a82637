"""Tokens: which are valid, for how long, and what they allow."""

import hashlib
from pathlib import Path

from itsdangerous import Signer

from slotwise.service.tokens import TokenClaims, Tokens
from tests.service.running_service import Client, run_scenario


def test_only_a_token_of_this_display_is_valid(tmp_path: Path) -> None:
    async def scenario(one: Client) -> None:
        await one.page(click_window=100)
        mine, other = await one.recommend(), await one.recommend()
        token = mine["token"]
        body, _, signature = token.rpartition(".")
        forged = f"{other['id']}.{body.partition('.')[2]}.{signature}"
        click = {"type": "click", "position": "hero"}
        wrong = [{**click, "token": text} for text in (forged, token[:-1] + "x", "x", body, token + "é")]
        assert await one.send(*wrong, {**click, "token": token, "display": other["id"]}) == ["rejected"] * 6
        assert await one.send({"type": "discard", "token": token}, {**click}) == ["rejected"] * 2
        one.clock.now += 102
        assert await one.send({**click, "token": token}) == ["rejected"]
        assert (await one.service.model("shop")).counts().clicks.sum() == 0.0

    run_scenario(tmp_path, scenario)


def test_secrets_rotate_and_old_tokens_stay_good(tmp_path: Path) -> None:
    async def scenario(one: Client) -> None:
        await one.page(click_window=10 * 86400)
        first = await one.recommend()
        one.clock.now += 2 * 86400
        await one.service.tick()
        second = await one.recommend()
        clicks = [{"type": "click", "position": "hero", "token": row["token"]} for row in (first, second)]
        assert await one.send(*clicks) == ["accepted", "accepted"]
        assert len(await one.service.store.read(lambda ledger: ledger.secrets())) == 2

    run_scenario(tmp_path, scenario)


def test_tokens_are_those_of_the_library() -> None:
    """With the secret, itsdangerous alone can read them."""
    for secret in ("short", "x" * 43, "long" * 40):
        token = Tokens([(0.0, secret)]).sign(TokenClaims("d", 7, 1), 100.0)
        assert Signer(secret, key_derivation="none", digest_method=hashlib.sha256).unsign(token) == b"d.7.1.64"
