"""The templates of the pages in memory."""

from collections.abc import Callable

from slotwise.service.pages.page_model import PageModel
from slotwise.service.templates.page_template import PageTemplate, estimated_bytes
from slotwise.service.templates.template_counts import TemplateCounts


class TemplateCache:
    """Finds templates by name. A template is in memory as long as one of its pages is. Its draws are never stored.

    `read` reads the counts of all pages of a template, on a background thread. `ask` asks for new draws of a page or of
    a template if they are due, and `forget` takes back what was asked for a template.
    """

    def __init__(
        self,
        read: Callable[[str], TemplateCounts],
        ask: Callable[[PageModel | PageTemplate], None],
        forget: Callable[[PageTemplate], None],
    ) -> None:
        self._read, self._ask, self._forget = read, ask, forget
        self._by_name: dict[str, PageTemplate] = {}
        self._pages: dict[str, dict[PageModel, None]] = {}  # the pages in memory, by template
        self._sizes: dict[str, int] = {}
        self.n_bytes = 0

    def add(self, model: PageModel) -> None:
        """Let a page that is new in memory join its template, if it has one."""
        body = model.page.body
        name = body.spec.template
        if name is None:
            return
        if name not in self._by_name:
            self._by_name[name] = PageTemplate(name, lambda: self._read(name), self._first_draws)
            self._pages[name], self._sizes[name] = {}, estimated_bytes(len(body.columns))
            self.n_bytes += self._sizes[name]
        self._pages[name][model] = None
        model.join(self._by_name[name])

    def remove(self, model: PageModel) -> None:
        """Note that a page is no longer in memory."""
        if model.template is None:
            return
        name = model.template.name
        del self._pages[name][model]
        if not self._pages[name]:
            del self._pages[name]
            self.n_bytes -= self._sizes.pop(name)
            self._forget(self._by_name.pop(name))

    def pages_changed(self, names: set[str]) -> None:
        """Note that pages have joined or left these templates, or that counts of their pages were replaced."""
        for name in names & self._by_name.keys():
            self._by_name[name].pages_changed()
            self._ask(self._by_name[name])

    def _first_draws(self, template: PageTemplate) -> None:
        """Make the ensembles of the pages that waited for the template."""
        for model in self._pages.get(template.name, ()):
            self._ask(model)
