"""The whole course as a zip beside the pages: who reads the site can have it, whatever its address."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "attention-from-scratch.zip"


def write_zip(app) -> None:
    """Write the course as it was committed; nothing, where there is no repository."""
    if app.builder.format != "html":
        return
    app.outdir.mkdir(parents=True, exist_ok=True)
    command = ["git", "archive", "--format=zip", "--prefix=attention-from-scratch/"]
    subprocess.run([*command, f"--output={app.outdir / NAME}", "HEAD"], cwd=ROOT, capture_output=True)  # fmt: skip


def add_link(app, docname, source) -> None:
    """Say on the start page where the course is: the zip, the repository, or both."""
    places, path = [], app.outdir / NAME
    if path.exists():
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        places.append(
            f'<a href="../{NAME}" download>Download the course</a> ({size}), and unpack it'
        )
    if name := app.config.repository:
        places.append(f'clone <a href="https://github.com/{name}">its repository</a>')
    said = ", or ".join(places) or "Take the folder of the course that this page came with"
    source[0] = source[0].replace("{{ course zip }}", said)


def setup(app) -> dict[str, bool]:
    app.connect("builder-inited", write_zip)
    app.connect("source-read", add_link)
    return {"parallel_read_safe": True}
