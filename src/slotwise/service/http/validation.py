"""Words for what does not fit a type: msgspec says what is wrong, this adds what would be right."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect


class Misfit(NamedTuple):
    """What is wrong, and where, as msgspec writes it: `$.positions[0]`, and after "key in" for a key."""

    line: str
    path: str


def misfit(error: msgspec.ValidationError, kind: Any, also: Iterable[str] = ()) -> Misfit:
    """An error of reading something as this type, in words; `also` are fields that others read."""
    line, _, path = str(error).partition(" - at ")
    if line.startswith(("Invalid enum value", "Object contains unknown field", "Expected `str` matching regex")):
        for found in _at(inspect.type_info(kind), path):
            line = _words(line, found, also)
    return Misfit(line, path.strip("`"))


def _words(line: str, found: inspect.Type, also: Iterable[str]) -> str:
    """The line with what this type allows, where it is about that."""
    plain = _plain(found)
    if isinstance(plain, inspect.LiteralType) and line.startswith("Invalid enum"):
        return f"{line}; allowed: {', '.join(map(str, plain.values))}"
    if isinstance(plain, inspect.StructType) and line.startswith("Object"):
        fields = [field.encode_name for field in plain.fields] + list(also)
        near = get_close_matches(line.split("`")[1], fields, n=1, cutoff=0.7)
        return f"{line}; " + (f"did you mean `{near[0]}`?" if near else f"known: {', '.join(sorted(fields))}")
    if isinstance(found, inspect.Metadata) and line.startswith("Expected"):
        return f"this name is not allowed; needed: {(found.extra_json_schema or {})['description']}"
    return line


def _at(whole: inspect.Type, path: str) -> list[inspect.Type]:
    """The types that msgspec may have meant by a path: several where there is a choice."""
    found = _choices(whole)
    for field, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", path):
        found = [inner for one in found for inner in _choices(_inside(_plain(one), field, index))]
    if path.startswith("`key`"):
        found = [one.key_type for one in map(_plain, found) if isinstance(one, inspect.DictType)]
    return found


def _inside(plain: inspect.Type, field: str, index: str) -> inspect.Type | None:
    if isinstance(plain, inspect.StructType) and field:
        return next((one.type for one in plain.fields if one.encode_name == field), None)
    if isinstance(plain, inspect.ListType) and index:
        return plain.item_type
    return plain.value_type if isinstance(plain, inspect.DictType) and index else None


def _choices(found: inspect.Type | None) -> list[inspect.Type]:
    if isinstance(found, inspect.UnionType):
        return list(found.types)
    return [] if found is None else [found]


def _plain(found: inspect.Type) -> inspect.Type:
    return found.type if isinstance(found, inspect.Metadata) else found
