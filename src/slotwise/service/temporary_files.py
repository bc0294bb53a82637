"""Temporary files whose sizes have a limit together: exports and imports must not fill the disk."""

from tempfile import SpooledTemporaryFile
from typing import Any

IN_MEMORY = 1 << 20  # bytes; a larger content is in a file


class FileBudget:
    """How many bytes some files may have together."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0

    @property
    def is_exceeded(self) -> bool:
        return self.held > self.most


class BudgetedFile(SpooledTemporaryFile[bytes]):
    """A temporary file. Its size counts until it is closed. The writer has to check whether the budget is exceeded."""

    def __init__(self, budget: FileBudget, in_memory: int = IN_MEMORY) -> None:
        super().__init__(in_memory)
        self._budget, self.size = budget, 0

    def __exit__(self, *_: object) -> None:
        self.close()  # the method of the base class closes only the file inside

    def write(self, content: Any) -> int:
        written = super().write(content)
        self.size += written
        self._budget.held += written
        return written

    def close(self) -> None:
        self._budget.held -= self.size
        self.size = 0
        super().close()
