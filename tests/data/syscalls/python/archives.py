import bz2
import gzip
import lzma
import os
import pathlib
import sqlite3
import tarfile
import zipfile
import zlib

pathlib.Path("one").write_text("one" * 1000)
pathlib.Path("two").symlink_to("one")
for name, module in (("a.gz", gzip), ("a.bz2", bz2), ("a.xz", lzma)):
    with module.open(name, "wt") as file:
        file.write("text" * 1000)
    with module.open(name, "rt") as file:
        assert len(file.read()) == 4000
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.write("one")
with zipfile.ZipFile("a.zip") as archive:
    archive.extractall("zipped")
with tarfile.open("a.tar.gz", "w:gz") as archive:
    archive.add("one")
    archive.add("two")
with tarfile.open("a.tar.gz") as archive:
    archive.extractall("tarred")
assert os.readlink("tarred/two") == "one"
assert zlib.decompress(zlib.compress(b"x" * 1000)) == b"x" * 1000
for mode in ("DELETE", "WAL"):
    with sqlite3.connect(f"{mode}.db") as base:
        base.execute(f"pragma journal_mode={mode}")
        base.execute("create table t (a integer primary key, b text)")
        base.executemany("insert into t (b) values (?)", [(str(n),) for n in range(2000)])
        base.commit()
        base.execute("vacuum")
        assert base.execute("select count(*) from t").fetchone() == (2000,)
