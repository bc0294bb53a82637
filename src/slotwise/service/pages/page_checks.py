"""Check the definitions of pages and items, and the size of a page. Types of fields are checked elsewhere."""

from collections import Counter
from collections.abc import Collection

from slotwise.checks import BadInput
from slotwise.policies import policies
from slotwise.policies._policy_module import can_serve, find, make_params, serving_params
from slotwise.service.errors import FieldError
from slotwise.service.pages.folded import NOTHING_FOLDED, Folded
from slotwise.service.pages.limits import MOST_COLUMNS, MOST_COUNTS, MOST_ITEMS, MOST_ITEMS_EVER, MOST_SEGMENTS_EVER
from slotwise.service.pages.page_definition import MOST_HALF_LIVES, ItemSpec, PageBody, PageSpec, plain_number
from slotwise.service.pages.page_features import declaration_problems
from slotwise.service.pages.page_policy import serving_policy

MOST_SWEEPS, MOST_DRAWS = 100, 1_000  # of an ensemble: sweeps between two draws, and draws


def check_page(spec: PageSpec) -> list[FieldError]:
    """The problems in a page's definition, except fields of the wrong type."""
    problems: list[FieldError] = []
    if (spec.positions is None) == (spec.layouts is None):
        problems.append(FieldError("/positions", "either positions or layouts are needed, and not both"))
    for name, positions in spec.all_layouts().items():
        pointer = "/positions" if spec.layouts is None else f"/layouts/{name}"
        problems += [FieldError(pointer, line) for line in _repeated("position", positions)]
    problems += [FieldError("/segments", line) for line in _repeated("segment", spec.segments)]
    problems += [FieldError("/default_order", line) for line in _repeated("item", spec.default_order)]
    problems += declaration_problems(spec.features)
    problems += _policy_problems(spec)
    if spec.retention is not None and spec.retention < spec.click_window:
        retention, window = plain_number(spec.retention), plain_number(spec.click_window)
        problems.append(FieldError("/retention", f"{retention} is shorter than the click_window, {window}"))
    if spec.half_life is not None:
        problems += [FieldError("/half_life", line) for line in _half_life_problems(spec, spec.half_life)]
    return problems


def _half_life_problems(spec: PageSpec, half_life: float) -> list[str]:
    longest = MOST_HALF_LIVES * half_life
    durations = {"click_window": spec.click_window, "retention": spec.retention or 0.0}
    least = max(durations.values()) / MOST_HALF_LIVES
    too_long = [name for name, seconds in durations.items() if seconds > longest]
    if not too_long:
        return []
    now = ", ".join(f"{name} is {plain_number(durations[name])}" for name in too_long)
    most = plain_number(longest)
    return [
        f"with a half_life of {plain_number(half_life)} seconds the log is kept for {most} at most, but {now}: "
        f"make half_life at least {plain_number(least)}, or {' and '.join(too_long)} at most {most}"
    ]


def most_items(body: PageBody, folded: Folded) -> int:
    """How many items a page can have within the limits, including folded ones."""
    segments, columns = len(body.segments) - len(folded.segments), body.n_columns - len(folded.columns)
    in_memory = min(MOST_ITEMS, MOST_COUNTS // (segments * columns))
    return min(in_memory + len(folded.items), MOST_ITEMS_EVER, MOST_COUNTS // len(body.segments))


def check_limits(body: PageBody, items: int, folded: Folded = NOTHING_FOLDED) -> str | None:
    """An error message if a page with this many items, including folded ones, exceeds a limit, else None.

    There are limits because all counts that are not folded are held in memory and swept for every ensemble.
    """
    items_ever, items = items, items - len(folded.items)
    segments, columns = len(body.segments) - len(folded.segments), body.n_columns - len(folded.columns)
    needed = items * segments * columns
    for number, most, what in (
        (items, MOST_ITEMS, "items"),
        (items_ever, MOST_ITEMS_EVER, "items, including retired ones,"),
        (items_ever * len(body.segments), MOST_COUNTS, "pairs of items and segments, including retired ones,"),
        (len(body.columns), MOST_COLUMNS, "positions of all layouts, including removed ones,"),
        (len(body.segments), MOST_SEGMENTS_EVER, "segments, including removed ones,"),
        (needed, MOST_COUNTS, f"counts ({items:,} items x {segments} segments x {columns:,} columns)"),
    ):
        if number > most:
            return f"{number:,} {what} are too many for a page, {most:,} fit: split it into several pages"
    return None


def check_item(spec: ItemSpec, given: Collection[str] = ItemSpec.__struct_fields__) -> list[FieldError]:
    """The problems in an item, except fields of the wrong type. Each points to a field `given` in the request."""
    problems: list[FieldError] = []
    if spec.prior is not None and spec.prior.clicks > spec.prior.views:
        clicks, views = plain_number(spec.prior.clicks), plain_number(spec.prior.views)
        problems.append(FieldError("/prior/clicks", f"{clicks} clicks are more than {views} views"))
    if spec.valid_from is not None and spec.valid_until is not None and spec.valid_from >= spec.valid_until:
        start, end = plain_number(spec.valid_from), plain_number(spec.valid_until)
        if "valid_until" in given:
            problems.append(FieldError("/valid_until", f"{end} is not after valid_from, {start}"))
        else:
            problems.append(FieldError("/valid_from", f"{start} is not before valid_until, {end}"))
    return problems


def _policy_problems(spec: PageSpec) -> list[FieldError]:
    if spec.policy not in policies() or not can_serve(find(spec.policy)):
        is_known = spec.policy in policies()
        problem = f"policy {spec.policy} cannot serve a page" if is_known else f"unknown policy {spec.policy!r}"
        usable = ", ".join(name for name in policies() if can_serve(find(name)))
        return [FieldError("/policy", f"{problem}; those that can: {usable}")]
    if spec.features and "features" not in serving_policy(spec).Params._fields:
        line = f"policy {spec.policy} does not learn from features; use slot_ts, or declare no features"
        return [FieldError("/features", line)]
    return [FieldError("/params", line) for line in _params_problems(spec)]


def _params_problems(spec: PageSpec) -> list[str]:
    module = serving_policy(spec)
    if "features" in spec.params:
        return ["features are no setting of the policy: declare `features` of the page, and give items theirs"]
    try:
        params = make_params(module, serving_params(module, spec.params), None)
    except BadInput as error:
        return [str(error)]
    limits = {"sweeps": MOST_SWEEPS, "draws": MOST_DRAWS}
    return [
        f"{name} = {getattr(params, name)} take too long; the limit is {most:,}"
        for name, most in limits.items()
        if getattr(params, name, 0) > most
    ]


def _repeated(what: str, names: list[str]) -> list[str]:
    return [f"{what} {name!r} is given twice" for name, times in Counter(names).items() if times > 1]
