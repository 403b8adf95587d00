"""What the package reads is what the program prints and writes: compare.py PROGRAM FOLDER PATH..."""

import csv
import io
import json
import pathlib
import subprocess
import sys

import pyarrow

import traceloom

program, folder, *paths = sys.argv[1:]


def run(*args):
    done = subprocess.run([program, *args], capture_output=True, text=True, check=True)
    return done.stdout


def cells(column):
    """A column as the program writes it in CSV; times and floats have forms of their own there."""
    if pyarrow.types.is_timestamp(column.type) or pyarrow.types.is_floating(column.type):
        return None
    texts = {None: "", True: "true", False: "false"}
    return [texts[value] if value is None or isinstance(value, bool) else str(value) for value in column.to_pylist()]


def same_tables(path):
    tables = traceloom.read(path)
    target = pathlib.Path(folder, pathlib.Path(path).name + ".csv")
    run("convert", path, str(target), "--to", "csv")
    compared = 0
    for written in sorted(target.glob("*.csv")):
        rows = list(csv.DictReader(io.StringIO(written.read_text())))
        table = tables[written.stem]
        assert table.num_rows == len(rows), (path, written.stem, table.num_rows, len(rows))
        for name in table.column_names:
            values = cells(table[name])
            if name == "recording" or values is None:
                continue
            # A text that a spreadsheet would run has an apostrophe in front there.
            texts = [row[name].removeprefix("'") for row in rows]
            assert [value.removeprefix("'") for value in values] == texts, (path, written.stem, name)
            compared += len(values)
    assert compared > 100, (path, compared)


def same_functions(path):
    printed = [json.loads(line) for line in run("top", "--json", "-n", "0", path).splitlines()]
    tables = traceloom.top(path)
    assert list(tables) == [measure["measure"] for measure in printed], path
    for measure in printed:
        rows = tables[measure["measure"]].to_pylist()
        keys = ["function", "self", "total", "count"]
        row = lambda function: [function[key] for key in keys]
        assert sorted(map(row, rows)) == sorted(map(row, measure["functions"])), path


for path in paths:
    same_tables(path)
    same_functions(path)
    page = traceloom.flame(path)
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>"), page[:40]

for wrong, kind in [("no/such/file", OSError), (__file__, ValueError)]:
    try:
        traceloom.read(wrong)
    except kind as error:
        assert wrong in str(error), error
    else:
        raise AssertionError(f"{wrong} is read")
print(f"{len(paths)} recordings are alike")
