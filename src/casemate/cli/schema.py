"""`casemate schema`: one JSON Schema of every document, made from their classes."""

from __future__ import annotations

import argparse
import json
from typing import Any

from pydantic import TypeAdapter

from casemate.batch import MapRow
from casemate.cli.bench_documents import BenchDocument
from casemate.cli.cad_documents import GenerationDocument, ReplayDocument, ScoreDocument
from casemate.cli.documents import (
    CheckDocument,
    DemoDocument,
    DoctorDocument,
    ErrorDocument,
    ImageDocument,
    RunDocument,
)
from casemate.cli.gate_documents import GateUpdateDocument
from casemate.cli.map_documents import MapDocument
from casemate.cli.policy_documents import (
    PolicyDiffDocument,
    PolicyDocument,
    PolicyExplainDocument,
    PolicyLintDocument,
    SyscallSetDocument,
    TraceDocument,
)
from casemate.cli.verify_documents import BoundaryDocument, VerifyDocument

Document = (
    RunDocument
    | CheckDocument
    | ImageDocument
    | DoctorDocument
    | DemoDocument
    | BenchDocument
    | PolicyLintDocument
    | PolicyDocument
    | PolicyExplainDocument
    | PolicyDiffDocument
    | BoundaryDocument
    | VerifyDocument
    | SyscallSetDocument
    | TraceDocument
    | MapDocument
    | MapRow
    | GateUpdateDocument
    | GenerationDocument
    | ReplayDocument
    | ScoreDocument
    | ErrorDocument
)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("schema", help="print the JSON Schema of every --json document")
    parser.add_argument("--json", action="store_true", help="it always is")
    parser.set_defaults(command=main)


def main(_: argparse.Namespace) -> int:
    """Print it."""
    print(json.dumps(schema(), indent=2))
    return 0


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of every document."""
    return TypeAdapter(Document).json_schema(mode="serialization")
