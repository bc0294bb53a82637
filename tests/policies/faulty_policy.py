"""A policy from outside the package that makes a mistake on request. The mistake begins at display number `after`."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, add, empty, shift_many
from slotwise.jit import kernel

FAR = 10**9  # an index so far outside that the process ends if it is not checked


class Mistake(IntEnum):
    """What the policy does wrong."""

    NONE = 0
    NOTHING_FILLED = 1
    LAST_NOT_FILLED = 2
    TOO_LARGE = 3
    NEGATIVE = 4
    TWICE = 5
    LONG_ORDER = 6
    INDEX = 7
    STEP = 8
    RAISE = 9
    HELPER = 10
    UPDATE_RAISE = 11
    UPDATE_INDEX = 12
    UPDATE_WRITES = 13
    SCORE_THETA = 14
    SCORE_KAPPA = 15
    SCORE_RAISE = 16
    COUNTS = 17
    GROW = 18
    INIT = 19
    ADD = 20
    SHIFT_MANY = 21
    INIT_ADD = 22


class Params(NamedTuple):
    mistake: Mistake = Mistake.NONE
    after: int = 0


class State(NamedTuple):
    counts: CountArrays
    index: Floats


def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    if params.mistake == Mistake.INIT:
        raise ValueError("init")
    swapped = params.mistake == Mistake.COUNTS
    counts = empty(n_positions, n_items) if swapped else empty(n_items, n_positions)
    if params.mistake == Mistake.INIT_ADD:
        count_item(counts, FAR, n_positions)
    return State(counts, np.ones(n_items))


def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    size = n_items - 1 if params.mistake == Mistake.GROW else n_items
    return State(empty(size, n_positions), np.ones(n_items))


def count_item(counts: CountArrays, item: int, n_positions: int) -> None:
    add(counts, np.full(n_positions, item), np.zeros(n_positions, np.int64))  # in plain Python


@kernel
def helper(index: Floats) -> None:
    index[index.size + 5] = 1.0  # index of the helper


@kernel
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    mistake = params.mistake if state.counts.displays[0] >= params.after else 0
    last = display.size - 1
    if mistake == 1:
        return
    for position in range(display.size):
        if mistake != 2 or position < last:
            display[position] = position
    if mistake == 3:
        display[last] = state.index.size
    elif mistake == 4:
        display[last] = -1
    elif mistake == 5:
        display[last] = display[0]
    elif mistake == 6:
        arrange(state.index, state.index, display)  # as many positions as items
    elif mistake == 7:
        display[last + 1] = 0  # index of display
    elif mistake == 8:
        for position in range(0, last, params.mistake - mistake):  # a step of zero
            display[position] = position
    elif mistake == 9:
        raise RuntimeError("no more\ndisplays")
    elif mistake == 10:
        helper(state.index)


@kernel
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    add(state.counts, display, clicks)
    if state.counts.displays[0] > params.after:
        if params.mistake == 11:
            raise RuntimeError("no more updates")
        if params.mistake == 12:
            clicks[display.size + 3] = 1  # index of clicks
        if params.mistake == 13:
            display[1] = 1000
        if params.mistake == 20:
            add(state.counts, np.full(3, FAR), clicks)  # an item that does not exist
        if params.mistake == 21:
            far, one = np.full(3, FAR), np.ones(3)
            shift_many(state.counts, far, far, one, one, 1.0)  # which calls shift


@kernel
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    for item in range(theta.size):
        if params.mistake != 14 or item != 1:
            theta[item] = item
    for position in range(kappa.size):
        if params.mistake != 15 or position != 1:
            kappa[position] = -position
    if params.mistake == 16:
        raise RuntimeError("no more scores")
