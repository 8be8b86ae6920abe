"""Builds the compiled kernel, with the C compiler that the build requirement `ziglang` brings.

One compiler everywhere: which bits a model trains to must not depend on what a machine has.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCES = Path("simfl/training/kernels/native")
FOR_ANY = ("level", "shuffle")
"""Sources that are compiled once, for any processor."""
FLAGS = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-sanitize=all", "-fPIC"]
LEVELS = {"v4": "x86_64_v4-prefer_256_bit", "v3": "x86_64_v3", "any": "baseline"}
"""Instruction sets of x86-64 that the kernel is compiled for; elsewhere the last one only.

Left to itself the compiler halves AVX-512's vectors, and the sums no longer fit the registers.
"""


class BuildKernel(build_ext):
    """Compiles the kernel once per level and links them into one library."""

    def build_extension(self, ext: Extension) -> None:
        """Build the library; `ext` says only where it goes."""
        library, objects = Path(self.get_ext_fullpath(ext.name)), Path(self.build_temp).resolve()
        library.parent.mkdir(parents=True, exist_ok=True)
        objects.mkdir(parents=True, exist_ok=True)
        intel = platform.machine().lower() in ("x86_64", "amd64")
        parts = []
        for level, cpu in LEVELS.items():
            if intel or level == "any":
                parts.append(objects / f"network-{level}.o")
                options = [f"-mcpu={cpu}", f"-DLEVEL={level}"]
                self.compiler_of(objects, *options, "-c", SOURCES / "network.c", "-o", parts[-1])
        for name in FOR_ANY:
            parts.append(objects / f"{name}.o")
            self.compiler_of(
                objects, "-mcpu=baseline", "-c", SOURCES / f"{name}.c", "-o", parts[-1]
            )
        self.compiler_of(objects, "-shared", "-s", *parts, "-o", library)  # -s: no debug sections

    def compiler_of(self, cache: Path, *options: object) -> None:
        """Run the compiler."""
        target = []
        if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
            target = ["-target", f"{platform.machine()}-linux-gnu.2.17"]
        folders = {"ZIG_GLOBAL_CACHE_DIR": str(cache), "ZIG_LOCAL_CACHE_DIR": str(cache)}
        command = [sys.executable, "-m", "ziglang", "cc", *target, *FLAGS, *map(str, options)]
        subprocess.run(command, check=True, env={**os.environ, **folders})


setup(
    ext_modules=[
        Extension(
            "simfl.training.kernels._native",
            sources=[str(SOURCES / f"{name}.c") for name in ("network", *FOR_ANY)],
            depends=[str(path) for path in sorted(SOURCES.glob("*.h"))],
        )
    ],
    cmdclass={"build_ext": BuildKernel},
)
