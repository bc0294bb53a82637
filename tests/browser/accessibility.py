"""Problems of accessibility, which axe-core finds. `make test-browser` installs it with npm."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).parent.parent.parent / "examples" / "sites" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = "axe.run().then((found) => JSON.stringify(found.violations.map((v) => [v.id, v.impact, v.nodes[0].html])))"


def serious_problems(tab: Page) -> list[Any]:
    """The serious problems of the page as it is shown now; none without axe-core.

    The script is run through the debugger, which the policy of the page does not concern.
    """
    if not AXE.is_file():
        return []
    session = tab.context.new_cdp_session(tab)
    session.send("Runtime.evaluate", {"expression": AXE.read_text()})
    answer = session.send("Runtime.evaluate", {"expression": _RUN, "awaitPromise": True})
    session.detach()
    return [found for found in json.loads(answer["result"]["value"]) if found[1] in ("serious", "critical")]
