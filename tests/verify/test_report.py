"""The report is inert: whatever a sandbox wrote is text in it, and it loads and runs nothing."""

from __future__ import annotations

from html.parser import HTMLParser

from casemate.verify.model import Finding, Report, Verdict
from casemate.verify.report import html

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&</td></table><a href='javascript:x'>"


class Tags(HTMLParser):
    """Every tag with its attributes, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def page(verdict: Verdict) -> Tags:
    finding = Finding(HOSTILE, HOSTILE, HOSTILE, HOSTILE, verdict, HOSTILE, HOSTILE, HOSTILE)
    report = Report(HOSTILE, HOSTILE, HOSTILE, HOSTILE, ((HOSTILE, HOSTILE),), HOSTILE, 1.0, (finding,), (HOSTILE,))
    found = Tags()
    found.feed(html(report, HOSTILE))
    return found


def test_nothing_of_a_sandbox_becomes_a_tag_or_an_attribute() -> None:
    found = page(Verdict.OPEN)
    assert {tag for tag, _ in found.tags} == {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "table", "tr", "th", "td",
    }  # fmt: skip
    attributes = {(name, value) for tag, pairs in found.tags if tag != "meta" for name, value in pairs.items()}
    assert attributes == {("lang", "en"), ("class", "open"), ("class", "evidence")}
    assert HOSTILE in found.text


def test_it_forbids_itself_everything_but_its_own_style() -> None:
    policy = [pairs["content"] for tag, pairs in page(Verdict.HELD).tags if tag == "meta" and "http-equiv" in pairs]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]


def test_it_says_what_was_not_held() -> None:
    assert "NOT held" in page(Verdict.INCONCLUSIVE).text
    assert "all 1 held or declared" in page(Verdict.HELD).text


def test_it_says_what_was_selected() -> None:
    for words in ("Selected", "Twins", "not run", "Left out"):
        assert words in page(Verdict.HELD).text
