"""Less memory for the same data: all threads of the process allocate from few pools ("arenas")."""

import ctypes

MOST_ARENAS = 2
_M_ARENA_MAX = -8  # the parameter's number in glibc's malloc.h


def limit_arenas() -> bool:
    """Limit the arenas of glibc's malloc. Call this before threads start. Returns False if the C library has no arenas.

    By default, each thread gets an arena of its own. Ensembles are allocated by background threads and freed by others,
    so their arenas keep gaps: with 10,000 pages, about 30 MB.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, MOST_ARENAS))
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return False
