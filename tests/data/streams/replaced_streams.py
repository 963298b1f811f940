import sys


class Broken:
    def write(self, text):
        raise OSError(text)

    def flush(self):
        raise SystemExit(4)


sys.stdout = Broken()
sys.stderr = None
import cadquery as cq

result = cq.Workplane().box(10, 10, 10)
