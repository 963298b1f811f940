import faulthandler
import os
import signal
import threading
import time

seen = []
signal.signal(signal.SIGUSR1, lambda number, _: seen.append(number))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
assert len(seen) == 3
signal.signal(signal.SIGALRM, lambda number, _: seen.append(number))
signal.alarm(1)
signal.pause()
signal.setitimer(signal.ITIMER_REAL, 0.01)
time.sleep(0.05)
assert len(seen) == 5
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR2)
assert signal.sigpending() == {signal.SIGUSR2}
assert signal.sigwait([signal.SIGUSR2]) == signal.SIGUSR2
assert signal.sigtimedwait([signal.SIGUSR2], 0.01) is None
signal.siginterrupt(signal.SIGUSR1, False)
read, write = os.pipe()
os.set_blocking(write, False)
signal.set_wakeup_fd(write)
signal.raise_signal(signal.SIGUSR1)
assert os.read(read, 1)
faulthandler.enable()
faulthandler.dump_traceback_later(30)
faulthandler.cancel_dump_traceback_later()
print(time.time() > 0, time.monotonic(), time.process_time(), time.thread_time(), time.clock_getres(0), os.times())
time.sleep(0.01)
pid = os.fork()
if pid == 0:
    os.abort()
assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGABRT
