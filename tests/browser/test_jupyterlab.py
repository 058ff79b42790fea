"""The course as a learner meets it: a fresh copy, JupyterLab, and a browser."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from scripts import set_up

ROOT = Path(__file__).resolve().parents[2]
LESSONS = [
    f"notebooks/{path.name}" for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
]
# nbval runs every lesson; in a browser runs one that has scenes and live widgets.
RUN = "notebooks/06_seeing_attention.ipynb"
CHANGED = "notebooks/06_changed.ipynb"  # the same, changed after it was trusted
EXERCISE = "exercises/01_single_head/01_single_head.ipynb"
TOKEN = "a-fixed-token-for-tests"
THEMES = ("JupyterLab Light", "JupyterLab Dark")

SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
# Installed for developers only; a learner's JupyterLab does not have them.
NOT_A_LEARNERS = {"@jupyter/nbgrader": True, "jupyterlab-jupytext": True}

RIGHT = "def attention_scores(q, k):\n    return q @ k.mT / q.shape[-1] ** 0.5\n"
UNSCALED = "def attention_scores(q, k):\n    return q @ k.mT\n"
ENDLESS = """def attention_scores(q, k):
    open({!r}, "w").close()
    while True:
        pass
"""

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def server(chromium, tmp_path_factory):
    """JupyterLab on a copy of the course, with settings and progress of its own; yields its URL."""
    home = tmp_path_factory.mktemp("jupyter")
    for folder in ("notebooks", "exercises"):
        shutil.copytree(ROOT / folder, home / "course" / folder)
    for name, settings in SETTINGS.items():
        file = home / "settings/@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    (home / "config/labconfig").mkdir(parents=True)
    disabled = {"disabledExtensions": NOT_A_LEARNERS}
    (home / "config/labconfig/page_config.json").write_text(json.dumps(disabled))
    environment = os.environ | {
        "ATTN_HOME": str(home / "progress"),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
    }
    trust = [sys.executable, "-m", "jupyter", "trust", home / "course" / RUN]
    subprocess.run(trust, env=environment, check=True, capture_output=True)
    changed = json.loads((ROOT / RUN).read_text(encoding="utf-8"))
    changed["metadata"]["changed"] = True
    (home / "course" / CHANGED).write_text(json.dumps(changed), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {
        "ServerApp.allow_root": True,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.open_browser": False,
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": home / "course",
        "IdentityProvider.token": TOKEN,
        "LabApp.expose_app_in_browser": True,
    }
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        *(f"--{k}={v}" for k, v in options.items()),
    ]
    log = home / "jupyterlab.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, env=environment, cwd=home, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_ready(url, process, log)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_until_ready(url, process, log):
    for _ in range(240):
        with contextlib.suppress(OSError):
            request = f"{url}/api/status?token={TOKEN}"
            with urllib.request.urlopen(request, timeout=5):
                return
        if process.poll() is not None:
            break
        time.sleep(0.25)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-4000:]}")


class Notebook:
    """A notebook open in JupyterLab, driven through the application's own commands and model."""

    def __init__(self, page, url, path):
        self.page = page
        page.goto(f"{url}/lab/tree/{path}?token={TOKEN}&reset", wait_until="load")
        self.wait_until_open(path)
        self.wait_for_idle_kernel()

    def wait_until_open(self, path):
        self.path = path
        self.page.wait_for_function(
            """path => window.jupyterapp?.shell.currentWidget?.context?.path === path
                && jupyterapp.shell.currentWidget.context.isReady""",
            arg=path,
            timeout=60_000,
        )

    def wait_for_idle_kernel(self, timeout=60_000):
        self.page.wait_for_function(
            """() => jupyterapp.shell.currentWidget.sessionContext
                .session?.kernel?.status === "idle" """,
            timeout=timeout,
        )

    def start(self, command, **arguments):
        """Start a command of JupyterLab without waiting for it."""
        self.page.evaluate(
            """([command, arguments]) => {
                window.finished = false;
                jupyterapp.commands.execute(command, arguments).finally(() => window.finished = true);
            }""",
            [command, arguments],
        )

    def run(self, command, timeout=120_000, **arguments):
        self.start(command, **arguments)
        self.page.wait_for_function("window.finished", timeout=timeout)

    def run_all(self, timeout=120_000):
        self.run("notebook:run-all-cells", timeout=timeout)
        self.wait_for_idle_kernel()

    @property
    def cells(self):
        """The cells as JupyterLab holds them: type, source, outputs, metadata, execution count."""
        return self.page.evaluate(
            "jupyterapp.shell.currentWidget.content.model.sharedModel.cells.map(c => c.toJSON())"
        )

    def index(self, text, cell_type="code"):
        """Return the number of the first cell that contains a text."""
        for i, cell in enumerate(self.cells):
            if cell["cell_type"] == cell_type and text in "".join(cell["source"]):
                return i
        raise AssertionError(f"No cell of {self.path} contains {text!r}")

    def write(self, index, source):
        self.page.evaluate(
            """([i, source]) => jupyterapp.shell.currentWidget.content.model.sharedModel
                .cells[i].setSource(source)""",
            [index, source],
        )

    def add_cell(self, source):
        """Add a code cell at the end, select it, and return its number."""
        return self.page.evaluate(
            """source => {
                const notebook = jupyterapp.shell.currentWidget.content;
                notebook.model.sharedModel.addCell({cell_type: "code", source});
                return notebook.activeCellIndex = notebook.widgets.length - 1;
            }""",
            source,
        )

    def select(self, index):
        self.page.evaluate(
            "i => jupyterapp.shell.currentWidget.content.activeCellIndex = i", index
        )

    def locator(self, index):
        """The cell in the page."""
        return self.page.locator(f"{PANEL} .jp-Cell").nth(index)


@pytest.fixture
def open_notebook(chromium, server):
    pages = []

    def open_it(path):
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(20_000)
        pages.append(page)
        return Notebook(page, server, path)

    yield open_it
    for page in pages:
        page.evaluate("""() => {
            window.finished = false;
            jupyterapp.serviceManager.sessions.shutdownAll().finally(() => window.finished = true);
        }""")
        page.wait_for_function("window.finished")
        page.close()


def text_of(output):
    return "".join(output.get("text", "")) + "".join(output.get("traceback", ""))


PANEL = ".jp-NotebookPanel:not(.lm-mod-hidden)"
MISSING_PICTURES = f"""[...document.querySelectorAll("{PANEL} img")]
    .filter(i => i.complete && !i.naturalWidth).map(i => i.src)"""
ALL_MATH_IS_SET = f"""() => [...document.querySelectorAll("{PANEL} .jp-MarkdownOutput")].every(m => {{
    const text = m.cloneNode(true);
    text.querySelectorAll("code, mjx-container").forEach(e => e.remove());
    return !text.textContent.includes("$");
}})"""


def is_whole(page):
    """Say whether a notebook shows all its pictures and formulas, and no dialog."""
    page.wait_for_function(ALL_MATH_IS_SET)
    assert page.locator(".jp-Dialog").count() == 0
    assert page.evaluate(MISSING_PICTURES) == []
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0
    return True


@pytest.mark.nightly
def test_every_lesson_opens_with_its_pictures_and_formulas(open_notebook):
    """At night: the site's tests look at the same pictures and formulas, and others here at two lessons."""
    notebook = open_notebook(LESSONS[0])
    for path in LESSONS:
        # Without kernels, which would make the others wait.
        no_kernel = {"shouldStart": False, "canStart": False}
        notebook.run("docmanager:open", path=path, kernelPreference=no_kernel)
        notebook.wait_until_open(path)
        assert [cell for cell in notebook.cells if cell.get("outputs")]
        assert is_whole(notebook.page)


def test_at_the_first_start_the_list_of_headings_is_open(chromium, server, tmp_path):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    workspace = {"data": set_up.LAYOUT, "metadata": {"id": "first"}}
    url = f"{server}/lab/api/workspaces/first?token={TOKEN}"
    assert page.request.put(url, data=workspace).ok
    page.goto(f"{server}/lab/workspaces/first/tree/{LESSONS[0]}?token={TOKEN}")
    page.locator("#table-of-contents").get_by_text("Recap").wait_for()
    page.screenshot(path=tmp_path / "headings.png")
    page.close()


def test_scenes_are_live_before_any_cell_runs_if_the_notebook_is_trusted(
    open_notebook, tmp_path
):
    for path, live in ((RUN, True), (CHANGED, False)):
        page = open_notebook(path).page
        scene = page.locator(f"{PANEL} .attn-explorer").first
        picture = scene.locator("svg" if live else "img")
        picture.scroll_into_view_if_needed()
        page.screenshot(path=tmp_path / f"{'live' if live else 'still'}.png")
        assert picture.first.is_visible()
        assert bool(scene.locator("svg").count()) == live


def test_a_lesson_runs_from_top_to_bottom_without_an_error(open_notebook):
    notebook = open_notebook(RUN)
    notebook.run_all()
    for i, cell in enumerate(notebook.cells):
        if cell["cell_type"] != "code" or not "".join(cell["source"]).strip():
            continue
        where = f"cell {i}: "
        assert cell["execution_count"], where + "was not run"
        expected_to_raise = "raises-exception" in cell["metadata"].get("tags", [])
        raised = [text_of(o) for o in cell["outputs"] if o["output_type"] == "error"]
        assert bool(raised) == expected_to_raise, where + "\n".join(raised)
        printed = [text_of(o) for o in cell["outputs"] if o.get("name") == "stderr"]
        assert not printed, where + "\n".join(printed)
    assert is_whole(notebook.page)


def test_a_right_answer_passes_and_a_known_mistake_is_recognized_in_both_themes(
    open_notebook, lowest_contrast, tmp_path
):
    notebook = open_notebook(EXERCISE)
    stub = notebook.index("def attention_scores")
    check = notebook.index('check("attention_scores"')
    notebook.run_all()
    verdict = notebook.locator(check).locator(".attn-verdict")
    assert verdict.get_attribute("data-status") == "not attempted"
    for name, answer, status in (
        ("right", RIGHT, "passed"),
        ("unscaled", UNSCALED, "wrong"),
    ):
        notebook.write(stub, answer)
        for index in (stub, check):
            notebook.select(index)
            notebook.run("notebook:run-cell")
        notebook.wait_for_idle_kernel()
        assert verdict.get_attribute("data-status") == status
        assert bool(verdict.get_attribute("data-mistake")) == (status == "wrong")
        for theme in THEMES:
            notebook.run("apputils:change-theme", theme=theme)
            notebook.page.locator(f"body[data-jp-theme-name='{theme}']").wait_for(
                state="attached"
            )
            notebook.page.locator("#jupyterlab-splash").wait_for(state="detached")
            verdict.scroll_into_view_if_needed()
            picture = tmp_path / f"{name}-{theme.split()[-1].lower()}.png"
            notebook.page.screenshot(path=picture)
            assert verdict.is_visible()
            assert lowest_contrast(verdict) >= 4.5, f"{theme}: see {picture}"
    assert "?" in verdict.text_content()  # the recognized mistake's leading question


def test_an_endless_loop_is_interrupted_and_the_kernel_goes_on(open_notebook, tmp_path):
    notebook = open_notebook(EXERCISE)
    looping = tmp_path / "looping"
    notebook.write(notebook.index("def attention_scores"), ENDLESS.format(str(looping)))
    notebook.start("notebook:run-all-cells")
    for _ in range(600):
        if looping.exists():
            break
        notebook.page.wait_for_timeout(100)
    assert looping.exists(), "the answer was never called"
    notebook.run("notebook:interrupt-kernel", timeout=20_000)
    check = notebook.index('check("attention_scores"')
    notebook.locator(check).locator(".attn-verdict").wait_for()
    notebook.wait_for_idle_kernel()
    after = notebook.add_cell("6 * 7")
    notebook.run("notebook:run-cell", timeout=20_000)
    for _ in range(100):  # the output may arrive a moment after the command has ended
        if notebook.cells[after]["outputs"]:
            break
        notebook.page.wait_for_timeout(100)
    answers = [o["data"]["text/plain"] for o in notebook.cells[after]["outputs"]]
    assert ["".join(answer) for answer in answers] == ["42"]


def test_a_drill_comes_into_the_next_cell_and_is_judged_there(open_notebook, tmp_path):
    notebook = open_notebook(EXERCISE)
    stub, check = (
        notebook.index("def attention_scores"),
        notebook.index('check("attention_scores"'),
    )
    notebook.write(stub, RIGHT)
    for index in (0, 1, stub, check):
        notebook.select(index)
        notebook.run("notebook:run-cell")
    asked = notebook.add_cell("drill(lesson=1)")
    notebook.run("notebook:run-cell")
    drilled = asked + 1
    notebook.page.wait_for_function(
        "i => jupyterapp.shell.currentWidget.content.widgets.length > i", arg=drilled
    )
    source = notebook.cells[drilled]["source"]
    assert source.startswith("# One line is wrong in this answer to attention_scores.")
    verdict = notebook.locator(drilled).locator(".attn-verdict")
    mended = source.replace(
        "\ndrill(", RIGHT.replace("attention_scores", "drilled") + "\ndrill("
    )
    for cell, heading in (
        (source, "attention_scores"),
        (mended, "✓ Passed: attention_scores"),
    ):
        notebook.write(drilled, cell)
        notebook.select(drilled)
        notebook.run("notebook:run-cell")
        notebook.wait_for_idle_kernel()
        verdict.filter(has_text=heading).wait_for()
        verdict.scroll_into_view_if_needed()
        notebook.page.screenshot(path=tmp_path / f"drill-{heading[2:7]}.png")
    assert "Mended:" in verdict.text_content()
