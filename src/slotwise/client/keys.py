"""Create, list, revoke and rotate keys: in a store, or through a running service."""

import getpass
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from slotwise.checks import BadInput
from slotwise.client.http_client import HttpClient, path_of
from slotwise.service.api.history import read_history
from slotwise.service.api.keys import view_key
from slotwise.service.errors import ServiceError
from slotwise.service.history import STORE, Author
from slotwise.service.http.validation import describe_failure
from slotwise.service.keys.api_keys import NewKey
from slotwise.service.keys.key_changes import KeySpec, create_key, revoke_key, rotate_key
from slotwise.service.store.direct_keys import change_any_keys, create_any_store
from slotwise.service.store.ledger import KeyLedger

Result = TypeVar("Result")


class Keys(Protocol):
    """Where keys are changed. New keys are returned as `{"id": ..., "key": ...}`."""

    def create(self, spec: dict[str, Any]) -> dict[str, str]: ...

    def list(self) -> list[dict[str, Any]]: ...

    def revoke(self, id: str) -> None: ...

    def rotate(self, id: str, overlap: float) -> dict[str, str]: ...

    def history(self, before: int | None) -> dict[str, Any]: ...


class StoreKeys:
    """The keys of a store. A service may run on it."""

    def __init__(self, store: Path | str) -> None:
        self._store = store

    def create(self, spec: dict[str, Any]) -> dict[str, str]:
        try:
            checked = msgspec.convert(spec, KeySpec)
        except msgspec.ValidationError as error:
            detail, path = describe_failure(error, KeySpec)
            raise BadInput(f"this key cannot be created: {path.removeprefix('$.')}: {detail}") from None
        create_any_store(self._store)
        return _shown(self._change(lambda ledger: create_key(ledger, checked, time.time(), _this_user())))

    def list(self) -> list[dict[str, Any]]:
        now = time.time()
        keys = self._change(lambda ledger: ledger.keys())
        return [msgspec.to_builtins(view_key(key, now)) for key in keys]

    def revoke(self, id: str) -> None:
        self._change(lambda ledger: revoke_key(ledger, id, time.time(), _this_user()))

    def rotate(self, id: str, overlap: float) -> dict[str, str]:
        return _shown(self._change(lambda ledger: rotate_key(ledger, id, overlap, time.time(), _this_user())))

    def history(self, before: int | None) -> dict[str, Any]:
        history: dict[str, Any] = msgspec.to_builtins(self._change(lambda ledger: read_history(ledger, STORE, before)))
        return history

    def _change(self, operation: Callable[[KeyLedger], Result]) -> Result:
        try:
            return change_any_keys(self._store, operation)
        except ServiceError as error:
            fields = "; ".join(f"{field.pointer}: {field.detail}" for field in error.errors)
            raise BadInput(fields or error.detail) from None


class ServiceKeys:
    """The keys of a running service."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    def create(self, spec: dict[str, Any]) -> dict[str, str]:
        return dict(self._client.call("POST", "/v1/keys", spec))

    def list(self) -> list[dict[str, Any]]:
        return list(self._client.call("GET", "/v1/keys")["keys"])

    def revoke(self, id: str) -> None:
        self._client.call("DELETE", path_of("keys", id))

    def rotate(self, id: str, overlap: float) -> dict[str, str]:
        return dict(self._client.call("POST", path_of("keys", id, "rotate"), {"overlap": overlap}))

    def history(self, before: int | None) -> dict[str, Any]:
        return dict(self._client.call("GET", path_of("history") + ("" if before is None else f"?before={before}")))


def _this_user() -> Author:
    """The author of a change of the store: the user who runs the command."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user without a name
        name = str(os.getuid())
    return Author(None, f"user {name}")


def _shown(new: NewKey) -> dict[str, str]:
    return {"id": new.key.id, "key": new.secret}
