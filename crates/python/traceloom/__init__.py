"""Profiler and trace data as Arrow tables, hot functions and flame graphs."""

import pyarrow

from . import _traceloom

__all__ = ["flame", "read", "top"]


def read(path):
    """Returns a dict of pyarrow tables by name: spans, samples, events, counters, functions and so on.

    The first column of each, `recording`, is the number of the recording in the path: ids are those of one recording.
    Raises OSError for a path that cannot be read and ValueError where it holds no recording.
    """
    return {name: pyarrow.table(table) for name, table in _traceloom.read(str(path))}


def top(path):
    """Returns a dict of pyarrow tables by value, such as wall, cpu or alloc_space: function, self, total, count.

    Rows are sorted by self, the largest first. Recordings of a path are added up.
    """
    return {name: pyarrow.table(table) for name, table in _traceloom.top(str(path))}


def flame(path):
    """Returns a flame graph as an HTML page that needs no network."""
    return _traceloom.flame(str(path))
