"""Calls in the form of Azure Personalizer, so that its users can move by changing an address.

An action is an item, a slot is a position, and an event is a display. A call without slots needs a layout with one
position. A reward above 0 is a click. Features are ignored.

Each call has two addresses: one below the address of a page, and the one that Personalizer has. There, the page is the
one that the key is for.
"""

from collections.abc import Sequence
from typing import Annotated, Any, get_args

from msgspec import Meta, Raw, Struct

from slotwise.service.api.route import Call, PersonalizerVersion, Response, Route
from slotwise.service.displays import IssuedDisplay
from slotwise.service.errors import Conflict, DoesNotFit, NotFound
from slotwise.service.pages.limits import MOST_POSITIONS, Identifier, ItemName, Name
from slotwise.service.pages.page_model import PageModel
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.store.records import Display, Event

_PATH = "/personalizer/{version}"
_OF_PAGE = "/v1/pages/{page}"
_MOST_ACTIONS, _MOST_FEATURES = 500, 100  # Personalizer allows 50 actions
Features = Annotated[list[Raw], Meta(max_length=_MOST_FEATURES)]
ItemNames = Annotated[list[ItemName], Meta(max_length=_MOST_ACTIONS)]
Reward = Annotated[float, Meta(ge=-1e9, le=1e9)]


class RankableAction(Struct):
    """An item that may be shown."""

    id: ItemName
    features: Features | None = None


class RankRequest(Struct, rename="camel"):
    """Items, one of which is to be shown."""

    actions: Annotated[list[RankableAction], Meta(min_length=1, max_length=_MOST_ACTIONS)]
    context_features: Features | None = None
    excluded_actions: ItemNames | None = None
    event_id: Identifier | None = None
    defer_activation: bool | None = False


class RankedAction(Struct, omit_defaults=True):
    """An item of the request. The one to show has the probability with which it was chosen, if that is known."""

    id: str
    probability: float | None = None


class RankResponse(Struct, rename="camel"):
    """The item to show, and all items of the request. The item to show is the first of them."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class Slot(Struct, rename="camel"):
    """A position."""

    id: Name
    features: Features | None = None
    excluded_actions: ItemNames | None = None
    baseline_action: ItemName | None = None


class MultiSlotRankRequest(Struct, rename="camel"):
    """Items, and the positions of a layout. Each position is to show one of the items."""

    actions: Annotated[list[RankableAction], Meta(min_length=1, max_length=_MOST_ACTIONS)]
    slots: Annotated[list[Slot], Meta(min_length=1, max_length=MOST_POSITIONS)]
    context_features: Features | None = None
    event_id: Identifier | None = None
    defer_activation: bool | None = False


class SlotChoice(Struct, rename="camel"):
    """The item to show at a position."""

    id: str
    reward_action_id: str


class MultiSlotRankResponse(Struct, rename="camel"):
    """The item to show at each position."""

    slots: list[SlotChoice]
    event_id: str


class RewardRequest(Struct):
    """The reward of a display with one position."""

    value: Reward


class SlotReward(Struct, rename="camel"):
    """The reward of one position."""

    slot_id: Name
    value: Reward


class MultiSlotRewardRequest(Struct):
    """The rewards of some positions of a display. The others have no reward."""

    reward: Annotated[list[SlotReward], Meta(min_length=1, max_length=MOST_POSITIONS)]


async def rank(call: Call[RankRequest]) -> Response:
    """Choose one of the items."""
    model = await _model(call)
    layout, positions = next(iter(model.page.body.spec.all_layouts().items()))
    if len(positions) != 1:
        line = f"layout {layout!r} has {len(positions)} positions, and this call needs one; use multislot/rank"
        raise DoesNotFit.at("", line)
    excluded = call.body.excluded_actions or []
    issued = await _issue(call, model, layout, excluded)
    (shown,) = _shown(issued, positions)
    others = [action.id for action in call.body.actions if action.id != shown]
    (entry,) = issued.display.entries
    ranking = [RankedAction(shown, entry.propensity), *map(RankedAction, dict.fromkeys(others))]
    return Response(201, RankResponse(ranking, issued.display.id, shown))


async def rank_slots(call: Call[MultiSlotRankRequest]) -> Response:
    """Choose an item for each position."""
    model = await _model(call)
    slots = [slot.id for slot in call.body.slots]
    layouts = model.page.body.spec.all_layouts()
    layout = next((name for name, positions in layouts.items() if sorted(positions) == sorted(slots)), None)
    if layout is None:
        known = "; ".join(f"{name}: {', '.join(positions)}" for name, positions in layouts.items())
        raise DoesNotFit.at("/slots", f"no layout has exactly these positions; the page has {known}")
    for number, slot in enumerate(call.body.slots):
        if slot.excluded_actions:
            raise DoesNotFit.at(f"/slots/{number}/excludedActions", "an item cannot be excluded from one position only")
    issued = await _issue(call, model, layout, [])
    choices = [SlotChoice(*pair) for pair in zip(slots, _shown(issued, slots), strict=True)]
    return Response(201, MultiSlotRankResponse(choices, issued.display.id))


async def reward(call: Call[RewardRequest]) -> Response:
    """Record a click if the reward is above 0."""
    model, display = await _display(call)
    if len(display.entries) != 1:
        raise DoesNotFit.at("", "the event has several slots; use multislot/events")
    positions = [display.entries[0].position] if call.body.value > 0.0 else []
    return await _record(call, model, display, EventKind.CLICK, positions)


async def reward_slots(call: Call[MultiSlotRewardRequest]) -> Response:
    """Record a click at each position whose reward is above 0."""
    model, display = await _display(call)
    for number, slot in enumerate(call.body.reward):
        if display.entry_index(slot.slot_id) < 0:
            raise DoesNotFit.at(f"/reward/{number}/slotId", f"the event has no slot {slot.slot_id!r}")
    positions = [slot.slot_id for slot in call.body.reward if slot.value > 0.0]
    return await _record(call, model, display, EventKind.CLICK, positions)


async def activate(call: Call[None]) -> Response:
    """Record that a display was viewed."""
    model, display = await _display(call)
    return await _record(call, model, display, EventKind.VIEW, [None])


async def _model(call: Call[Any]) -> PageModel:
    version, known = call.path["version"], get_args(PersonalizerVersion)
    if version not in known:
        raise NotFound(f"there is no version {version[:100]!r} of these calls; known: {', '.join(known)}")
    return await call.service.model(call.path.get("page") or await _only_page(call))


async def _only_page(call: Call[Any]) -> str:
    """The page of an address that names none: the one that the key is for. In dev mode, the only page of the store."""
    pages = call.key.pages if call.key else await call.service.store.read(lambda ledger: ledger.page_names())
    if pages is not None and len(pages) == 1:
        return pages[0]
    needed = "a key that is for one page only" if call.key else "a store with one page only"
    raise NotFound(f"this address needs {needed}; use /v1/pages/PAGE{_PATH.partition('{')[0]}... instead")


async def _issue(call: Call[Any], model: PageModel, layout: str, excluded: list[str]) -> IssuedDisplay:
    """A display of the requested items. With a page whose displays count when viewed, it is viewed, unless deferred."""
    body, service = call.body, call.service
    viewed = model.page.body.spec.count == "viewed"
    if body.defer_activation and not viewed:
        line = "displays of this page count when they are issued; deferActivation needs a page with count: viewed"
        raise DoesNotFit.at("/deferActivation", line)
    actions = [action.id for action in body.actions]
    for number, action in enumerate(actions):
        if action not in model.items:
            raise DoesNotFit.at(f"/actions/{number}/id", f"{action!r} is not an item of the page; define it first")
    pinned = model.effective_pins(layout, service.clock()).values()
    unwanted = [item for item in pinned if item not in actions]  # a pin overrides eligibility
    left_out = [item for item in dict.fromkeys([*excluded, *unwanted]) if item in model.items]
    request = RecommendationRequest(body.event_id, layout, None, actions, left_out)
    issued = await service.recommend(model.page.name, request, fill_all=True)
    display = issued.display
    if viewed and not body.defer_activation and not display.degraded:
        await service.record_events([Event(EventKind.VIEW, display.id, display.nonce, display.page, None, None)])
    return issued


def _shown(issued: IssuedDisplay, positions: Sequence[str]) -> list[str]:
    """The item at each position. Raises Conflict if an earlier display with this id does not fill all positions."""
    shown = {entry.position: issued.model.names[entry.item] for entry in issued.display.entries}
    if set(positions) != set(shown):
        raise Conflict(f"the id {issued.display.id!r} was used for a display with other positions")
    return [shown[position] for position in positions]


async def _display(call: Call[Any]) -> tuple[PageModel, Display]:
    """The page of a call, and the display that the path names."""
    model = await _model(call)
    display = await call.service.find_display(call.path["event"])
    if display is None or display.page != model.page.number:
        raise NotFound(f"page {model.page.name!r} has no event {call.path['event'][:128]!r}")
    return model, display


async def _record(
    call: Call[Any], model: PageModel, display: Display, kind: EventKind, positions: list[Any]
) -> Response:
    """Commit an event for each position, then answer. Late rewards are ignored, as Personalizer ignores them."""
    events = [Event(kind, display.id, display.nonce, model.page.number, position, None) for position in positions]
    if events:
        recorded = await call.service.record_events(events, call.key)
        if any(outcome.status == "unknown" for outcome in recorded.outcomes):
            raise NotFound(f"page {model.page.name!r} has no event {display.id!r}")
    return Response(204)


_SERVE: Any = {"tag": "personalizer", "needs": "serve", "personalizer": True}
_FEEDBACK: Any = {"tag": "personalizer", "needs": "feedback", "personalizer": True}
_DONE: dict[int, tuple[str, Any]] = {204: ("recorded", None)}
_UNKNOWN = {404: "no such page, event or version"}
_TOO_FEW = {404: "no such page or version", 409: "too few items, or the id was used for another page or layout"}


def _routes(prefix: str, suffix: str, where: str, **options: Any) -> list[Route[Any]]:
    """The calls, below an address."""
    path = f"{prefix}{_PATH}"
    serve, feedback = _SERVE | options, _FEEDBACK | options
    return [
        Route(
            "POST", f"{path}/rank", f"personalizer_rank{suffix}", f"As Azure Personalizer{where}: choose one item.",
            rank, {201: ("the chosen item", RankResponse)}, _TOO_FEW, body=RankRequest, **serve,
        ),
        Route(
            "POST", f"{path}/multislot/rank", f"personalizer_rank_slots{suffix}",
            f"As Azure Personalizer{where}: choose an item for each position.", rank_slots,
            {201: ("the chosen items", MultiSlotRankResponse)}, _TOO_FEW, body=MultiSlotRankRequest, **serve,
        ),
        Route(
            "POST", f"{path}/events/{{event}}/reward", f"personalizer_reward{suffix}",
            f"As Azure Personalizer{where}: a reward.", reward, _DONE, _UNKNOWN, body=RewardRequest, **feedback,
        ),
        Route(
            "POST", f"{path}/multislot/events/{{event}}/reward", f"personalizer_reward_slots{suffix}",
            f"As Azure Personalizer{where}: rewards of positions.", reward_slots,
            _DONE, _UNKNOWN, body=MultiSlotRewardRequest, **feedback,
        ),
        Route(
            "POST", f"{path}/events/{{event}}/activate", f"personalizer_activate{suffix}",
            f"As Azure Personalizer{where}: the display was shown.", activate, _DONE, _UNKNOWN, **feedback,
        ),
        Route(
            "POST", f"{path}/multislot/events/{{event}}/activate", f"personalizer_activate_slots{suffix}",
            f"As Azure Personalizer{where}: the display was shown.", activate, _DONE, _UNKNOWN, **feedback,
        ),
    ]  # fmt: skip


ROUTES = [
    *_routes(_OF_PAGE, "", ""),
    *_routes("", "_of_key", ", for the page of the key", checks_pages=True),
]
