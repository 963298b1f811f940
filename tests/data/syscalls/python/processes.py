import asyncio
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

PYTHON = sys.executable or "/usr/bin/python3"


def fill(queue, lock, value):
    with lock:
        value.value += 1
    queue.put(os.getpid())


def children():
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    pid = os.fork()
    if pid == 0:
        os.setsid()
        signal.pause()
    time.sleep(0.02)
    os.kill(pid, signal.SIGTERM)
    assert os.waitid(os.P_PID, pid, os.WEXITED).si_status == signal.SIGTERM
    pid = os.posix_spawn(PYTHON, [PYTHON, "-c", "raise SystemExit(3)"], {})
    assert os.waitstatus_to_exitcode(os.wait4(pid, 0)[1]) == 3
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 1)
        os.execve(PYTHON, [PYTHON, "-c", "print('here')"], {"LC_ALL": "C.UTF-8"})
    os.close(write)
    assert os.read(read, 100) == b"here\n"
    os.waitpid(pid, 0)


def started():
    assert subprocess.check_output([PYTHON, "-c", "print(1 + 1)"]) == b"2\n"
    done = subprocess.run([PYTHON, "-"], input=b"import sys; sys.exit(4)", capture_output=True, timeout=20)
    assert done.returncode == 4, done.stderr
    with subprocess.Popen([PYTHON, "-c", "import time; time.sleep(60)"], start_new_session=True) as process:
        os.killpg(os.getpgid(process.pid), signal.SIGKILL)
        assert process.wait(10) == -signal.SIGKILL
    for more in ({"cwd": "/"}, {"close_fds": False}, {"process_group": 0}, {"umask": 0o77}, {"preexec_fn": os.getpid}):
        subprocess.run([PYTHON, "-c", ""], check=True, **more)
    subprocess.run([PYTHON, "-m", "json.tool"], input=b'{"a": 1}', check=True)
    try:
        subprocess.run([PYTHON, "-c", "import time; time.sleep(60)"], timeout=0.2)
    except subprocess.TimeoutExpired:
        pass
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime >= 0)


async def later():
    process = await asyncio.create_subprocess_exec(PYTHON, "-c", "print(5)", stdout=asyncio.subprocess.PIPE)
    assert (await process.communicate())[0] == b"5\n"


def pools():
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map(abs, range(-3, 0)) == [3, 2, 1]
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(abs, range(-2, 0))) == [2, 1]
    with context.Manager() as manager:
        shared = manager.list([1])
        shared.append(2)
        assert list(shared) == [1, 2]
    one, two = context.Pipe()
    one.send({"a": 1})
    assert two.recv() == {"a": 1}
    queue, lock, value = context.Queue(), context.Lock(), context.Value("i", 0)
    workers = [context.Process(target=fill, args=(queue, lock, value)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        assert queue.get(timeout=5)
    for worker in workers:
        worker.join()
    assert value.value == 3


children()
if "exec" not in sys.argv:
    started()
    asyncio.run(later())
if os.path.isdir("/dev/shm"):  # semaphores are files there (sem_open(3))
    pools()
