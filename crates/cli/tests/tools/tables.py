"""Says what a folder of tables holds, as DuckDB or Polars reads it.

usage: tables.py duckdb|polars FOLDER csv|arrow|parquet
"""

import sys

engine, folder, extension = sys.argv[1:]


def path(table):
    return f"{folder}/{table}.{extension}"


def duckdb_query():
    import duckdb

    connection = duckdb.connect()
    if extension == "arrow":
        import polars

        def query(sql, *tables):
            for table in tables:
                connection.register(table, polars.read_ipc(path(table)).to_arrow())
            return connection.sql(sql).fetchall()

        return query

    def query(sql, *tables):
        for table in tables:
            connection.sql(f"create or replace view {table} as select * from '{path(table)}'")
        return connection.sql(sql).fetchall()

    return query


def polars_query():
    import polars

    read = {"csv": polars.scan_csv, "arrow": polars.scan_ipc, "parquet": polars.scan_parquet}

    def query(sql, *tables):
        frames = {}
        for table in tables:
            more = {"infer_schema_length": None} if extension == "csv" else {}
            frames[table] = read[extension](path(table), **more)
        return polars.SQLContext(frames).execute(sql).collect().rows()

    return query


query = duckdb_query() if engine == "duckdb" else polars_query()


def one(sql, table):
    return query(sql, table)[0][0]


spans, time, first = query(
    "select count(*), sum(duration_ns), min(ts_ns) from spans", "spans"
)[0]
errors = one("select count(*) from spans where status = 'error'", "spans")
print(f"spans {spans} time {time} first {first} errors {errors}")
attributes = one("select count(*) from attributes", "attributes")
counters = one("select sum(value) from span_counters", "span_counters") or 0
print(f"attributes {attributes} counters {counters}")
events = one("select count(*) from events", "events")
points = one("select count(*) from counters", "counters")
functions = one("select count(*) from functions", "functions")
print(f"events {events} points {points} functions {functions}")
# The name of a span is that of its function.
name, count = query(
    "select functions.name as n, count(*) as c from spans"
    " join functions on spans.function_id = functions.function_id"
    " group by functions.name order by c desc, n limit 1",
    "spans",
    "functions",
)[0]
same = query(f"select count(*) from spans where name = '{name}'", "spans")[0][0]
assert same == count, (same, count)
print(f"busiest {name} {count}")
