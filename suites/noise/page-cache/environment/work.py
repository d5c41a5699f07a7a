"""Work that needs a known amount of memory, processes, time or disk, and writes a result when it had it."""

import hashlib
import multiprocessing
import os
import sys
import tempfile
import time

PAGE, MB = 4096, 1024 * 1024


def hold(mb):
    """A block of memory with every page touched."""
    block = bytearray(mb * MB)
    for place in range(0, len(block), PAGE):
        block[place] = 1
    return block


def peak(mb):
    """One block, held for a moment."""
    return sum(hold(mb)[::PAGE])


def spike(mb, times):
    """The same block again and again, each freed at once."""
    return sum(peak(mb) for _ in range(times))


def _child(mb):
    block = hold(mb)
    time.sleep(0.5)
    del block


def _all(target, arguments, count):
    """Run `count` processes at the same time; the work is lost when one of them is."""
    children = [multiprocessing.Process(target=target, args=arguments) for _ in range(count)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    codes = [child.exitcode for child in children]
    if any(codes):
        sys.exit(f"processes ended with {codes}")
    return count


def processes(count, mb):
    """Many processes, all holding their block at the same time."""
    return _all(_child, (mb,), count)


def crowd(count):
    """Many processes that only wait."""
    return _all(time.sleep, (1.0,), count)


def copies(count, mb):
    """A block that forked children write to, so that each gets pages of its own."""
    block = hold(mb)
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            for place in range(0, len(block), PAGE):
                block[place] = 2
            time.sleep(0.5)
            os._exit(0)
        children.append(child)
    if any([os.waitpid(child, 0)[1] for child in children]):
        sys.exit("a child was lost")
    return count


def _spin(cpu_s):
    while time.process_time() < cpu_s:
        hashlib.sha256(b"x" * 4096).digest()


def clock(count, cpu_s, wall_s):
    """`cpu_s` seconds of processor time in each of `count` processes, all within `wall_s` on the clock."""
    started = time.monotonic()
    _all(_spin, (cpu_s,), count)
    took = time.monotonic() - started
    if took > wall_s:
        sys.exit(f"took {took:.2f} s, {wall_s} s were given")
    return count


def disk(mb):
    """A large temporary file, written, read back and removed."""
    digest = hashlib.sha256()
    with tempfile.TemporaryFile(dir="/var/tmp") as file:
        for number in range(mb):
            file.write(bytes([number % 251]) * MB)
        file.seek(0)
        while chunk := file.read(MB):
            digest.update(chunk)
    return digest.hexdigest()[:12]


def cache(mb, file_mb, times):
    """A block that must stay while a file larger than the rest of the memory is read over and over."""
    block = hold(mb)
    found = [disk(file_mb) for _ in range(times)]
    return sum(block[::PAGE]) if len(set(found)) == 1 else 0


def shared(mb):
    """Files in /dev/shm, which are memory."""
    with open("/dev/shm/block", "wb") as file:
        for _ in range(mb):
            file.write(b"x" * MB)
    size = os.path.getsize("/dev/shm/block") // MB
    os.remove("/dev/shm/block")
    return size


def main(name, *numbers):
    result = globals()[name](*(float(n) if "." in n else int(n) for n in numbers))
    with open("/app/result.txt", "w", encoding="utf-8") as file:
        file.write(f"{name} gave {result}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
