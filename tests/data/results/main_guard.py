import cadquery as cq


def main():
    bolt = cq.Workplane().circle(3).extrude(10)
    show_object(bolt, name="bolt")


if __name__ == "__main__":
    main()
