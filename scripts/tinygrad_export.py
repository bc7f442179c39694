#!/usr/bin/env python3
"""Runs the exporter of the package tgc (`python -m tgc.export`) without installing the package: `--help` describes it.

In a checkout the package is in ../python, in an installation beside this file.
"""
import pathlib, sys

HOME = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(next(path for path in (HOME.parent / "python", HOME) if (path / "tgc/export").is_dir())))
from tgc.export.__main__ import main  # noqa: E402
from tgc.export.start import tgc_export  # noqa: E402, F401
del sys.path[0]  # the recorded program sees the path that it would see without the exporter

if __name__ == "__main__": sys.exit(main())
