#!/usr/bin/env python3
"""Answers the questions of `tgc conform` with tinygrad 0.12.0: the stages of kernels, the linear list and the source.

Shows how to convert a question's JSON to tinygrad's objects (tgc/export/answers.py).

  tgc conform kernels.jsonl.gz --with='python scripts/tests/conform_tinygrad.py'
"""
import pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tgc.export.answers import answer_all  # noqa: E402

if __name__ == "__main__": answer_all()
