"""Writes the files of this folder: python3 make.py, with pyarrow 26.0.1, duckdb 2.0.1 and numpy 2.4.6."""
import base64
import csv
import datetime as dt
import decimal
import json
import sqlite3
import uuid

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

D = decimal.Decimal
UTC = dt.timezone.utc
EPOCH = dt.datetime(1970, 1, 1)


def column(type_, *values):
    return pa.array(list(values), type_)


def micros(*when):
    return int((dt.datetime(*when) - EPOCH).total_seconds()) * 1_000_000 + 123_456


VECTOR = column(pa.list_(pa.float32()), [1, 0], [0, 1])
NESTED = pa.struct([("price", pa.decimal128(5, 2)), ("at", pa.timestamp("us"))])

TYPES = {
    "vector": VECTOR,
    "bool": column(pa.bool_(), True, None),
    "int8": column(pa.int8(), -128, None),
    "uint8": column(pa.uint8(), 255, None),
    "int16": column(pa.int16(), -32768, None),
    "uint16": column(pa.uint16(), 65535, None),
    "int32": column(pa.int32(), -(2**31), None),
    "uint32": column(pa.uint32(), 2**32 - 1, None),
    "int64": column(pa.int64(), 2**53 + 1, 3),
    "uint64": column(pa.uint64(), 2**64 - 1, 3),
    "half": column(pa.float16(), np.float16(1.5), None),
    "float": column(pa.float32(), 1.5, None),
    "double": column(pa.float64(), 0.1, 1e17),
    "decimal32": column(pa.decimal128(9, 2), D("19.99"), D("-0.01")),
    "decimal128": column(pa.decimal128(38, 10), D("1234567890123456789012345678.0123456789"), None),
    "decimal256": column(pa.decimal256(76, 0), D("9" * 76), D("-1")),
    "text": column(pa.string(), "naïve", None),
    "largeText": column(pa.large_string(), "b", ""),
    "dictionary": column(pa.string(), "x", "x").dictionary_encode(),
    "binary": column(pa.binary(), b"\x00\xff\x80A", b"plain"),
    "fixed": column(pa.binary(4), b"\x00\xff\x80A", None),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), column(pa.binary(16), uuid.UUID(int=10).bytes, None)),
    "date": column(pa.date32(), dt.date(2026, 1, 2), dt.date(1, 1, 1)),
    "date64": column(pa.date64(), dt.date(2026, 1, 2), None),
    "timeMs": column(pa.time32("ms"), dt.time(3, 4, 5, 120_000), None),
    "timeUs": column(pa.time64("us"), dt.time(3, 4, 5), dt.time(3, 4, 5, 123_456)),
    "timeNs": column(pa.time64("ns"), 11_045_000_000_001, None),
    "timestampS": column(pa.timestamp("s"), dt.datetime(2026, 1, 2, 3, 4, 5), None),
    "timestampMs": column(pa.timestamp("ms"), dt.datetime(2026, 1, 2, 3, 4, 5, 120_000), None),
    "timestampUs": column(pa.timestamp("us"), micros(2026, 1, 2, 3, 4, 5), 2**63 - 1),
    "timestampNs": column(pa.timestamp("ns"), 1_767_323_045_000_000_001, None),
    "timestampUtc": column(pa.timestamp("us", "UTC"), dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), None),
    "timestampZone": column(pa.timestamp("us", "+02:00"), dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), -(2**63 - 1)),
    "longAgo": column(pa.timestamp("ms"), -62_167_219_200_001, 253_402_300_800_000),
    "duration": column(pa.duration("ms"), 1_500, None),
    "list": column(pa.list_(pa.int64()), [1, None, 2**53 + 1], []),
    "listOfLists": column(pa.list_(pa.list_(pa.string())), [["a"], [], None], None),
    "fixedList": column(pa.list_(pa.float32(), 2), [1.5, 2], [3, 4]),
    "struct": column(NESTED, {"price": D("1.10"), "at": micros(2026, 1, 2, 3, 4, 5)}, None),
    "structs": column(pa.list_(NESTED), [{"price": D("1.10"), "at": None}, None], []),
    "map": column(pa.map_(pa.string(), pa.decimal128(5, 2)), [("a", D("1.10")), ("b", None)], []),
    "mapOfWhole": column(pa.map_(pa.int32(), pa.string()), [(1, "a"), (2, "b")], None),
    "mapOfDates": column(pa.map_(pa.date32(), pa.int32()), [(dt.date(2026, 1, 2), 1)], None),
    "null": column(pa.null(), None, None),
    "nan": column(pa.float64(), float("inf"), float("nan")),
}

table = pa.table(TYPES)
pq.write_table(table, "pyarrow-types.parquet")
pq.write_table(
    table,
    "pyarrow-types-v2.parquet",
    data_page_version="2.0",
    compression="zstd",
    use_dictionary=False,
    column_encoding={"int64": "DELTA_BINARY_PACKED", "double": "BYTE_STREAM_SPLIT", "text": "DELTA_BYTE_ARRAY"},
)
pq.write_table(
    pa.table({"vector": VECTOR, "at": column(pa.timestamp("ns"), 1_767_323_045_000_000_001, None)}),
    "pyarrow-int96.parquet",
    use_deprecated_int96_timestamps=True,
)
# 600 rows in one group of many pages; rows with no, one and many values, which end within pages of their columns.
ROWS = range(600)
pq.write_table(
    pa.table(
        {
            "vector": column(pa.list_(pa.float32()), *[[n, -n] for n in ROWS]),
            "n": column(pa.int32(), *ROWS),
            "words": column(pa.list_(pa.string()), *[None if n % 7 == 0 else [f"w{n}"] * (n % 5) for n in ROWS]),
            "nested": column(pa.list_(pa.struct([("a", pa.int32())])), *[[{"a": n}] * (n % 3) for n in ROWS]),
        }
    ),
    "pyarrow-pages.parquet",
    data_page_size=256,
    write_batch_size=10,
    row_group_size=600,
)
for codec in ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]:
    nothing = column(pa.list_(pa.string()), None, None)
    pq.write_table(
        pa.table({"vector": VECTOR, "text": column(pa.string(), "ab" * 20, "b"), "nothing": nothing}),
        f"pyarrow-{codec}.parquet",
        compression=codec,
        data_page_version="2.0",
        use_dictionary=False,
    )
pq.write_table(pa.Table.from_arrays([VECTOR, VECTOR], names=["vector", "vector"]), "pyarrow-title-twice.parquet")
LATIN1 = column(pa.binary(), b"caf\xe9", b"caf\xc3\xa9")
pq.write_table(
    pa.table({"vector": VECTOR, "text": pa.Array.from_buffers(pa.string(), 2, LATIN1.buffers())}),
    "pyarrow-latin1.parquet",
)

# Vectors as bytes: [1.5, -2] in the first row, then a row with a byte too many, and one with a number that is not finite.
BYTES = {
    name: np.array([1.5, -2], dtype="<" + kind).tobytes()
    for name, kind in {"float32": "f4", "float64": "f8", "float16": "f2"}.items()
} | {"int8": np.array([1, -2], dtype="i1").tobytes(), "uint8": np.array([1, 254], dtype="u1").tobytes()}
NOT_FINITE = {"float32": np.float32("nan"), "float64": np.float64("inf"), "float16": np.float16("-inf")}
pq.write_table(
    pa.table(
        {
            name: column(pa.binary(), whole, whole + b"\0", NOT_FINITE[name].tobytes() if name in NOT_FINITE else b"")
            for name, whole in BYTES.items()
        }
        | {"fixed": column(pa.binary(8), BYTES["float32"], BYTES["float32"], None)}
    ),
    "pyarrow-vectors.parquet",
)

db = duckdb.connect()
blob = "".join(f"\\x{byte:02X}" for byte in BYTES["float32"])
db.execute(f"COPY (SELECT '{blob}'::BLOB AS embedding, 'a' AS text) TO 'duckdb-vectors.parquet' (FORMAT parquet)")
lite = sqlite3.connect(":memory:")
lite.execute("CREATE TABLE items (embedding BLOB, text TEXT)")
lite.execute("INSERT INTO items VALUES (?, 'a')", [BYTES["float32"]])
with open("sqlite-vectors.csv", "w", newline="") as out:
    rows = lite.execute("SELECT hex(embedding), '0x' || hex(embedding), text FROM items")
    csv.writer(out).writerows([["embedding", "prefixed", "text"], *rows])
with open("numpy-base64.jsonl", "w") as out:
    out.write(json.dumps({"embedding": base64.b64encode(BYTES["float32"]).decode(), "text": "a"}) + "\n")

db.execute("SET TimeZone = 'America/New_York'")
db.execute("CREATE TYPE mood AS ENUM ('calm', 'wild')")
db.execute(
    """
    COPY (SELECT * FROM (VALUES
      ([1, 0]::FLOAT[2], TRUE, (-128)::TINYINT, 255::UTINYINT, 18446744073709551615::UBIGINT, 9007199254740993::BIGINT,
       1.25::DECIMAL(4, 2), 12345678901234567890.5::DECIMAL(30, 1), 'naïve', 'calm'::mood, '\\x00\\xFF'::BLOB,
       '00000000-0000-0000-0000-00000000000a'::UUID, DATE '0044-03-15 (BC)', TIME '03:04:05.5',
       TIMESTAMP '2026-01-02 03:04:05.123456', TIMESTAMPTZ '2026-01-02 03:04:05+02', TIMESTAMP_S '2026-01-02 03:04:05',
       TIMESTAMP_NS '2026-01-02 03:04:05.000000001', INTERVAL '14 months 3 days 4.5 seconds',
       MAP {'a': 1, 'b': NULL}, {'a': 1.10::DECIMAL(3, 2), 'b': [NULL, 'x']}, '{"a": 9007199254740993}'::JSON),
      ([0, 1]::FLOAT[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, DATE 'infinity', NULL,
       TIMESTAMP 'infinity', TIMESTAMPTZ '-infinity', NULL, NULL, NULL, MAP {}, NULL, NULL)
    ) t(vector, bool, int8, uint8, uint64, int64, decimal, wideDecimal, text, enumeration, blob, uuid, date, time, timestamp,
        timestamptz, timestampS, timestampNs, interval, map, struct, json)) TO 'duckdb-types.parquet' (FORMAT parquet)
    """
)
db.execute(
    """COPY (SELECT [1.5, -2]::FLOAT[] AS vector, 'a "b", ü' || chr(10) || 'c' AS text, NULL AS nothing, 1.10::DECIMAL(3, 2) AS price,
    TIMESTAMP '2026-01-02 03:04:05' AS made) TO 'duckdb.csv' (FORMAT csv, HEADER)"""
)
db.execute(
    """COPY (SELECT [1.5, -2]::FLOAT[] AS vector, 'a "b", ü' || chr(8232) || 'c' AS text, NULL AS nothing, 9007199254740993 AS big,
    {'a': [1, NULL]} AS inner) TO 'duckdb.jsonl' (FORMAT json)"""
)

for name in ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]:
    for order in "<>":
        suffix = "le" if order == "<" else "be"
        np.save(f"numpy-{name}-{suffix}.npy", np.array([[1, 2], [100, 0]], dtype=order + name))
for name, array in {
    "bool": np.array([[True, False]]),
    "complex": np.array([[1j, 2]], dtype="c8"),
    "longdouble": np.array([[1, 2]], dtype="g"),
    "text": np.array([["1", "2"]]),
    "datetime": np.array([["2026-01-02", "2026-01-03"]], dtype="M8[D]"),
    "records": np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f4")]),
    "objects": np.array([[1, None]], dtype=object),
    "fortran": np.asfortranarray(np.array([[1, 2], [3, 4]], dtype="f4")),
    "one": np.array([1, 2], dtype="f4"),
    "three": np.zeros((1, 1, 2), dtype="f4"),
    "none": np.zeros((0, 2), dtype="f4"),
    "empty": np.zeros((3, 0), dtype="f4"),
}.items():
    np.save(f"numpy-{name}.npy", array)
with open("numpy-twice.npy", "wb") as out:
    np.save(out, np.zeros((2, 2), dtype="f4"))
    np.save(out, np.zeros((3, 2), dtype="f4"))
