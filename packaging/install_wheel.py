"""Installs a wheel of tgc in a CI job: a file, or a download whose SHA-256 is checked before pip reads it.

  python -P packaging/install_wheel.py PATH|URL [SHA256]
"""
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

MOST_BYTES = 1 << 30


def content_of(url: str, expected: str) -> bytes:
  if not url.startswith("https://"): sys.exit(f"install_wheel: '{url}' is no address of https")
  if len(expected) != 64: sys.exit("install_wheel: the input sha256 is missing; SHA256SUMS of the release has it")
  with urllib.request.urlopen(url, timeout=120) as answer: content: bytes = answer.read(MOST_BYTES)  # noqa: S310, https only
  found = hashlib.sha256(content).hexdigest()
  if found != expected.lower(): sys.exit(f"install_wheel: the SHA-256 of '{url}' is {found}, not {expected}")
  return content


def main(wheel: str, expected: str = "") -> None:
  with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(wheel)
    if "://" in wheel:
      path = pathlib.Path(folder, wheel.rsplit("/", 1)[1])
      path.write_bytes(content_of(wheel, expected.strip()))
    if path.suffix != ".whl" or not path.is_file(): sys.exit(f"install_wheel: '{wheel}' is no wheel")
    subprocess.run([sys.executable, "-P", "-m", "pip", "install", "--no-index", "--no-deps", path], check=True)


if __name__ == "__main__": main(*sys.argv[1:3])
