import asyncio
import concurrent.futures
import queue
import select
import selectors
import socket
import threading
import time

lock, event, box = threading.RLock(), threading.Event(), queue.Queue()


def work(number):
    with lock:
        time.sleep(0.005)
    box.put(threading.get_native_id())
    event.wait(2)
    return number


with concurrent.futures.ThreadPoolExecutor(4) as pool:
    futures = [pool.submit(work, n) for n in range(4)]
    threading.Timer(0.02, event.set).start()
    assert sum(f.result() for f in futures) == 6
barrier = threading.Barrier(2)
thread = threading.Thread(target=barrier.wait, daemon=True, name="named")
thread.start()
barrier.wait()
thread.join()

one, two = socket.socketpair()
one.setblocking(False)
one.sendall(b"x")
assert select.select([two], [], [], 1)[0] == [two]
poller = select.poll()
poller.register(two, select.POLLIN)
assert poller.poll(10)
with selectors.DefaultSelector() as selector, selectors.SelectSelector() as old:
    selector.register(two, selectors.EVENT_READ)
    old.register(two, selectors.EVENT_READ)
    assert selector.select(1) and old.select(1)
two.recv(1)


async def echo(reader, writer):
    writer.write(await reader.read(100))
    await writer.drain()
    writer.close()


async def main():
    await asyncio.gather(*(asyncio.sleep(0.01) for _ in range(3)))
    assert await asyncio.to_thread(lambda: 7) == 7
    server = await asyncio.start_unix_server(echo, "echo.sock")
    reader, writer = await asyncio.open_unix_connection("echo.sock")
    writer.write(b"hello")
    writer.write_eof()
    assert await reader.read() == b"hello"
    writer.close()
    server.close()
    loop = asyncio.get_running_loop()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert await loop.run_in_executor(pool, sum, [1, 2]) == 3


asyncio.run(main())
