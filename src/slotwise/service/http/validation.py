"""Validate request bodies and names. msgspec says what is wrong, and this module adds what would be right."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from slotwise.service.errors import DoesNotFit
from slotwise.service.http.problems import Problem

Decoded = TypeVar("Decoded")


class ValidationFailure(NamedTuple):
    """What is wrong, and msgspec's path to the invalid value, such as `$.positions[0]`.

    If the key of a mapping is invalid, the path starts with "key in".
    """

    detail: str
    path: str


def body_decoder(type_: type[Decoded], is_optional: bool) -> Callable[[bytes], Decoded]:
    """A function that decodes request bodies of this type. If the body is optional, an empty body becomes `type_()`.

    The function raises Problem 400 if the body is not JSON, and `DoesNotFit` if the JSON has another type.
    """
    decode_json = msgspec.json.Decoder(type_).decode
    empty_body = type_() if is_optional else None

    def decode(content: bytes) -> Decoded:
        if not content and empty_body is not None:
            return empty_body
        try:
            return decode_json(content)
        except msgspec.ValidationError as error:
            detail, path = describe_failure(error, type_)
            raise DoesNotFit.at(_pointer(path), detail) from None
        except RecursionError:
            raise Problem(400, "the body is nested too deeply") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Problem(400, f"the body is not valid JSON: {error}") from None

    return decode


def check_value(name: str, value: str, type_: Any) -> None:
    """Raise `DoesNotFit` if a parameter of the path or the query is not of this type."""
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise DoesNotFit(f"{name} = {value!r}: {describe_failure(error, type_).detail}") from None


def describe_failure(error: msgspec.ValidationError, type_: Any, other_fields: Iterable[str] = ()) -> ValidationFailure:
    """Describe why a value is not of this type. `other_fields` are allowed too, but they are decoded elsewhere."""
    detail, _, path = str(error).partition(" - at ")
    if detail.startswith(("Invalid enum value", "Object contains unknown field", "Expected `str` matching regex")):
        for candidate in _types_at(inspect.type_info(type_), path):
            detail = _with_allowed_values(detail, candidate, other_fields)
    return ValidationFailure(detail, path.strip("`"))


def _with_allowed_values(detail: str, candidate: inspect.Type, other_fields: Iterable[str]) -> str:
    """The detail, followed by the allowed values if the detail is about this type."""
    bare = _without_metadata(candidate)
    if isinstance(bare, inspect.LiteralType) and detail.startswith("Invalid enum"):
        return f"{detail}; allowed: {', '.join(map(str, bare.values))}"
    if isinstance(bare, inspect.StructType) and detail.startswith("Object"):
        fields = [field.encode_name for field in bare.fields] + list(other_fields)
        similar = get_close_matches(detail.split("`")[1], fields, n=1, cutoff=0.7)
        return f"{detail}; " + (f"did you mean `{similar[0]}`?" if similar else f"known: {', '.join(sorted(fields))}")
    if isinstance(candidate, inspect.Metadata) and detail.startswith("Expected"):
        return f"this name is not allowed; needed: {(candidate.extra_json_schema or {})['description']}"
    return detail


def _types_at(root: inspect.Type, path: str) -> list[inspect.Type]:
    """The types that a path of msgspec may refer to. A union has several types."""
    candidates = _members(root)
    for field, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", path):
        inner = [_inner_type(_without_metadata(candidate), field, index) for candidate in candidates]
        candidates = [member for type_ in inner for member in _members(type_)]
    if path.startswith("`key`"):
        return [bare.key_type for bare in map(_without_metadata, candidates) if isinstance(bare, inspect.DictType)]
    return candidates


def _inner_type(bare: inspect.Type, field: str, index: str) -> inspect.Type | None:
    if isinstance(bare, inspect.StructType) and field:
        return next((known.type for known in bare.fields if known.encode_name == field), None)
    if isinstance(bare, inspect.ListType) and index:
        return bare.item_type
    return bare.value_type if isinstance(bare, inspect.DictType) and index else None


def _members(type_: inspect.Type | None) -> list[inspect.Type]:
    if isinstance(type_, inspect.UnionType):
        return list(type_.types)
    return [] if type_ is None else [type_]


def _without_metadata(type_: inspect.Type) -> inspect.Type:
    return type_.type if isinstance(type_, inspect.Metadata) else type_


def _pointer(path: str) -> str:
    """Turn `$.positions[0]` into the JSON pointer /positions/0.

    msgspec does not name the keys of a mapping, so they become "-".
    """
    inside = path.rpartition("$")[2].replace("[...]", "/-")
    return re.sub(r"\[(\d+)\]", r"/\1", inside).replace(".", "/")
