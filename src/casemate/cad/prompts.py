"""What the model is told: three templates in files, each of which a caller may replace.

A template is text with `$request`, `$wishes`, `$account`, `$number`, `$attempts` (string.Template; `$$` is a dollar).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from casemate.errors import Denied

NAMES = ("system", "first", "repair")
_FIELDS = {"system": set[str](), "first": {"request", "wishes"}, "repair": {
    "request", "wishes", "account", "number", "attempts",
}}  # fmt: skip
_NEEDED = {"system": set[str](), "first": {"request"}, "repair": {"account"}}


@dataclass(frozen=True, slots=True)
class Prompts:
    """The three templates' texts."""

    system: str
    first: str
    repair: str

    def __post_init__(self) -> None:
        """Raise Denied for a field that nobody fills, or without the one that a template is for."""
        for name in NAMES:
            template = Template(getattr(self, name))
            if not template.is_valid():
                raise Denied(f"prompt template {name}: a $ that begins no name; write $$ for a dollar")
            found = set(template.get_identifiers())
            if found - _FIELDS[name]:
                raise Denied(f"prompt template {name}: nothing fills ${', $'.join(sorted(found - _FIELDS[name]))}")
            if _NEEDED[name] - found:
                raise Denied(f"prompt template {name}: ${', $'.join(sorted(_NEEDED[name] - found))} is missing")

    @classmethod
    def load(cls, directory: Path | None = None) -> Prompts:
        """The shipped ones, replaced by those of `system.txt`, `first.txt` and `repair.txt` that a directory has."""
        texts = {}
        for name in NAMES:
            own = directory / f"{name}.txt" if directory is not None else None
            shipped = resources.files("casemate.cad").joinpath("prompts", f"{name}.txt")
            try:
                texts[name] = (own if own is not None and own.exists() else shipped).read_text("utf-8")
            except UnicodeDecodeError as error:
                raise Denied(f"prompt template {own}: byte {error.start} is no UTF-8") from None
        if directory is not None and not any((directory / f"{name}.txt").exists() for name in NAMES):
            raise Denied(f"{directory} has none of {', '.join(f'{name}.txt' for name in NAMES)}")
        return cls(**texts)

    def opening(self, request: str, wishes: str) -> str:
        """The first message of the user."""
        return Template(self.first).substitute(request=request, wishes=wishes).strip() + "\n"

    def again(self, request: str, wishes: str, account: str, number: int, attempts: int) -> str:
        """The message after a failed attempt."""
        fields = {"request": request, "wishes": wishes, "account": account, "number": number, "attempts": attempts}
        return Template(self.repair).substitute(fields).strip() + "\n"
