"""Bytes to text: strict UTF-8, and nothing in it that an editor shows differently from what Python reads.

The attacks: a coding cookie that makes the interpreter read other characters than the gate (PEP 263), a NUL at which
parsers stop, a lone carriage return that ends a comment for Python only, bidirectional controls (CVE-2021-42574,
"Trojan Source"), and identifiers that change under NFKC (PEP 3131): the reader sees one name and Python another.
"""

from __future__ import annotations

import re
import unicodedata

from .tables import limits
from .verdict import Findings

_BOM = b"\xef\xbb\xbf"
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK = re.compile(r"^[ \t\f]*(?:#.*)?$")
_UTF8 = re.compile(r"^utf[-_]?8(?:[-_](?:unix|dos|mac|sig))?$", re.IGNORECASE)
#: every control character but tab and newline; the separators that only some readers take for line ends
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
#: comments and texts, which may hold any character, or a run of other text
_LEXEME = re.compile(
    r"""
      \#[^\n]*
    | (?:\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z))
    | (?:'{3}(?:\\.|[^\\])*?(?:'{3}|\Z))
    | (?:"(?:\\.|[^"\\\n])*"?)
    | (?:'(?:\\.|[^'\\\n])*'?)
    | (?P<word>\w+)
    """,
    re.VERBOSE | re.DOTALL,
)


def decode(source: bytes) -> tuple[str | None, Findings]:
    """The text of a source, or None with the findings that refuse it. Never raises."""
    if len(source) > limits.SOURCE_BYTES:
        findings = Findings("")
        message = f"the source has {len(source)} bytes; {limits.SOURCE_BYTES} are allowed"
        findings.deny_at("limit.source", 0, 0, message, hint="write loops and functions in place of repeated lines")
        return None, findings
    body = source.removeprefix(_BOM)
    try:
        text = body.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        return None, _undecodable(body, error)
    text = text.replace("\r\n", "\n")
    findings = Findings(text)
    _characters(text, findings)
    _cookie(text, findings)
    if not text.isascii():
        _identifiers(text, findings)
    return (None if findings.denied else text), findings


def _undecodable(body: bytes, error: UnicodeDecodeError) -> Findings:
    text = body.decode("utf-8", "replace")
    findings = Findings(text)
    line = body.count(b"\n", 0, error.start) + 1
    start = body.rfind(b"\n", 0, error.start) + 1
    column = len(body[start : error.start].decode("utf-8", "replace"))
    message = f"byte 0x{body[error.start]:02x} is not valid UTF-8"
    findings.deny_at("source.encoding", line, column, message, hint="save the script as UTF-8")
    return findings


def _place(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - (text.rfind("\n", 0, position) + 1)


def _characters(text: str, findings: Findings) -> None:
    for pattern in (_CONTROL, _BIDI):
        match = pattern.search(text)
        if match is None:
            continue
        character = match.group()
        line, column = _place(text, match.start())
        code, what = _NAMED.get(character, ("source.control", "a control character"))
        if pattern is _BIDI:
            code, what = "source.bidi", "a character that changes the direction of text"
        message = f"U+{ord(character):04X} is {what}; what is shown is not what would run"
        findings.deny_at(code, line, column, message, name=f"U+{ord(character):04X}", hint="delete the character")


_NAMED = {
    "\x00": ("source.nul", "a NUL"),
    "\r": ("source.carriage_return", "a carriage return without a newline, which ends a line for Python only"),
}


def _cookie(text: str, findings: Findings) -> None:
    for number, line in enumerate(text.split("\n", 2)[:2], start=1):
        match = _COOKIE.match(line)
        if match is not None and _UTF8.match(match.group(1)) is None:
            message = f"the source declares the encoding {match.group(1)[: limits.NAME]}; only utf-8 is read"
            hint = "delete the coding comment"
            findings.deny_at("source.cookie", number, match.start(1), message, name=match.group(1), hint=hint)
        if match is not None or _BLANK.match(line) is None:
            return


def _identifiers(text: str, findings: Findings) -> None:
    """Names outside comments and texts must be their own NFKC form; what is inside braces of an f-string is checked as
    the parser normalised it, as every other name is too."""
    found = 0
    for match in _LEXEME.finditer(text):
        word = match.group("word")
        if word is None or word.isascii():
            continue
        normal = unicodedata.normalize("NFKC", word)
        if normal != word:
            found += 1
            if found > limits.DENIALS:
                return
            line, column = _place(text, match.start())
            message = f"Python reads this name as `{normal[: limits.NAME]}`"
            hint = "write it in the letters that Python reads"
            findings.deny_at("name.nfkc", line, column, message, name=word, hint=hint)
