import queue
import threading
import time

import cadquery as cq
from OCP.OSD import OSD_ThreadPool

# OCCT's own pool, with real threads, as a boolean in parallel uses it.
pool = OSD_ThreadPool.DefaultPool_s(1)
pool.Init(4)
plate = cq.Workplane().box(60, 40, 5).faces(">Z").workplane().rarray(8, 8, 6, 4).hole(3)
tool = cq.Workplane().box(200, 2, 2)
cut = cq.Shape.cut(plate.val(), tool.val())
cut.mesh(0.05, 0.1)

done = queue.Queue()
lock = threading.Lock()


def work(number):
    with lock:
        time.sleep(0.01)
    done.put(number)


threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sorted(done.get(timeout=1) for _ in threads) == list(range(6))
assert not threading.Event().wait(0.01)
result = cq.Workplane(obj=cut)
