"""The tables of `slotwise top`."""

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from slotwise.client.service_view import BusyPage, RouteView, ServiceView


def render(view: ServiceView) -> RenderableType:
    """A view of a service: two lines about the service, its routes and its busiest pages."""
    return Group(*_summary(view), "", _routes(view.routes), "", _pages(view.pages))


def _summary(view: ServiceView) -> list[str]:
    store, ensembles = view.store, view.ensembles
    state = "ready" if view.ready else "[red]not ready[/]"
    written = "up" if store.up else "[red]down[/]"
    return [
        f"{escape(view.url)}, slotwise {view.version}: {state}; rates of the last {view.seconds:.1f} s",
        f"store {written}: {store.waiting:,.0f} waiting, {store.commits_per_second:,.1f} commits/s, "
        f"p50 {_number(store.p50)} ms, p99 {_number(store.p99)} ms",
        f"ensembles: {ensembles.waiting:,.0f} pages waiting, {ensembles.per_second:,.1f}/s, "
        f"{ensembles.cores:.2f} cores; "
        f"{view.pages_in_memory:,.0f} pages in memory, {view.megabytes:,.0f} MB",
    ]


def _routes(routes: list[RouteView]) -> Table:
    table = Table("route", title="requests", title_justify="left")
    for heading in ("per second", "failed/s", "p50 ms", "p99 ms"):
        table.add_column(heading, justify="right")
    for row in routes:
        numbers = (f"{row.per_second:,.1f}", f"{row.failed_per_second:,.1f}", _number(row.p50), _number(row.p99))
        table.add_row(row.route, *numbers)
    return table


def _pages(pages: list[BusyPage]) -> Table:
    table = Table("page", title="busiest pages", title_justify="left")
    for heading in ("displays/s", "events/s"):
        table.add_column(heading, justify="right")
    table.add_column("click rate by variant")
    for page in pages:
        variants = ", ".join(
            f"{row.variant} {'-' if row.click_rate is None else f'{row.click_rate:.2%}'} of {row.displays:,.0f}"
            for row in page.variants
        )
        rates = (f"{page.displays_per_second:,.1f}", f"{page.events_per_second:,.1f}")
        table.add_row(escape(page.page), *rates, variants)
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"
