"""The logs of the Open Bandit Dataset: one page, a line for each of the displayed positions."""

from slotwise.logs.schema import Schema

SCHEMA = Schema(page=None, item="item_id", position="position", clicked="click")
