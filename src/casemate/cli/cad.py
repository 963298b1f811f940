"""`casemate cad generate | replay`: a prompt in, an inspected part out; and a record's scripts run again."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from casemate.cad import Checks, Generation, Progress, Prompts, Record, generate, picture, replay
from casemate.cad.generators import NO_KEY
from casemate.cli import cad_documents, cad_score, documents, terminal
from casemate.cli.run import Tightened, seconds, writable
from casemate.cli.status import FAILED, WELL
from casemate.control.deadline import Deadline
from casemate.control.files import write_file
from casemate.control.host import Host
from casemate.control.outlining import Outline
from casemate.errors import Busy, Denied, SandboxFault

RECORD = "record.json"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("cad", help="have a model write a part, and repair it; score parts")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    _add_generate(actions)
    again = actions.add_parser("replay", help="run the scripts of a record again, without a model")
    again.add_argument("record", type=Path, help="a record.json that `cad generate` wrote")
    again.add_argument("--profile", help="to run under, in place of the record's (needed where that is not shipped)")
    again.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    again.set_defaults(command=main_replay)
    cad_score.add(actions)


def _add_generate(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    make = actions.add_parser("generate", help="a prompt in, an inspected STEP file out")
    make.add_argument("request", metavar="PROMPT", help="what the part is to be, in words")
    make.add_argument("--model", required=True, metavar="URL", help="a server that speaks the chat-completions API")
    make.add_argument("--model-name", required=True, metavar="NAME", help="which of its models")
    make.add_argument(
        "--key",
        default="",
        metavar="REFERENCE",
        help="where the server's key is: env:NAME or file:PATH (default: none)",
    )
    make.add_argument("--temperature", type=float, metavar="NUMBER")
    make.add_argument("--seed", type=int, metavar="NUMBER")
    make.add_argument("--max-tokens", type=int, metavar="NUMBER", help="of one answer")
    make.add_argument("--retries", type=int, default=3, metavar="NUMBER", help="of a failed request (default: 3)")
    make.add_argument(
        "--patience", type=seconds, default=60.0, metavar="SECONDS", help="between pieces of an answer (default: 60)"
    )
    make.add_argument("--attempts", type=int, default=4, metavar="NUMBER", help="at most (default: 4)")
    make.add_argument(
        "--deadline", type=seconds, default=120.0, metavar="SECONDS", help="for all of it together (default: 120)"
    )
    make.add_argument("--profile", default="cad", help="a profile's name or file (default: cad)")
    make.add_argument("--limit", action=Tightened, default={}, metavar="NAME=NUMBER", help="a lower limit")
    make.add_argument("--prompts", type=Path, metavar="DIR", help="own system.txt, first.txt or repair.txt")
    make.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="write part.step, script.py, record.json, picture.svg"
    )
    make.add_argument("--box", type=_extent, metavar="X,Y,Z", help="the bounding box that is wanted, in mm")
    make.add_argument("--tolerance", type=float, default=0.01, help="of the bounding box, relative (default: 0.01)")
    make.add_argument("--volume", type=_range, metavar="LEAST,MOST", help="mm³")
    make.add_argument("--solids", type=int, default=1, metavar="NUMBER", help="(default: 1; 0: any number)")
    make.add_argument("--holes", type=int, metavar="NUMBER", help="round holes")
    make.add_argument("--watertight", action="store_true")
    make.add_argument("--symmetric", default="", metavar="AXES", help="across the middle along these, as xy")
    make.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    make.set_defaults(command=main_generate)


def main_generate(arguments: argparse.Namespace) -> int:
    """Generate; 0 if a part passed every check, else 1."""
    try:
        checks = Checks(
            arguments.box, arguments.tolerance, arguments.volume, arguments.solids or None, arguments.watertight,
            arguments.holes, arguments.symmetric,
        )  # fmt: skip
        if arguments.attempts < 1 or not arguments.request.strip():
            raise ValueError("at least one attempt and a prompt are needed")
        from casemate.cad.openai_client import ChatCompletions  # its library takes half a second to import

        model = ChatCompletions(
            arguments.model, arguments.model_name, _key(arguments.key), arguments.temperature, arguments.seed,
            arguments.max_tokens, arguments.retries, arguments.patience,
        )  # fmt: skip
    except ValueError as error:
        raise Denied(str(error)) from None
    prompts = Prompts.load(arguments.prompts)
    writable(arguments.out)
    with Host() as host, terminal.progress("starting", quiet=arguments.json) as progress:
        progress("template")
        host.warm(arguments.profile, arguments.limit)
        until = Deadline.after(arguments.deadline)
        made = generate(
            host, model, arguments.request, checks=checks, attempts=arguments.attempts, deadline=until,
            profile=arguments.profile, limits=arguments.limit, prompts=prompts,
            progress=lambda now: progress(_told(now)), keep=lambda record: record.save(arguments.out / RECORD),
        )  # fmt: skip
        outline = _outline(host, made, arguments.profile, until, progress)
    paths = _write(made, arguments.out, outline)
    status = WELL if made.ok else FAILED
    if arguments.json:
        print(documents.dump(cad_documents.of_generation(made, paths, status)))
    else:
        _show(made, paths)
        if outline is not None:
            terminal.draw(picture.braille(outline))
    return status


def main_replay(arguments: argparse.Namespace) -> int:
    """Run them again; 0 if each did what it did then."""
    record = Record.load(arguments.record)
    with Host() as host, terminal.progress("starting", quiet=arguments.json) as progress:
        found = replay(host, record, lambda now: progress(f"attempt {now.number}"), arguments.profile)
    status = WELL if not any(one.difference for one in found) else FAILED
    if arguments.json:
        print(documents.dump(cad_documents.of_replay(found, status)))
        return status
    for one in found:
        terminal.say(f"attempt {one.number}: {one.difference or 'as recorded'}", "red" if one.difference else "green")
    return status


def _told(now: Progress) -> str:
    stage = "asking the model" if now.stage == "model" else terminal.step(now.stage)
    return f"attempt {now.number} of {now.attempts}: {stage}, {now.left:.0f} s left"


def _outline(
    host: Host, made: Generation, profile: str, until: Deadline, progress: Callable[[str], None]
) -> Outline | None:
    """A picture, if there is a part and time left for one."""
    if made.artifact is None or until.left() <= 0:
        return None
    progress("drawing the part")
    try:
        drawn = host.outline(made.artifact.data, profile, until)
    except (Busy, SandboxFault, TimeoutError):
        return None
    return drawn if drawn.lines else None


def _write(made: Generation, directory: Path, outline: Outline | None) -> dict[str, str]:
    for name in ("script.py", "part.step", "picture.svg"):
        (directory / name).unlink(missing_ok=True)  # of an earlier prompt: what stands here belongs to the record
    paths = {"record": directory / RECORD}
    made.record.save(paths["record"])
    chosen = made.record.best or (made.record.attempts[-1].number if made.record.attempts else None)
    if chosen is not None:
        paths["script"] = directory / "script.py"
        write_file(paths["script"], made.record.attempts[chosen - 1].source.encode("utf-8", "surrogatepass"))
    if made.artifact is not None:
        paths["part"] = directory / "part.step"
        write_file(paths["part"], made.artifact.data)
    if outline is not None:
        paths["picture"] = directory / "picture.svg"
        write_file(paths["picture"], picture.svg(outline).encode())
    return {name: str(path) for name, path in paths.items()}


def _show(made: Generation, paths: dict[str, str]) -> None:
    for attempt in made.record.attempts:
        tokens = f", {attempt.completion_tokens} tokens" if attempt.completion_tokens is not None else ""
        seen = "a part that passes every check" if attempt.ok else "; ".join(fault.message for fault in attempt.faults)
        time = f"model {attempt.model_seconds:.1f} s{tokens}, sandbox {attempt.run_seconds:.1f} s"
        terminal.say(f"attempt {attempt.number} ({time}): {seen}", "green" if attempt.ok else "yellow")
    if not made.ok:
        terminal.say(f"{made.record.reason}: {made.record.message}", "red")
    if made.part is not None:
        terminal.show_part(made.part, {made.part.artifact or "": paths.get("part", "")})
    for name in ("script", "record", "picture"):
        if name in paths:
            terminal.say(f"  {name}: {paths[name]}")


def _key(reference: str) -> str:
    kind, _, name = reference.partition(":")
    if not reference:
        return NO_KEY
    if kind == "env" and name:
        if not (value := os.environ.get(name, "")):
            raise Denied(f"--key {reference}: the variable is not set")
        return value
    if kind == "file" and name:
        try:
            return Path(name).read_text("utf-8").strip()
        except UnicodeDecodeError:
            raise Denied(f"--key {reference}: the file is not UTF-8") from None
    raise Denied("--key takes a reference, env:NAME or file:PATH, and never the key itself")


def _numbers(text: str, count: int) -> tuple[float, ...]:
    try:
        values = tuple(float(word) for word in text.split(","))
    except ValueError:
        values = ()
    if len(values) != count:
        raise argparse.ArgumentTypeError(f"{text}: {count} numbers with commas between them are needed")
    return values


def _extent(text: str) -> tuple[float, float, float]:
    x, y, z = _numbers(text, 3)
    return x, y, z


def _range(text: str) -> tuple[float, float]:
    least, most = _numbers(text, 2)
    return least, most
