"""A report that can be handed on: one HTML file that loads nothing and runs nothing.

Everything in it is text, evidence from a hostile sandbox too; the file itself forbids scripts, images and requests.
"""

from __future__ import annotations

from html import escape

from casemate.verify import judge
from casemate.verify.model import Finding, Report

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #ccc; padding: .25em .6em; text-align: left; vertical-align: top }
td.evidence { font: 12px/1.4 ui-monospace, monospace; overflow-wrap: anywhere }
.held { color: #116329 } .open, .inconclusive { color: #a40e26; font-weight: bold } .declared-open { color: #7d4e00 }
"""

_LEGEND = (
    "held: it ran to its end, was refused, and nothing was seen outside. open: something was seen outside, or the "
    "probe got what it wanted. declared-open: open, and the profile names the row. inconclusive: a failure. Seen by: "
    "canary (random words of the caller's), log (listeners), look (the guest in the host's /proc), filter (as the "
    "kernel has it loaded), host (the guest's tree from outside), outcome (how the keeper saw it end), census (what "
    "lived or was left), victim (another sandbox), next (a later job). Not covered: bugs of the kernel and side "
    "channels (casemate boundary)."
)


def html(report: Report, version: str) -> str:
    """The whole document."""
    words = ", ".join(f"{count} {name}" for name, count in judge.counts(report.findings).items() if count)
    facts = [
        ("Verdict", f"all {len(report.findings)} held or declared" if report.ok else "NOT held"),
        ("Probes", words), ("Selected", ", ".join(report.only) or "all"),
        ("Twins", "each shown to be open, or marked vm" if report.twins else "not run"),
        ("Left out", ", ".join(report.left_out) or "none"),
        ("Profile", f"{report.profile}, SHA-256 {report.profile_digest}"), ("Image", report.image_digest),
        ("Runtime", report.runtime), *report.host, ("Began", report.began), ("Took", f"{report.seconds:.1f} s"),
        ("Casemate", version), *(("Not held, says the profile", text) for text in report.not_held),
    ]  # fmt: skip
    body = ["<h1>casemate verify</h1>", _table((), facts), f"<p>{escape(_LEGEND)}</p>"]
    for family in dict.fromkeys(finding.family for finding in report.findings):
        mine = [finding for finding in report.findings if finding.family == family]
        body.append(f"<h2>{escape(family)}</h2>")
        body.append(_findings(mine))
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
        f"<title>casemate verify: {escape(report.profile)}</title><style>{_STYLE}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(body) + "\n</body></html>\n"


def _findings(findings: list[Finding]) -> str:
    rows = ["<tr><th>probe<th>verdict<th>what is tried<th>seen by<th>twin<th>evidence</tr>"]
    for found in findings:
        rows.append(
            f'<tr><td>{escape(found.id)}<td class="{escape(found.verdict)}">{escape(found.verdict)}'
            f"<td>{escape(found.what)}<td>{escape(found.witness)}<td>{escape(found.twin)}"
            f'<td class="evidence">{escape(found.evidence)}</tr>'
        )
    return f"<table>{''.join(rows)}</table>"


def _table(head: tuple[str, ...], rows: list[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><th>{escape(name)}<td>{escape(text)}</tr>" for name, text in rows)
    return f"<table>{''.join(f'<th>{escape(word)}' for word in head)}{cells}</table>"
