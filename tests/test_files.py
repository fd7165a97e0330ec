"""Files as real processes leave them: whole or not at all, with the permissions, links and devices that were there."""

import os
import socket
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.files import replaced_when_done

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions, links and devices of Unix")
X = make_sparse_coded(60, 4, sparsity=0.3, random_state=0)[0]
KINDS = (".npy", ".csv", ".parquet", ".h5", ".zarr")


@pytest.fixture(scope="module")
def model():
    return HRP(random_state=0).fit(X)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def put(path, text):
    with replaced_when_done(path) as temporary:
        temporary.write_text(text)


class TestWhatWasThere:
    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
    def test_permissions_stay(self, tmp_path, mode):
        (tmp_path / "a.txt").write_text("old")
        (tmp_path / "a.txt").chmod(mode)
        with replaced_when_done(tmp_path / "a.txt") as temporary:
            temporary.write_text("new")
            assert stat.S_IMODE(temporary.stat().st_mode) == 0o600  # nobody else reads what is not finished
        assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode
        assert (tmp_path / "a.txt").read_text() == "new"

    @pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
    def test_a_new_file_follows_the_umask(self, tmp_path, umask):
        before = os.umask(umask)
        try:
            put(tmp_path / "a.txt", "new")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o666 & ~umask

    @pytest.mark.skipif(os.geteuid() != 0, reason="nobody but root gives files away")
    def test_the_owner_stays(self, tmp_path):
        (tmp_path / "a.txt").write_text("old")
        os.chown(tmp_path / "a.txt", 1234, 2345)
        put(tmp_path / "a.txt", "new")
        found = (tmp_path / "a.txt").stat()
        assert (found.st_uid, found.st_gid) == (1234, 2345)

    def test_a_read_only_file_is_not_replaced(self, tmp_path):
        """Root may write anything, so that it is another user who tries."""
        tmp_path.chmod(0o777)
        (tmp_path / "a.txt").write_text("old")
        (tmp_path / "a.txt").chmod(0o444)
        code = """if True:
            import os, sys
            from hrpursuit.files import replaced_when_done
            if os.geteuid() == 0:
                os.setgid(65534), os.setuid(65534)
            try:
                with replaced_when_done("a.txt") as temporary:
                    temporary.write_text("new")
            except PermissionError as error:
                sys.exit(str(error))"""
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "cannot write a.txt: it is read-only; make it writable" in done.stderr
        assert (tmp_path / "a.txt").read_text() == "old"
        assert names(tmp_path) == ["a.txt"]

    def test_other_hard_links_keep_what_they_had(self, tmp_path):
        (tmp_path / "a.txt").write_text("old")
        (tmp_path / "b.txt").hardlink_to(tmp_path / "a.txt")
        put(tmp_path / "a.txt", "new")
        assert ((tmp_path / "a.txt").read_text(), (tmp_path / "b.txt").read_text()) == ("new", "old")

    @pytest.mark.parametrize("length", [250, 255])
    @pytest.mark.parametrize("letter", ["a", "ä"])
    def test_long_names(self, tmp_path, model, length, letter):
        path = tmp_path / (letter * ((length - 4) // len(letter.encode())) + ".npz")
        model.save(path)
        assert names(tmp_path) == [path.name]
        assert HRP.load(path).n_features_in_ == 4


class TestLinks:
    def test_a_link_stays_and_what_it_leads_to_is_replaced(self, tmp_path):
        (tmp_path / "there").mkdir()
        (tmp_path / "there" / "real.txt").write_text("old")
        (tmp_path / "middle.txt").symlink_to("there/real.txt")
        (tmp_path / "link.txt").symlink_to(tmp_path / "middle.txt")
        put(tmp_path / "link.txt", "new")
        assert (tmp_path / "link.txt").readlink() == tmp_path / "middle.txt"
        assert (tmp_path / "middle.txt").readlink() == Path("there/real.txt")
        assert (tmp_path / "there" / "real.txt").read_text() == "new"
        assert names(tmp_path / "there") == ["real.txt"]

    def test_a_link_to_a_zarr_array(self, tmp_path, model):
        model.transform(X, out=tmp_path / "real.zarr")
        (tmp_path / "link.zarr").symlink_to("real.zarr")
        model.transform(X[:10], out=tmp_path / "link.zarr")
        assert (tmp_path / "link.zarr").is_symlink()
        assert sum(len(block) for block in model.inverse_transform(tmp_path / "real.zarr")) == 10
        assert names(tmp_path) == ["link.zarr", "real.zarr"]

    def test_a_link_to_nothing_yet(self, tmp_path):
        (tmp_path / "link.txt").symlink_to("real.txt")
        put(tmp_path / "link.txt", "new")
        assert (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "real.txt").read_text() == "new"

    def test_a_link_into_a_folder_that_is_not_there(self, tmp_path):
        (tmp_path / "link.txt").symlink_to("absent/real.txt")
        with pytest.raises(
            FileNotFoundError, match=r"link.txt: it is a link to .*real.txt, and the folder .*absent does"
        ):
            put(tmp_path / "link.txt", "new")

    def test_links_in_a_circle(self, tmp_path):
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to("a")
        with pytest.raises(OSError, match="circle"):
            put(tmp_path / "a", "new")
        assert names(tmp_path) == ["a", "b"]


@contextmanager
def read_from(fifo):
    """The bytes that come out of it, once it was closed."""
    found = bytearray()
    reader = threading.Thread(target=lambda: found.extend(fifo.read_bytes()))
    reader.start()
    yield found
    reader.join()


class TestDevices:
    def test_null(self, tmp_path, model):
        before = Path("/dev/null").stat()
        model.save("/dev/null")
        for kind in KINDS[:-1]:
            (tmp_path / f"null{kind}").symlink_to("/dev/null")
            model.transform(X, out=tmp_path / f"null{kind}")
        assert Path("/dev/null").stat() == before
        assert stat.S_ISCHR(before.st_mode)
        assert all(path.is_symlink() for path in tmp_path.iterdir())

    def test_a_zarr_array_is_no_device(self, tmp_path, model):
        (tmp_path / "null.zarr").symlink_to("/dev/null")
        with pytest.raises(OSError, match=r"null.zarr: it is a device, and a Zarr array is a folder"):
            model.transform(X, out=tmp_path / "null.zarr")

    @pytest.mark.parametrize("kind", KINDS[:-1])
    def test_a_fifo_takes_the_whole_file(self, tmp_path, model, kind):
        os.mkfifo(tmp_path / f"fifo{kind}")
        with read_from(tmp_path / f"fifo{kind}") as found:
            model.transform(X, out=tmp_path / f"fifo{kind}")
        assert (tmp_path / f"fifo{kind}").is_fifo()
        (tmp_path / f"file{kind}").write_bytes(found)
        blocks = model.inverse_transform(tmp_path / f"file{kind}")
        np.testing.assert_allclose(np.concatenate([block.copy() for block in blocks]), X, atol=1e-12)
        assert names(tmp_path) == [f"fifo{kind}", f"file{kind}"]

    @pytest.mark.parametrize("redirected", [">", ">>", "| cat >"])
    def test_standard_output(self, tmp_path, redirected):
        code = "from hrpursuit.files import *\nwith replaced_when_done('/dev/stdout') as file: file.write_text('new')"
        command = f'(echo first; {sys.executable} -c "$CODE"; echo last) {redirected} out.txt'
        subprocess.run(["bash", "-c", command], cwd=tmp_path, env=os.environ | {"CODE": code}, check=True)
        assert (tmp_path / "out.txt").read_text() == "first\nnewlast\n"

    def test_a_socket(self, tmp_path):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(tmp_path / "s"))
            with pytest.raises(OSError, match="socket; give the name of a file"):
                put(tmp_path / "s", "new")
