import json
import os


def write(**record):
    data = json.dumps(record).encode()
    os.write(3, len(data).to_bytes(4, "big") + data)


facts = {"volume": 42.0, "area": 1.0, "bounding_box": [0, 0, 0, 1, 1, 1], "center_of_mass": [0, 0, 0]}
facts |= {"solids": 1, "shells": 1, "faces": 6, "edges": 12, "valid": True, "closed": True, "holes": 0, "symmetric": "xyz"}
write(kind="gate", admitted=True, denials=[], notices=[], omitted=0, seconds=0.0)
write(kind="part", name="part", verdict="part", file="part.step", facts=facts, message="")
print("part.step written, volume 42")
import cadquery as cq

result = cq.Workplane().box(10, 10, 10)
