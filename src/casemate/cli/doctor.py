"""`casemate doctor`: what this host can enforce, what it cannot, and how to get it."""

from __future__ import annotations

import argparse

from casemate.cli import documents, terminal
from casemate.cli.status import FAILED, WELL
from casemate.control.places import default_stores
from casemate.control.profiles import CEILING, admit, load_profile, profile_names
from casemate.errors import CasemateError, Denied
from casemate.policy import HostFacts, decide
from casemate.policy.runtimes import LACKS
from casemate.runtime import images, runtimes
from casemate.runtime.doctor import examine

_IMAGES = ("cad", "python")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("doctor", help="say what this host can enforce, and how to get the rest")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    parser.set_defaults(command=main)


def main(arguments: argparse.Namespace) -> int:
    """Examine the host; 0 if at least one profile and its image are ready, else 1."""
    found = examine()
    layers = tuple(documents.LayerDocument(name, not why, why) for name, why in found.layers)
    facts = HostFacts(found.layers)
    found_runtimes = tuple(_runtime(name) for name in runtimes.EXECUTABLES)
    profiles = tuple(_profile(name, facts) for name in profile_names())
    there = {name: _image(name) for name in _IMAGES}
    best = next((p.name for name in ("cad", "cad-rlimit") for p in profiles if p.name == name and p.enforceable), None)
    status = WELL if best and not there["cad"].startswith("missing") else FAILED
    document = documents.DoctorDocument(dict(found.host), layers, found_runtimes, profiles, there, best, status)
    if arguments.json:
        print(documents.dump(document))
    else:
        _show(document)
    return status


def _profile(name: str, facts: HostFacts) -> documents.ProfileDocument:
    profile = load_profile(name)
    try:
        plan = decide(admit(name, CEILING), facts)
    except Denied as refusal:
        return documents.ProfileDocument(name, False, str(refusal), (), profile.layers.not_held)
    return documents.ProfileDocument(name, True, "", plan.degraded, profile.layers.not_held)


def _runtime(name: str) -> documents.RuntimeDocument:
    found = runtimes.find(name)
    lacks = {lack.layer: lack.why for lack in LACKS[name]}
    return documents.RuntimeDocument(name, found.command, found.version, found.reason, lacks)


def _image(name: str) -> str:
    try:
        image = images.find(name, default_stores())
    except CasemateError as error:
        return f"missing: {error}"
    return f"{image.root} ({image.digest[:12]})"


def _show(document: documents.DoctorDocument) -> None:
    for name, text in document.host.items():
        terminal.say(f"{name}: {text}")
    for layer in document.layers:
        terminal.say(f"  {layer.name}: {'yes' if layer.available else 'no'}", "green" if layer.available else "red")
        if layer.reason:
            terminal.say(f"      {layer.reason}")
    terminal.say("runtimes for the outer wall, beside our own")
    for runtime in document.runtimes:
        terminal.say(f"  {runtime.name}: {runtime.reason or f'{runtime.command}, {runtime.version}'}")
        for layer_name, why in runtime.lacks.items():
            terminal.say(f"      lacks {layer_name}: {why}")
    terminal.say("profiles")
    for profile in document.profiles:
        style = "green" if profile.enforceable else "red"
        terminal.say(f"  {profile.name}: {'enforceable here' if profile.enforceable else 'refused here'}", style)
        if profile.reason:
            terminal.say(f"      {profile.reason}")
        for name in profile.degraded:
            terminal.say(f"      without {name}, as the profile permits")
        if profile.enforceable:
            for text in profile.not_held:
                terminal.say(f"      not held: {text}")
    terminal.say("images")
    for name, text in document.images.items():
        terminal.say(f"  {name}: {text}")
