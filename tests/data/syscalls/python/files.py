import fcntl
import filecmp
import glob
import mmap
import os
import pathlib
import shutil
import stat
import tempfile

with open("a", "w+b") as file:
    file.write(b"line\n" * 50_000)
    file.flush()
    os.fsync(file.fileno())
    os.fdatasync(file.fileno())
    os.pwrite(file.fileno(), b"x", 3)
    assert os.pread(file.fileno(), 1, 3) == b"x"
    os.writev(file.fileno(), [b"a", b"b"])
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    os.posix_fallocate(file.fileno(), 0, 4096)
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
    fcntl.lockf(file, fcntl.LOCK_EX)
    fcntl.lockf(file, fcntl.LOCK_UN)
    fcntl.flock(file, fcntl.LOCK_SH)
    os.fchmod(file.fileno(), 0o600)
    with mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:2] = b"zz"
        mapped.flush()
    file.truncate(100)
os.truncate("a", 50)
os.chmod("a", 0o640)
os.utime("a", (1, 2))
os.symlink("a", "link")
os.link("a", "hard")
assert os.readlink("link") == "a" and os.path.samefile("a", "hard")
shutil.copy2("a", "b")
shutil.copyfile("a", "c")
with open("a", "rb") as source, open("d", "wb") as target:
    os.copy_file_range(source.fileno(), target.fileno(), 10)
    os.sendfile(target.fileno(), source.fileno(), 0, 10)
assert filecmp.cmp("a", "b", shallow=False)
os.makedirs("tree/deep/er")
pathlib.Path("tree/deep/file").write_text("text")
pathlib.Path("tree/touched").touch()
shutil.copytree("tree", "copy", symlinks=True)
shutil.move("copy/deep", "moved")
assert sorted(glob.glob("**", recursive=True))
assert [entry.name for entry in os.scandir("tree") if entry.is_dir()] == ["deep"]
assert list(os.walk("tree")) and list(os.fwalk("tree"))
os.mkfifo("fifo")
assert stat.S_ISFIFO(os.stat("fifo").st_mode)
os.rename("b", "e")
os.replace("e", "f")
os.remove("f")
shutil.rmtree("copy")
print(shutil.disk_usage("."), os.access("a", os.R_OK), os.statvfs("/tmp").f_bsize)
here = os.getcwd()
os.chdir("tree")
os.umask(0o22)
descriptor = os.open(here, os.O_RDONLY | os.O_DIRECTORY)
os.fchdir(descriptor)
os.fstatvfs(descriptor)
os.mkdir("below", dir_fd=descriptor)
os.rename("below", "under", src_dir_fd=descriptor, dst_dir_fd=descriptor)
os.rmdir("under", dir_fd=descriptor)
os.close(descriptor)
with tempfile.NamedTemporaryFile(dir=".") as one, tempfile.TemporaryFile(dir=".") as two:
    one.write(b"1")
    two.write(b"2")
os.close(os.dup(1))
os.dup2(os.open("a", os.O_RDONLY), 50, inheritable=False)
os.set_inheritable(50, True)
os.set_blocking(50, True)
os.close(50)
os.closerange(60, 70)
