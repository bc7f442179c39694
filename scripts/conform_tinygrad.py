#!/usr/bin/env python3
"""tinygrad 0.12.0 itself behind the protocol of `tgc conform`: the stages of kernels, each run on the graph that is
asked about, the linear list of the last one and its source. It conforms to its own records, and shows what a question's
JSON is in tinygrad's objects (tgc_export/answers.py).

  tgc conform kernels.jsonl.gz --with='python scripts/conform_tinygrad.py'
"""
import pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tgc_export.answers import answer_all  # noqa: E402

if __name__ == "__main__": answer_all()
