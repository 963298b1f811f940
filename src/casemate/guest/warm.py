"""Makes the CAD template warm, once, before any fork: imports, one thread, fonts, and geometry that touches the kernel.

A fork of a process in which OCCT's thread pool has worked hangs in its first boolean, so the pool is made one thread
before that; and the template must have exactly one thread when this returns.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

import build123d
import cadquery
import numpy
from OCP.Message import Message, Message_Gravity, Message_PrinterOStream
from OCP.OSD import OSD_ThreadPool

from casemate import gate
from casemate.guest import fonts, handover, inspect, measure, namespace, outline, score, script, shapes, step
from casemate.guest.inputs import Inputs

THREADS = "/proc/self/task"


def cad() -> None:
    """The template's warm-up for CAD jobs."""
    OSD_ThreadPool.DefaultPool_s(1)
    cadquery.occ_impl.shapes.setThreads(1)
    messages_to_stderr()
    fonts.register()
    for name in ("cad", "cad-minimal"):
        script.library(name).load()
    numbers()
    exercise()
    for stage in (score.run, outline.run):  # in a sandbox nothing of ours can be imported any more
        assert callable(stage)
    gc.collect()
    gc.freeze()  # else a collection in a long job copies every page of the template's heap
    threads = os.listdir(THREADS)
    if len(threads) != 1:
        raise RuntimeError(f"the warm template has {len(threads)} threads; a fork of it could hang")


def messages_to_stderr() -> None:
    """OCCT prints on C++'s stdout, which is lost in a process that ends without running destructors."""
    messenger = Message.DefaultMessenger_s()
    messenger.RemovePrinters(Message_PrinterOStream.get_type_descriptor_s())
    printer = Message_PrinterOStream("cerr", False, Message_Gravity.Message_Warning)
    printer.SetToColorize(False)
    messenger.AddPrinter(printer)


def numbers() -> None:
    """numpy's C code imports parts of numpy when they are first used, which a script's builtins would not let it."""
    array = numpy.array([[3.0, 1.0], [2.0, 4.0]])
    for name in (
        "max",
        "min",
        "sum",
        "mean",
        "std",
        "var",
        "any",
        "all",
        "prod",
        "ptp",
        "clip",
        "round",
        "argmax",
        "argmin",
    ):
        method = getattr(array, name, None)
        if method is not None:
            method(0.0, 2.0) if name == "clip" else method()
    for text in (str, repr, "{}".format):
        text(array)
        text(array[0, 0])
    numpy.linalg.norm(array)
    array @ array


def exercise() -> None:
    """Build, hand over, write, re-read and measure something small, so that no job pays for a first time."""
    plate = (
        cadquery.Workplane("XY")
        .box(40, 30, 6)
        .faces(">Z")
        .workplane()
        .rect(30, 20, forConstruction=True)
        .vertices()
        .cboreHole(3, 6, 2)
        .edges("|Z")
        .fillet(2)
        .faces(">Z")
        .edges()
        .chamfer(0.3)
    )
    block = build123d.Box(10, 8, 6) - build123d.Cylinder(2, 10)
    block = build123d.fillet(block.edges().filter_by(build123d.Axis.Z), 0.5)
    label = cadquery.Workplane("XY").text("Aa0", 5, 1, font="DejaVu Sans")
    for value in (plate, block, label):
        found = shapes.geometry(value)
        if found is None:
            raise RuntimeError("the warm-up geometry came out empty")
        with memory_file() as brep, memory_file() as file:
            handover.write_shape(found.leaves[0].shape, brep)
            shape = inspect.read(brep)
            before = measure.amounts(shape)
            step.write(file, "warm", [("warm", shape)], assembly=False)
            inspect.judge("warm", shape, before, step.read(file))


REHEARSAL = """\
import cadquery as cq
plate = cq.Workplane("XY").box(20, 15, 5).edges("|Z").fillet(1)
result = plate.faces(">Z").workplane().cboreHole(3, 6, 2)
"""


def rehearse() -> None:
    """A small job from the source to the facts: it writes to nearly the same pages as any other."""
    verdict = gate.check(REHEARSAL.encode(), gate.rules_named("cad"), frozenset())
    assert isinstance(verdict, gate.Admitted)
    permitted = namespace.permitted_builtins(gate.rules_named("cad").builtins)
    names = namespace.Namespace(permitted, script.library("cad"), Inputs("", ()))
    script.execute(verdict.tree, names.variables)
    with memory_file() as brep, memory_file() as target:
        handover.write_shape(names.variables["result"].val().wrapped, brep)
        shape = inspect.read(brep)
        before = measure.amounts(shape)
        step.write(target, "rehearsal", [("rehearsal", shape)], assembly=False)
        inspect.judge("rehearsal", shape, before, step.read(target))


@contextmanager
def memory_file() -> Iterator[str]:
    """A path to write to where no directory is writable (memfd_create(2))."""
    descriptor = os.memfd_create("warm")
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
