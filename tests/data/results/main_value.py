import cadquery as cq


def main():
    block = cq.Workplane().box(5, 4, 3)
    return block


if __name__ == "__main__":
    main()
