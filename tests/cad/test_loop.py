"""The repair loop against real sandboxes, with a generator that says what it was told to."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from casemate import Denied, Host
from casemate.cad import Checks, Message, ModelError, Progress, Prompts, Record, Reply, generate, loop, replay
from casemate.control.deadline import Deadline
from casemate.control.profiles import profile_text

GOOD = "import cadquery as cq\nresult = cq.Workplane().box(10, 20, 30)\n"
DENIED = "import os\n" + GOOD
UNKNOWN = "import cadquery as cq\nresult = cq.Workplane().box(width, 20, 30)\n"
NAME = "import cadquery as cq\nif 2 < 1:\n    width = 10\nresult = cq.Workplane().box(width, 20, 30)\n"
FILLET = GOOD + "result = result.edges('|Z').fillet(50)\n"
HANG = "while True:\n    pass\n"
EMPTY = "import cadquery as cq\nresult = cq.Workplane()\n"
PARTS = GOOD + "result = {'left': result, 'right': result.translate((99, 0, 0))}\n"
TWO = GOOD + "result = result.add(cq.Workplane().box(1, 1, 1).translate((100, 0, 0)))\n"


class Scripted:
    """Gives its replies in order, and keeps what it was asked."""

    def __init__(self, *replies: str | BaseException, delay: float = 0.0) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Message, ...]] = []

    def __call__(self, messages: tuple[Message, ...], deadline: Deadline) -> Reply:
        assert deadline.left() > 0
        self.asked.append(messages)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, BaseException):
            raise reply
        return Reply(f"```python\n{reply}```\n", model="scripted", prompt_tokens=10, completion_tokens=5)


FAILURES = [
    (DENIED, "denied.", ("`os`", "line 1")),
    (UNKNOWN, "denied.name", ("width", "line 2")),
    (NAME, "raised.NameError", ("width", "line 4")),
    (FILLET, "raised.", ("fillet radius of 50 mm", "line 3", "shortest edge")),
    (EMPTY, "verdict.", ("result",)),
    (TWO, "solids", ("2 solids", "union")),
    (PARTS, "parts", ("2 parts", "one shape")),
]


@pytest.mark.parametrize(
    ("bad", "code", "told"), FAILURES, ids=["denied", "unknown", "name", "fillet", "empty", "two solids", "two parts"]
)
def test_a_failure_is_told_and_the_repair_ends_the_loop(
    bad: str, code: str, told: tuple[str, ...], host: Host, profile: str
) -> None:
    model = Scripted(bad, GOOD)
    made = generate(host, model, "a box", deadline=60, profile=profile)
    assert (made.ok, made.record.reason, len(made.record.attempts), made.record.best) == (True, "part", 2, 2)
    first, second = made.record.attempts
    assert first.faults[0].code.startswith(code)
    account = model.asked[1][-1].content
    for words in told:
        assert words in account
    assert model.asked[1][-2] == Message("assistant", f"```python\n{bad}```\n")
    assert not second.faults
    assert made.artifact is not None
    assert made.artifact.data.startswith(b"ISO-10303-21")
    assert made.part is not None
    assert made.part.facts is not None
    assert made.part.facts.volume == pytest.approx(6000)


def test_a_hang_eats_its_share_and_no_more(host: Host, profile: str) -> None:
    model = Scripted(HANG, GOOD)
    made = generate(host, model, "a box", deadline=60, profile=profile, limits={"wall_time": 2.0})
    assert made.ok
    assert made.record.attempts[0].faults[0].code == "limit.wall_time"
    assert "make loops end" in model.asked[1][-1].content


def test_at_zero_the_loop_ends_and_says_why(host: Host, profile: str) -> None:
    began = time.monotonic()
    made = generate(host, Scripted(HANG), "a box", deadline=3, attempts=5, profile=profile)
    # The profile's own wall clock is 60 s.
    assert time.monotonic() - began < 30
    assert (made.ok, made.record.reason, len(made.record.attempts)) == (False, "deadline", 1)
    assert "no time was left" in made.record.message
    assert made.artifact is None


class Deaf:
    """Goes on until it is released, whatever the deadline."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def __call__(self, messages: tuple[Message, ...], deadline: Deadline) -> Reply:
        self.thread = threading.current_thread()
        self.asked.set()
        self.released.wait(100)
        return Reply(f"```python\n{GOOD}```\n")


def test_a_generator_that_goes_on_after_the_deadline_is_left_alone(host: Host, profile: str) -> None:
    deaf = Deaf()
    record = generate(host, deaf, "a box", deadline=3, profile=profile).record
    assert (record.reason, record.attempts) == ("deadline", ())
    assert "left alone" in record.message
    assert deaf.thread.is_alive()
    assert deaf.thread.daemon
    deaf.released.set()
    deaf.thread.join(30)


def test_twin_in_the_loops_own_thread_it_ends_when_it_likes(
    host: Host, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_in_time", lambda work, until: work())
    deaf, until, ended = Deaf(), Deadline.after(3), threading.Event()

    def ask() -> None:
        generate(host, deaf, "a box", deadline=until, profile=profile)
        ended.set()

    thread = threading.Thread(target=ask)
    thread.start()
    assert deaf.asked.wait(60)
    assert not ended.wait(until.left() + 2 * loop.GRACE)
    deaf.released.set()
    assert ended.wait(60)
    thread.join()


@pytest.mark.parametrize("seconds", [1e12, 1e300])
def test_a_deadline_may_be_far(seconds: float, host: Host, profile: str) -> None:
    assert generate(host, Scripted(GOOD), "a box", deadline=seconds, profile=profile).ok


def test_an_error_of_a_generators_own_is_the_callers(host: Host, profile: str) -> None:
    with pytest.raises(TimeoutError, match="its own"):
        generate(host, Scripted(TimeoutError("its own")), "a box", deadline=30, profile=profile)


def test_the_same_failing_script_is_run_once_and_the_model_is_told(host: Host, profile: str) -> None:
    model = Scripted(NAME, NAME + "\n\n", GOOD)
    made = generate(host, model, "a box", deadline=60, profile=profile)
    assert made.ok
    assert [attempt.same_as for attempt in made.record.attempts] == [None, 1, None]
    assert made.record.attempts[1].run is None
    assert "failed before" in model.asked[2][-1].content
    assert "failed before" not in model.asked[1][-1].content


def test_without_a_part_that_passes_the_best_is_returned_with_its_faults(host: Host, profile: str) -> None:
    checks = Checks(bounding_box=(10, 20, 30), holes=1, solids=1)
    model = Scripted(TWO, GOOD, NAME)
    made = generate(host, model, "a box with a hole", attempts=3, checks=checks, deadline=60, profile=profile)
    assert (made.ok, made.record.reason, made.record.best) == (False, "attempts", 2)
    assert [fault.code for fault in made.faults] == ["holes"]
    assert made.artifact is not None


def test_what_was_tried_is_kept_when_the_loop_is_interrupted(host: Host, profile: str) -> None:
    kept: list[Record] = []
    model = Scripted(NAME, KeyboardInterrupt())
    model.settings = {"model": "scripted"}  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        generate(host, model, "a box", deadline=60, profile=profile, keep=kept.append)
    assert [(record.reason, len(record.attempts)) for record in kept] == [("unfinished", 1)]
    assert kept[0].attempts[0].faults[0].code == "raised.NameError"
    assert kept[0].generator == {"model": "scripted"}


def test_a_model_that_fails_for_good_ends_the_loop(host: Host, profile: str) -> None:
    model = Scripted(NAME, ModelError("no key", permanent=True))
    made = generate(host, model, "a box", deadline=60, profile=profile)
    assert (made.record.reason, made.record.message, len(made.record.attempts)) == ("model", "no key", 1)
    assert len(model.asked) == 2


def test_a_model_that_fails_once_is_asked_again(host: Host, profile: str) -> None:
    made = generate(host, Scripted(ModelError("busy"), GOOD), "a box", deadline=60, profile=profile)
    assert made.ok


def test_an_answer_without_a_script_is_an_attempt(host: Host, profile: str) -> None:
    class Talks(Scripted):
        def __call__(self, messages: tuple[Message, ...], deadline: Deadline) -> Reply:
            reply = super().__call__(messages, deadline)
            return Reply("I would rather not.") if len(self.asked) == 1 else reply

    made = generate(host, Talks(GOOD), "a box", deadline=60, profile=profile)
    assert made.ok
    assert [fault.code for fault in made.record.attempts[0].faults] == ["no_code"]


def test_a_record_is_replayed_without_a_model(host: Host, profile: str, tmp_path: Path) -> None:
    made = generate(host, Scripted(DENIED, FILLET, GOOD), "a box", deadline=60, profile=profile)
    path = tmp_path / "record.json"
    made.record.save(path)
    record = Record.load(path)
    assert record == made.record
    assert [(one.number, one.difference) for one in replay(host, record)] == [(1, ""), (2, ""), (3, "")]
    changed = path.read_text("utf-8").replace("box(10, 20, 30)", "box(10, 20, 31)")
    path.write_text(changed, "utf-8")
    assert [one.difference for one in replay(host, Record.load(path))] == ["", "", "its files have other bytes"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1}', "nan", "\xff"])
def test_something_else_is_no_record(text: str, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(text, "latin-1")
    with pytest.raises(Denied, match="no record"):
        Record.load(path)


def test_progress_counts_down(host: Host, profile: str) -> None:
    seen: list[Progress] = []
    generate(host, Scripted(NAME, GOOD), "a box", deadline=60, profile=profile, progress=seen.append)
    assert [(now.number, now.stage) for now in seen if now.stage in ("model", "script")] == [
        (1, "model"), (1, "script"), (2, "model"), (2, "script")
    ]  # fmt: skip
    left = [now.left for now in seen]
    assert left == sorted(left, reverse=True)
    assert 0 < left[-1] < 60


def test_what_is_refused_is_refused_before_the_model_is_asked(host: Host) -> None:
    model = Scripted(GOOD)
    with pytest.raises(Denied):
        generate(host, model, "a box", profile="nobody")
    assert model.asked == []


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("first", "no field", "request is missing"),
        ("repair", "$account $nothing", "nothing fills .nothing"),
        ("system", "5$ a part", "begins no name"),
    ],
)
def test_a_template_that_says_too_little_or_too_much_is_refused(name: str, text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    with pytest.raises(Denied, match=why):
        Prompts.load(tmp_path)


def test_own_templates_are_taken(tmp_path: Path, host: Host, profile: str) -> None:
    (tmp_path / "first.txt").write_text("MAKE: $request", "utf-8")
    model = Scripted(GOOD)
    generate(host, model, "a $box", deadline=60, profile=profile, prompts=Prompts.load(tmp_path))
    assert model.asked[0][1].content == "MAKE: a $box\n"
    assert model.asked[0][0].content == Prompts.load().system


def test_what_is_no_text_is_kept_as_escapes(host: Host, profile: str, tmp_path: Path) -> None:
    """JSON of a server may hold lone surrogates, and so may an argument; UTF-8 may not."""

    def odd(messages: tuple[Message, ...], deadline: Deadline) -> Reply:
        return Reply(f"\ud800\n```python\n{GOOD}# \udfff\n```\n", "\ud800", "\ud800" * 500, -1, 10**4000)

    made = generate(host, odd, "a \ud800 box", attempts=1, deadline=60, profile=profile)
    path = tmp_path / "record.json"
    made.record.save(path)
    [attempt] = Record.load(path).attempts
    assert (attempt.prompt_tokens, attempt.completion_tokens) == (None, None)
    assert attempt.ok
    assert "# \\udfff" in attempt.source


def test_a_record_is_not_written_through_a_link(host: Host, profile: str, tmp_path: Path) -> None:
    made = generate(host, Scripted(GOOD), "a box", deadline=60, profile=profile)
    (tmp_path / "other").write_text("mine", "utf-8")
    (tmp_path / "record.json").symlink_to(tmp_path / "other")
    made.record.save(tmp_path / "record.json")
    assert (tmp_path / "other").read_text("utf-8") == "mine"
    assert Record.load(tmp_path / "record.json") == made.record


def test_somebody_elses_record_brings_no_profile(host: Host, profile: str, tmp_path: Path) -> None:
    made = generate(host, Scripted(GOOD), "a box", deadline=60, profile=profile)
    own = tmp_path / "weak.toml"
    own.write_text(profile_text("cad-rlimit"), "utf-8")
    record = made.record.model_copy(update={"profile": str(own)})
    with pytest.raises(Denied, match="not shipped"):
        replay(host, record)
    [again] = replay(host, record, profile=profile)
    assert again.difference == ""


@pytest.mark.parametrize("deadline", [float("inf"), float("nan")])
def test_a_loop_has_an_end(deadline: float, host: Host) -> None:
    with pytest.raises(ValueError, match="an end"):
        generate(host, Scripted(GOOD), "a box", deadline=deadline)
