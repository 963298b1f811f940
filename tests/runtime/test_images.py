"""The image store and the rules of an image's tree. The tree under test is small; the CAD image is checked as built."""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from casemate.errors import Denied, SandboxFault
from casemate.runtime import elf, images, manifest
from casemate.runtime.closure import EPOCH, STEPS, Assembly, copy_libraries, seal
from casemate.runtime.process import run_tool
from casemate.runtime.recipe import Interpreter, Programs, Recipe

SOURCE = Path(images.__file__).parent.parent / "images"
SYSTEM = Path("/var/lib/casemate/images")
OWN = Path("~/.local/share/casemate/images").expanduser()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/tool").write_bytes(b"#!tool")
    (root / "usr/bin/tool").chmod(0o555)
    (root / "usr/text").write_bytes(b"text")
    (root / "usr/text").chmod(0o444)
    (root / "bin").symlink_to("usr/bin")
    for directory in (root / "usr/bin", root / "usr"):
        directory.chmod(0o755)
    return root


def digest_of(root: Path) -> str:
    return manifest.digest(manifest.scan(root))


def test_the_digest_ignores_times_and_order(tree: Path, tmp_path: Path) -> None:
    before = digest_of(tree)
    os.utime(tree / "usr/text", (1, 1))
    assert digest_of(tree) == before
    other = tmp_path / "other"
    (other / "usr/bin").mkdir(parents=True)
    (other / "bin").symlink_to("usr/bin")
    for name, mode in (("usr/text", 0o444), ("usr/bin/tool", 0o555)):
        (other / name).write_bytes((tree / name).read_bytes())
        (other / name).chmod(mode)
    assert digest_of(other) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "usr/bin/tool").chmod(0o444),
        lambda root: (root / "usr/text").rename(root / "usr/text2"),
        lambda root: (root / "usr/new").mkdir(0o755),
        lambda root: ((root / "bin").unlink(), (root / "bin").symlink_to("usr")),
        lambda root: ((root / "usr/text").chmod(0o644), (root / "usr/text").write_bytes(b"teXt")),
        lambda root: ((root / "usr/text").unlink(), (root / "usr/text").symlink_to("bin/tool")),
    ],
)
def test_the_digest_sees_every_kind_of_change(tree: Path, change: Callable[[Path], object]) -> None:
    before = digest_of(tree)
    change(tree)
    assert digest_of(tree) != before


def test_a_line_break_in_a_name_cannot_pass_for_two_entries(tmp_path: Path) -> None:
    digests = set()
    for number, names in enumerate((["a\nb"], ["a", "b"], ["a", "b\n"])):
        root = tmp_path / str(number)
        root.mkdir()
        for name in names:
            (root / name).write_bytes(b"")
            (root / name).chmod(0o444)
        digests.add(digest_of(root))
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda root: (root / "usr/bin/tool").chmod(0o4555), "set-id"),
        (lambda root: (root / "usr/bin/tool").chmod(0o2555), "set-id"),
        (lambda root: (root / "usr").chmod(0o1755), "sticky"),
        (lambda root: (root / "usr/text").chmod(0o464), "others can write"),
        (lambda root: (root / "usr").chmod(0o777), "others can write"),
        (lambda root: (root / "usr/text").chmod(0o440), "not everyone can read"),
        (lambda root: (root / "usr").chmod(0o750), "not everyone can read"),
        (lambda root: (root / "usr/out").symlink_to("../../etc/passwd"), "outside the image"),
        (lambda root: (root / "usr/out").symlink_to("/etc/passwd"), "outside the image"),
        (lambda root: (root / "usr/out").symlink_to("../bin/../../../etc"), "outside the image"),
        (
            lambda root: ((root / "usr/up").symlink_to(".."), (root / "out").symlink_to("usr/up/../x")),
            "outside the image",
        ),
        (lambda root: os.mkfifo(root / "usr/pipe", 0o444), "neither a file"),
    ],
)
def test_what_an_image_must_not_hold_is_refused(tree: Path, spoil: Callable[[Path], object], reason: str) -> None:
    manifest.scan(tree)
    spoil(tree)
    with pytest.raises(SandboxFault, match=reason):
        manifest.scan(tree)


def test_a_link_that_goes_up_and_stays_inside_is_fine(tree: Path) -> None:
    (tree / "usr/bin/up").symlink_to("../../usr/text")
    assert "usr/bin/up" in {entry.path for entry in manifest.scan(tree)}


def assembly(root: Path) -> Assembly:
    nothing = Recipe(
        stubs=None,
        imports=(),
        fonts_from="",
        fonts_take=(),
        fonts_into="",
        absent=(),
        links=(),
        omit=(),
        keep=(),
        programs=Programs(),
    )
    return Assembly(root, Path("none"), nothing, Interpreter.running(), {})


def test_sealing_normalises_modes_and_times(tree: Path) -> None:
    (tree / "usr/bin/tool").chmod(0o6775)
    (tree / "usr/text").chmod(0o600)
    (tree / "usr").chmod(0o700)
    seal(assembly(tree))
    modes = {entry.path: entry.mode for entry in manifest.scan(tree)}
    assert modes == {"bin": 0o777, "usr": 0o755, "usr/bin": 0o755, "usr/bin/tool": 0o555, "usr/text": 0o444}
    assert {path.lstat().st_mtime for path in [tree, *tree.rglob("*")]} == {EPOCH}


def test_libraries_are_copied_with_their_loader(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "usr/bin").mkdir(parents=True)
    (root / "etc").mkdir()
    python = root / "usr/bin/python3"
    python.write_bytes(Path(sys.executable).resolve().read_bytes())
    python.chmod(0o755)
    copy_libraries(assembly(root))
    names = {path.name for path in root.rglob("*.so*")}
    assert {"libc.so.6", Path(elf.interpreter_of(python)).name} <= names
    assert (root / "etc/ld.so.cache").stat().st_size > 0
    assert not (root / "var").exists()
    for library in (path for path in root.rglob("*.so*") if elf.is_shared(path)):
        for needed in elf.needed_libraries(Path(elf.interpreter_of(python)), library, root):
            assert needed.name in names, f"{library.name} needs {needed.name}"


def test_a_library_that_no_host_has_is_named(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "usr/bin").mkdir(parents=True)
    data = Path(sys.executable).resolve().read_bytes()
    assert b"libc.so.6\0" in data
    (root / "usr/bin/python3").write_bytes(data.replace(b"libc.so.6\0", b"libq.so.9\0"))
    (root / "usr/bin/python3").chmod(0o755)
    with pytest.raises(SandboxFault, match=r"libq\.so\.9 \(for usr/bin/python3\)"):
        copy_libraries(assembly(root))


def test_what_is_no_elf_file_is_told(tmp_path: Path) -> None:
    for name, data in (
        ("text", b"text"),
        ("empty", b""),
        ("short", b"\x7fELF"),
        ("32 bit", b"\x7fELF\x01\x01" + bytes(64)),
    ):
        (tmp_path / name).write_bytes(data)
        assert not elf.is_shared(tmp_path / name)
    header = b"\x7fELF\x02\x01" + bytes(26) + (64).to_bytes(8, "little") + bytes(14) + b"\x38\0\xff\0"
    (tmp_path / "cut").write_bytes(header.ljust(64, b"\0"))
    with pytest.raises(SandboxFault, match="cut short"):
        elf.is_shared(tmp_path / "cut")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store and a requirement file whose image is two files, so that a build takes no time."""

    def fill(job: Assembly, progress: Callable[[str, float | None], None]) -> None:
        progress("filling", 0.0)
        (job.root / "usr").mkdir(mode=0o755)
        (job.root / "usr/requirements").write_bytes(job.requirements.read_bytes())
        seal(job)

    monkeypatch.setattr(images, "assemble", fill)
    (tmp_path / "tiny.txt").write_text("one\n", "utf-8")
    (tmp_path / "tiny.toml").write_text(
        'stubs = "stubs"\nimports = []\n[fonts]\nfrom = ""\ntake = []\ninto = ""\n'
        "[absent]\n[links]\n[omit]\npatterns = []\nkeep = []\n"
        "[programs]\ntake = []\noptional = []\n[programs.first]\n[programs.names]\n",
        "utf-8",
    )
    return tmp_path / "store"


def build(store: Path, *, rebuild: bool = False) -> tuple[images.Image, list[str]]:
    labels: list[str] = []
    image = images.build(
        "tiny",
        store=store,
        requirements=store.parent / "tiny.txt",
        progress=lambda label, _: labels.append(label),
        environment={},
        rebuild=rebuild,
    )
    return image, labels


def test_an_image_is_built_found_and_verified(store: Path) -> None:
    image, labels = build(store)
    assert labels == ["filling", "computing the digest", "done"]
    assert images.find("tiny", [store]) == image
    assert image.root == store / f"tiny-{image.digest[:12]}" / "root"
    assert re.fullmatch(r"[0-9a-f]{64}", image.digest)
    assert image.python == sys.version.split()[0]
    images.verify(image)
    assert {path.name for path in store.iterdir()} == {".lock", "tiny", image.root.parent.name}


def test_the_same_inputs_build_nothing_and_others_swap_the_link(store: Path) -> None:
    first, _ = build(store)
    again, labels = build(store)
    assert (again, labels) == (first, [])
    (store.parent / "tiny.txt").write_text("two\n", "utf-8")
    second, labels = build(store)
    assert labels
    assert second.digest != first.digest
    assert images.find("tiny", [store]) == second
    images.verify(first)  # sandboxes that still run on it keep it


def test_a_rebuild_gives_the_same_digest(store: Path) -> None:
    first, _ = build(store)
    second, labels = build(store, rebuild=True)
    assert labels
    assert second.digest == first.digest
    assert second.root == first.root


def test_other_inputs_that_give_the_same_tree_are_remembered(store: Path) -> None:
    first, _ = build(store)
    with (store.parent / "tiny.toml").open("a") as recipe:
        recipe.write("# a comment\n")
    second, labels = build(store)
    assert labels
    assert (second.digest, second.inputs != first.inputs) == (first.digest, True)
    assert build(store) == (second, [])


def test_a_killed_build_is_swept_by_the_next(store: Path) -> None:
    (store / ".build-dead/root").mkdir(parents=True)
    build(store)
    assert not (store / ".build-dead").exists()


def test_a_failed_build_leaves_the_old_image(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = build(store)

    def fail(*_: object) -> None:
        raise SandboxFault("no network")

    monkeypatch.setattr(images, "assemble", fail)
    with pytest.raises(SandboxFault, match="no network"):
        build(store, rebuild=True)
    assert images.find("tiny", [store]) == first
    assert not list(store.glob(".build-*"))


def test_two_builders_do_not_meet(store: Path) -> None:
    store.mkdir()
    with (store / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting: list[str] = []

        def let_go(label: str, _: float | None) -> None:
            waiting.append(label)
            fcntl.flock(lock, fcntl.LOCK_UN)

        images.build("tiny", store=store, requirements=store.parent / "tiny.txt", progress=let_go, environment={})
    assert waiting[0] == "waiting for another build"


def test_a_missing_image_comes_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(SandboxFault, match="casemate image build cad"):
        images.find("cad", [tmp_path, tmp_path / "absent"])


@pytest.mark.parametrize("name", ["", "../cad", "Cad", "a/b", "cad-", ".lock", "cad\n"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Denied, match="no image name"):
        images.find(name, [tmp_path])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda place: place.chmod(0o777),
        lambda place: place.parent.chmod(0o775),
        lambda place: (place / "root").chmod(0o757),
        lambda place: ((place / "image.json").unlink(), (place / "image.json").write_text("{}")),
        lambda place: ((place / "image.json").unlink(), (place / "image.json").write_text("nonsense")),
        lambda place: rewrite(place / "image.json", digest="0" * 64),
        lambda place: rewrite(place / "image.json", format=0),
        lambda place: rewrite(place / "image.json", name="other"),
        lambda place: ((place.parent / "tiny").unlink(), (place.parent / "tiny").symlink_to("/tmp/elsewhere")),
    ],
)
def test_a_store_that_cannot_be_trusted_is_refused(store: Path, spoil: Callable[[Path], object]) -> None:
    image, _ = build(store)
    spoil(image.root.parent)
    with pytest.raises(SandboxFault):
        images.find("tiny", [store])


def rewrite(path: Path, **changes: object) -> None:
    facts = json.loads(path.read_text("utf-8"))
    path.unlink()
    path.write_text(json.dumps({**facts, **changes}), "utf-8")


def test_one_changed_byte_is_found_by_verification(store: Path) -> None:
    image, _ = build(store)
    target = image.root / "usr/requirements"
    target.chmod(0o644)
    target.write_bytes(b"onE\n")
    target.chmod(0o444)
    images.find("tiny", [store])
    with pytest.raises(SandboxFault, match="was changed after it was built"):
        images.verify(image)


def test_a_recipe_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    text = (SOURCE / "cad.toml").read_text("utf-8")
    (tmp_path / "cad.toml").write_text("surprise = 1\n" + text, "utf-8")
    with pytest.raises(SandboxFault, match="unknown keys: surprise"):
        Recipe.load(tmp_path / "cad.toml")
    (tmp_path / "cad.toml").write_text(text.replace("imports =", "# imports ="), "utf-8")
    with pytest.raises(SandboxFault, match="cannot be read"):
        Recipe.load(tmp_path / "cad.toml")


def test_the_steps_shares_add_up() -> None:
    assert sum(share for share, _, _ in STEPS) == pytest.approx(0.96)


def test_a_tool_that_fails_or_hangs_is_a_fault() -> None:
    with pytest.raises(SandboxFault, match=r"status 3: reason"):
        run_tool(["/bin/sh", "-c", "echo reason >&2; exit 3"], env={}, timeout=10)
    with pytest.raises(SandboxFault, match=r"did not end within 0\.2 s"):
        run_tool(["/bin/sleep", "10"], env={}, timeout=0.2)
    with pytest.raises(SandboxFault, match="cannot be started"):
        run_tool(["/no/such/tool"], env={}, timeout=1)
    assert run_tool(["/usr/bin/env"], env={"A": "b"}, timeout=10).stdout == b"A=b\n"


def test_the_lock_file_names_hashes_and_no_index() -> None:
    text = (SOURCE / "cad.txt").read_text("utf-8")
    pins = re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE)
    assert len(pins) == len(set(pins)) == len(re.findall(r"==[^\n]* \\\n    --hash=sha256:", text))
    assert [pin for pin in pins if pin.startswith("cadquery-ocp")] == ["cadquery-ocp-novtk", "cadquery-ocp-proxy"]
    assert not {"vtk", "trame", "ipython"} & set(pins)
    assert "://" not in text
    assert not re.search(r"^\s*(-i|-f|--(extra-)?index-url|--find-links)\b", text, re.MULTILINE)


def test_no_stub_shadows_a_pinned_package() -> None:
    pins = set(re.findall(r"^([a-z0-9-]+)==", (SOURCE / "cad.txt").read_text("utf-8"), re.MULTILINE))
    stubs = {
        path.name.removesuffix(".py").lower() for path in (SOURCE / "stubs").iterdir() if path.name != "__pycache__"
    }
    assert stubs == {"ipython", "ocp", "requests", "sklearn", "vtk", "vtkmodules"}
    assert not stubs & pins


@pytest.fixture(scope="module")
def cad() -> images.Image:
    return images.find("cad", [SYSTEM] if os.geteuid() == 0 else [OWN, SYSTEM])


def test_the_cad_image_is_what_was_built(cad: images.Image) -> None:
    images.verify(cad)
    recipe = Recipe.load(SOURCE / "cad.toml")
    assert cad.inputs == images.inputs_digest(SOURCE / "cad.txt", recipe, Interpreter.running())


def test_the_cad_image_holds_what_a_room_needs(cad: images.Image) -> None:
    root = cad.root
    for name in ("proc", "dev", "tmp", "run", "opt/casemate"):
        assert not list((root / name).iterdir())
    assert "guest:x:1000:1000:" in (root / "etc/passwd").read_text("utf-8")
    assert (root / elf.interpreter_of(root / "usr/bin/python3").lstrip("/")).is_file()
    assert (root / "usr/share/fonts/truetype/dejavu/DejaVuSans.ttf").stat().st_size > 500_000
    assert (root / "usr/share/zoneinfo/Europe/Vienna").is_file()
    packages = root / cad.site_packages.lstrip("/")
    compiled = {path.parent.parent / f"{path.name.split('.')[0]}.py" for path in (packages / "cadquery").rglob("*.pyc")}
    assert compiled == set((packages / "cadquery").rglob("*.py"))


def test_the_cad_image_holds_no_shell_and_no_second_ocp(cad: images.Image) -> None:
    assert [path.name for path in (cad.root / "usr/bin").iterdir()] == ["python3"]
    assert len(list(cad.root.rglob("OCP*.so"))) == 1
    packages = cad.root / cad.site_packages.lstrip("/")
    assert not [
        name
        for name in ("matplotlib", "vtkmodules/vtkCommonCore.so", "trame", "bin", "numba")
        if (packages / name).exists()
    ]


def test_byte_code_depends_on_no_time(cad: images.Image) -> None:
    path = next((cad.root / cad.site_packages.lstrip("/") / "cadquery/__pycache__").glob("cq.*.pyc"))
    flags = int.from_bytes(path.read_bytes()[4:8], "little")
    assert flags == 0b01  # hash-based, not checked against the source (PEP 552)
    assert str(cad.root).encode() not in path.read_bytes()


def test_everything_in_the_cad_image_belongs_to_its_builder(cad: images.Image) -> None:
    owners = {path.lstat().st_uid for path in [cad.root, *cad.root.rglob("*")]}
    assert owners in ({0}, {os.geteuid()})
    assert not cad.root.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
