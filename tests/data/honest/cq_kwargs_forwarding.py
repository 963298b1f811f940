import cadquery as cq


def spacer(height, **options):
    od = options.get("od", 10)
    id = options.get("id", 4)
    wall = (od - id) / 2
    assert wall > 0
    return cq.Workplane().circle(od / 2).circle(id / 2).extrude(height)


sizes = [{"od": 12, "id": 6}, {"od": 9, "id": 3}]
first = spacer(10, od=12, id=6)
second = spacer(5, **{"od": 9, "id": 3}).translate((20, 0, 0))
type = "pair"
print(f"{type=} {len(sizes)=}", first.val().Volume() > 0, sep=" | ", end="\n")
result = first.add(second)
