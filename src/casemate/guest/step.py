"""Writes one part as STEP (ISO 10303-21, AP214), the same bytes for the same input in any process.

What would differ from run to run is set in the model before it is written: the header's time stamp and names, and the
ids of the assembly's occurrences, which come from a counter that grows for as long as the process lives.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from OCP.APIHeaderSection import APIHeaderSection_MakeHeader
from OCP.BRep import BRep_Builder
from OCP.IFSelect import IFSelect_ReturnStatus
from OCP.Interface import Interface_Static
from OCP.STEPCAFControl import STEPCAFControl_Controller, STEPCAFControl_Writer
from OCP.STEPControl import STEPControl_Reader, STEPControl_StepModelType
from OCP.StepRepr import StepRepr_NextAssemblyUsageOccurrence
from OCP.TCollection import TCollection_ExtendedString, TCollection_HAsciiString
from OCP.TDataStd import TDataStd_Name
from OCP.TDF import TDF_Label
from OCP.TDocStd import TDocStd_Document
from OCP.TopLoc import TopLoc_Location
from OCP.TopoDS import TopoDS_Compound, TopoDS_Shape
from OCP.XCAFApp import XCAFApp_Application
from OCP.XCAFDoc import XCAFDoc_DocumentTool

TIME_STAMP = "2000-01-01T00:00:00"
"""ISO 10303-21 wants one; a real one would make every file differ from its twin."""
_END = b"END-ISO-10303-21;"


class StepError(Exception):
    """The STEP could not be written, or what was written is not whole."""


def escape(name: str) -> str:
    """A name in the ASCII of ISO 10303-21 §6.4.3: `\\X2\\hhhh\\X0\\` for what is beyond it.

    A backslash of the name's own becomes a slash, so that no name can spell such a directive.
    """
    out = []
    for character in name:
        if character == "\\":
            out.append("/")
        elif " " <= character <= "~":
            out.append(character)
        elif ord(character) < 0x10000:
            out.append(f"\\X2\\{ord(character):04X}\\X0\\")
        else:
            out.append(f"\\X4\\{ord(character):08X}\\X0\\")
    return "".join(out)


def prepare() -> None:
    """Set OCCT's exchange parameters, which are global to the process."""
    STEPCAFControl_Controller.Init_s()
    for name, value in (
        ("write.step.schema", "AP214IS"),
        ("write.step.unit", "MM"),
        ("xstep.cascade.unit", "MM"),
    ):
        if not Interface_Static.SetCVal_s(name, value):
            raise StepError(f"{name} does not take {value}")
    for number, setting in (("write.precision.mode", 0), ("write.surfacecurve.mode", 1), ("write.step.assembly", 2)):
        if not Interface_Static.SetIVal_s(number, setting):
            raise StepError(f"{number} does not take {setting}")


def write(path: str, product: str, solids: Sequence[tuple[str, Any]], assembly: bool) -> None:
    """Write (name, TopoDS_Shape) pairs: one product, or for an assembly one with a named component for each."""
    prepare()
    document = _assembly(product, solids) if assembly else _single(product, solids)
    writer = STEPCAFControl_Writer()
    writer.SetNameMode(True)
    writer.SetColorMode(False)
    writer.SetLayerMode(False)
    writer.SetPropsMode(False)
    if not writer.Transfer(document, STEPControl_StepModelType.STEPControl_AsIs):
        raise StepError("OCCT could not translate the shape to STEP")
    model = writer.ChangeWriter().Model(False)
    _set_header(model)
    if assembly:
        _number_occurrences(model)
    status = writer.Write(path)
    if status != IFSelect_ReturnStatus.IFSelect_RetDone:
        raise StepError(f"OCCT's STEP writer gave up ({status.name}): is the disk full?")
    _whole(path)


def read(path: str) -> Any:
    """The TopoDS_Shape of a STEP file."""
    prepare()
    reader = STEPControl_Reader()
    status = reader.ReadFile(path)
    if status != IFSelect_ReturnStatus.IFSelect_RetDone:
        raise StepError(f"the STEP that was written cannot be read: {status.name}")
    if reader.TransferRoots() < 1:
        raise StepError("the STEP that was written holds no shape")
    shape = reader.OneShape()
    if shape is None or shape.IsNull():
        raise StepError("the STEP that was written holds no shape")
    return shape


def _document() -> tuple[Any, Any]:
    document = TDocStd_Document(TCollection_ExtendedString("BinXCAF"))
    XCAFApp_Application.GetApplication_s().InitDocument(document)
    tool = XCAFDoc_DocumentTool.ShapeTool_s(document.Main())
    tool.SetAutoNaming_s(False)
    return document, tool


def _name(label: TDF_Label, name: str) -> None:
    TDataStd_Name.Set_s(label, TCollection_ExtendedString(escape(name), True))


def _single(product: str, solids: Sequence[tuple[str, Any]]) -> Any:
    """All shapes as the items of one product; a compound also keeps a placed shape from becoming an assembly."""
    document, tool = _document()
    if len(solids) == 1 and solids[0][1].Location().IsIdentity():
        shape: TopoDS_Shape = solids[0][1]
    else:
        shape = TopoDS_Compound()
        builder = BRep_Builder()
        builder.MakeCompound(shape)
        for _, solid in solids:
            builder.Add(shape, solid)
    _name(tool.AddShape(shape, False), product)
    return document


def _assembly(product: str, solids: Sequence[tuple[str, Any]]) -> Any:
    document, tool = _document()
    root = tool.NewShape()
    _name(root, product)
    for name, shape in solids:
        placed = shape.Location()
        label = tool.AddShape(shape.Located(TopLoc_Location()), False)
        _name(label, name)
        _name(tool.AddComponent(root, label, placed), name)
    tool.UpdateAssemblies()
    return document


def _set_header(model: Any) -> None:
    header = APIHeaderSection_MakeHeader(model)
    text = TCollection_HAsciiString
    header.SetName(text("part.step"))
    header.SetTimeStamp(text(TIME_STAMP))
    header.SetAuthorValue(1, text(""))
    header.SetOrganizationValue(1, text(""))
    header.SetPreprocessorVersion(text("Open CASCADE Technology"))
    header.SetOriginatingSystem(text("casemate"))
    header.SetAuthorisation(text(""))
    header.SetDescriptionValue(1, text(""))
    header.Apply(model)


def _number_occurrences(model: Any) -> None:
    """Their ids come from a counter of the process; only an assembly has any, and looking for them takes time."""
    occurrence = 0
    for number in range(1, model.NbEntities() + 1):
        entity = model.Value(number)
        if isinstance(entity, StepRepr_NextAssemblyUsageOccurrence):
            occurrence += 1
            entity.SetId(TCollection_HAsciiString(str(occurrence)))


def _whole(path: str) -> None:
    """OCCT says nothing when a file size limit or a full disk cuts what it writes."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 64))
        tail = file.read()
    if not tail.rstrip().endswith(_END):
        raise StepError(f"the STEP was cut after {size} bytes")
