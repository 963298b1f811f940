import sys
import threading

thread = threading.Thread(target=lambda: sys.exit(5))
thread.start()
thread.join()
import cadquery as cq

result = cq.Workplane().box(10, 10, 10)
