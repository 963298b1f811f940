import signal

signal.signal(signal.SIGALRM, lambda *a: 1 / 0)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
import cadquery as cq

result = cq.Workplane().box(10, 10, 10)
