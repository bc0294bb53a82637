"""The logs of the Open Bandit Dataset. They have a single query and one line per displayed position."""

from slotwise.logs.schema import Schema

SCHEMA = Schema(query=None, item="item_id", position="position", clicked="click")
