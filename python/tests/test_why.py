"""`tgc dump --stage=schedule --why` says why each kernel is separate, for programs whose reasons are known."""
from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from conftest import RELEASE

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/tests/why_kernels.py"


@pytest.mark.skipif(RELEASE.startswith(("0.11", "0.12")), reason="needs tinygrad 0.13")
def test_known_causes() -> None:
  done = subprocess.run([sys.executable, SCRIPT], text=True, capture_output=True, check=False)
  assert done.returncode == 0, done.stdout + done.stderr
