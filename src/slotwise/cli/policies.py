"""`slotwise policies`: the list of policies."""

import json
from typing import Any

from rich.markup import escape
from rich.table import Table

from slotwise import policies as policy_names
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app


@app.command(epilog=options.examples("slotwise policies", "slotwise policies --json"))
def policies(as_json: options.Json = False) -> None:
    """List the policies, what each does, and its settings with their defaults."""
    rows = [_describe(name) for name in policy_names()]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table("policy", "what it does", "settings", show_edge=False)
    for row in rows:
        settings = ", ".join(f"{name}={value}" for name, value in row["params"].items())
        table.add_row(f"[bold]{row['name']}[/]", escape(row["summary"]), escape(settings))
    console.stdout.print(table)


def _describe(name: str) -> dict[str, Any]:
    from slotwise.policies._policy_module import GIVEN_TYPES, find, setting_types

    module = find(name)
    kinds = setting_types(module)
    defaults = {
        key: value.name.lower() if hasattr(value, "name") else value
        for key, value in module.Params._field_defaults.items()
        if key != "unused" and kinds[key] not in GIVEN_TYPES
    }
    return {"name": name, "summary": (module.__doc__ or "").partition("\n")[0], "params": defaults}
