"""Build what a release hands out into dist/, and check it: `make release`.

It is made of the last commit, in a clone of its own, so that nothing of this folder gets into it by chance. The same
commit gives the same bytes; --again builds twice and compares.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attn_lib.files import write_whole
from attn_lib.grading.release import write_zip
from scripts.make_pdf import NoBrowser, write_pdf

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
NAME = "attention-from-scratch"
SUMS = "SHA256SUMS"
# Most of the wheel are the small trained models of lessons 08 and 15, and the pictures in the lessons.
WHEEL_MB = 8
BY_HAND = """
To be done by hand:
1. Uncomment [project.urls] in pyproject.toml, with the address of the repository, if that is not yet done.
2. git tag -s v{version} -m "Version {version}" && git push origin v{version}
   The workflow `release` builds these files again, and drafts a release on GitHub. Compare its {sums} with yours.
3. twine upload {packages}
4. In an empty folder: uvx {name}@{version}
5. The first time: take out of README.md and site/start.md that the course is not on PyPI yet.
"""


def main() -> int:
    """Do what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--again", action="store_true", help="build twice, and compare")
    parser.add_argument(
        "--install", action="store_true", help="try the wheel in a fresh environment"
    )
    options = parser.parse_args()
    if changed := git("status", "--porcelain", "--untracked-files=no"):
        print(f"Not in the release, for want of a commit:\n{changed}")
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        made = build(Path(folder).resolve() / "first")
        problems = [*check(made)]
        if options.again:
            problems += differing(made, build(Path(folder).resolve() / "second"))
        if options.install:
            try_wheel(next(made.glob("*.whl")), Path(folder) / "venv")
        for problem in problems:
            print(f"PROBLEM: {problem}")
        if problems:
            return 1
        hand_over(made)
    return 0


def build(folder: Path) -> Path:
    """Build a release of the last commit in a new folder; return where the files are."""
    source, out = folder / "source", folder / "dist"
    run("git", "clone", "--quiet", str(ROOT), str(source))
    epoch = git("log", "-1", "--format=%ct")
    own = os.environ | {"SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": "0"}

    def python(*arguments: str) -> None:
        run(
            sys.executable, "-m", *arguments, cwd=source, env=own, stdout=subprocess.DEVNULL
        )

    name = f"{NAME}-{version(source)}"
    print(f"Building {name} of {git('rev-parse', '--short', 'HEAD')}.", flush=True)
    readme = source / "README.md"
    of_commit = readme.read_text(encoding="utf-8")
    readme.write_text(for_pypi(of_commit, source), encoding="utf-8")
    python("hatchling", "build", "-d", str(out))
    readme.write_text(of_commit, encoding="utf-8")
    python("attn_lib.grading", "release", "--out", str(out / f"{name}-class.zip"))
    print("Building the site.", flush=True)
    site = folder / "site"
    python("sphinx", "-q", "-W", "--keep-going", "-c", "site", "-d", str(folder / "trees"), ".", str(site))  # fmt: skip
    (site / ".buildinfo").unlink()
    paths = sorted(path for path in site.rglob("*") if path.is_file())
    pages = {path.relative_to(site).as_posix(): path.read_bytes() for path in paths}
    write_zip(out / f"{name}-site.zip", pages)
    try:
        write_pdf(site, out / f"{name}.pdf")
    except NoBrowser as error:
        print(f"No PDF of the course is made: {error}")
    files = sorted(out.iterdir())
    (out / SUMS).write_text("".join(f"{sha256(path)}  {path.name}\n" for path in files))
    return out


def for_pypi(readme: str, source: Path) -> str:
    """Return the README for the page on PyPI, where no file is beside it: links lead to the repository, if that is known."""
    project = project_of(source)
    repository = project.get("urls", {}).get("Repository")
    tree = f"{repository}/blob/v{project['version']}"
    raw = tree.replace("/blob/", "/raw/")
    link, picture = r"\[([^\[\]]+)\]\((?!\w+:|#)([^()\s]+)\)", r'(<img src=")(.+?>)'
    readme = re.sub(link, rf"[\1]({tree}/\2)" if repository else r"\1", readme)
    return re.sub(picture, rf"\1{raw}/\2" if repository else "", readme)


def check(out: Path) -> Iterator[str]:
    """Yield what is wrong with the files of a release."""
    source = out.parent / "source"
    now = version(source)
    [wheel], [sdist] = out.glob("*.whl"), out.glob("*.tar.gz")
    if f"\nversion: {now}\n" not in (source / "CITATION.cff").read_text(encoding="utf-8"):
        yield f"CITATION.cff: expected version {now}, as in pyproject.toml"
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)]
    checked = subprocess.run(command, capture_output=True, text=True)
    if checked.returncode != 0:
        yield f"twine check: {checked.stdout.strip()}"
    yield from check_wheel(wheel, source)
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = {*git("ls-files", cwd=source).splitlines()}
    for name in sorted(tracked - names):
        yield f"{sdist.name} lacks {name}"
    with zipfile.ZipFile(next(out.glob("*-site.zip"))) as archive:
        for name in ("index.html", f"{NAME}.zip"):
            if name not in archive.namelist():
                yield f"the site lacks {name}"


def check_wheel(wheel: Path, source: Path) -> Iterator[str]:
    """Yield what is wrong with a wheel: what it lacks, what it has too much, and whether it is too large."""
    tracked = git("ls-files", "attn_lib", "notebooks", "exercises", cwd=source).splitlines()
    wanted = {
        name if name.startswith("attn_lib/") else f"attn_lib/course/{name}": name
        for name in tracked
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        for name in sorted(wanted.keys() - names):
            yield f"{wheel.name} lacks {name}"
        for name in sorted(names - wanted.keys()):
            yield f"{wheel.name} holds {name}, which is not of the course"
        for name in sorted(names & wanted.keys()):
            if archive.read(name) != (source / wanted[name]).read_bytes():
                yield f"{wheel.name}: {name} is not the file of the commit"
    if (size := wheel.stat().st_size / 1e6) > WHEEL_MB:
        yield f"{wheel.name}: expected at most {WHEEL_MB} MB, got {size:.1f}"


def differing(first: Path, second: Path) -> list[str]:
    """Say which files of two builds of one commit differ, and of zips which parts."""
    found = []
    for path in sorted(first.iterdir()):
        other = second / path.name
        if path.name == SUMS or path.read_bytes() == other.read_bytes():
            continue
        parts = ""
        if path.suffix in (".zip", ".whl"):
            with zipfile.ZipFile(path) as a, zipfile.ZipFile(other) as b:
                names = {*a.namelist(), *b.namelist()}
                both = {*a.namelist()} & {*b.namelist()}
                odd = (names - both) | {n for n in both if a.read(n) != b.read(n)}
            parts = ": " + ", ".join(sorted(odd))
        found.append(f"{path.name} differs when it is built again{parts}")
    return found


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install a wheel into a fresh environment with what it needs, and let it fill a folder."""
    print("Trying the wheel in a fresh environment.", flush=True)
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    run(str(scripts / "python"), "-m", "pip", "install", "--quiet", str(wheel))
    run(str(scripts / NAME), "--version", cwd=folder)
    code = "from pathlib import Path; from attn_lib.programs.course_folder import fill; assert fill(Path('mine'))"
    run(str(scripts / "python"), "-c", code, cwd=folder)
    run(str(scripts / NAME), "update", "mine", cwd=folder)


def hand_over(made: Path) -> None:
    """Put the files into dist/, and say what is left to do."""
    DIST.mkdir(exist_ok=True)
    for path in sorted(made.iterdir()):
        write_whole(DIST / path.name, path.read_bytes())
        print(f"{(DIST / path.name).stat().st_size / 1e6:6.1f} MB  dist/{path.name}")
    now = version(made.parent / "source")
    if f"\n## {now}" not in (made.parent / "source" / "CHANGELOG.md").read_text(
        encoding="utf-8"
    ):
        print(
            f"CHANGELOG.md has no heading `## {now}`: give what is unreleased that name first, and build again."
        )
    packages = f"dist/*-{now}-*.whl dist/*-{now}.tar.gz"
    print(BY_HAND.format(version=now, name=NAME, packages=packages, sums=SUMS))


def version(folder: Path) -> str:
    """Return the version of the course in a folder: it stands in pyproject.toml alone."""
    return project_of(folder)["version"]


def project_of(folder: Path) -> dict[str, Any]:
    """Return what pyproject.toml says of the project in a folder."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def git(*arguments: str, cwd: Path = ROOT) -> str:
    return subprocess.check_output(["git", *arguments], cwd=cwd, text=True).strip()


def run(*command: str, cwd: Path = ROOT, **how: Any) -> None:
    """Run a command; end the program if it fails."""
    if subprocess.run(command, cwd=cwd, **how).returncode != 0:
        raise SystemExit(f"This failed, see above: {' '.join(command)}")


if __name__ == "__main__":
    sys.exit(main())
