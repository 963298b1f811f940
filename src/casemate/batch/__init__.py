"""Batches: many scripts from files, directories, JSONL and parquet; results as JSONL, kept, resumable, in input order.

Everything here runs outside the walls, as the user. Of a script it only ever moves bytes: it finds where a row's source
begins and ends, hashes it, and gives it to a sandbox.
"""

from casemate.batch.cache import Cache
from casemate.batch.flow import Batch, Done
from casemate.batch.output import Output
from casemate.batch.readers import Inputs
from casemate.batch.results import FileDocument, MapResult, MapRow, TextDocument
from casemate.batch.rows import Row, Unreadable, Why

__all__ = [
    "Batch",
    "Cache",
    "Done",
    "FileDocument",
    "Inputs",
    "MapResult",
    "MapRow",
    "Output",
    "Row",
    "TextDocument",
    "Unreadable",
    "Why",
]
