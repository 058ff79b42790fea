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
from nbformat.v4 import new_code_cell, new_notebook, new_output

from attn_lib import causal_mask
from attn_lib.checks.drill import drills
from attn_lib.checks.mistakes import known
from scripts import set_up
from tests.browser.looks import lowest_contrast
from tests.browser.test_explorer import (
    ALL_HAVE_THEME,
    ALL_LIVE,
    MOUSE,
    SCENES,
    Figure,
    drive_by_keys,
)

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
ACTIVE = "jupyterapp.shell.currentWidget.content.activeCellIndex"

SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
# Installed for developers only; a learner's JupyterLab does not have them.
NOT_A_LEARNERS = {"@jupyter/nbgrader": True, "jupyterlab-jupytext": True}

RIGHT = "def attention_scores(q, k):\n    return q @ k.mT / q.shape[-1] ** 0.5\n"
UNSCALED = "def attention_scores(q, k):\n    return q @ k.mT\n"
UNTOUCHED = "def attention_scores(q, k):\n    raise NotImplementedError\n"
ENDLESS = """def attention_scores(q, k):
    open({!r}, "w").close()
    while True:
        pass
"""

# Of two scenes, with other numbers than in their stored outputs.
SOURCES = {
    "Scale": "import torch\nfrom attn_lib.explorer import MaskPainter, Scale\nScale(seed=1)",
    "MaskPainter": "MaskPainter(torch.arange(16.0).view(4, 4) / 8, list('abcd'))",
}

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
    for _ in range(480):
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

    def run_cells(self, *indices):
        for index in indices:
            self.select(index)
            self.run("notebook:run-cell")
        self.wait_for_idle_kernel()

    def change_theme(self, theme):
        self.run("apputils:change-theme", theme=theme)
        self.page.locator(f"body[data-jp-theme-name='{theme}']").wait_for(state="attached")
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")

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


@contextlib.contextmanager
def opened(chromium, server, path):
    """Yield an open notebook; afterwards its kernel stops."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(20_000)
    yield Notebook(page, server, path)
    page.evaluate("jupyterapp.serviceManager.sessions.shutdownAll()")
    page.close()


@pytest.fixture
def open_notebook(chromium, server):
    with contextlib.ExitStack() as stack:
        yield lambda path: stack.enter_context(opened(chromium, server, path))


@pytest.fixture(scope="module")
def exercise(chromium, server):
    """The exercise, run once; each test writes its own answer."""
    with opened(chromium, server, EXERCISE) as notebook:
        notebook.run_all()
        notebook.stub = notebook.index("def attention_scores")
        notebook.check = notebook.index('check("attention_scores"')
        yield notebook


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


@pytest.mark.nightly
def test_at_the_first_start_the_list_of_headings_is_open(chromium, server, tmp_path):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    workspace = json.loads(set_up.LAYOUT.read_text(encoding="utf-8"))
    workspace["metadata"]["id"] = "first"
    url = f"{server}/lab/api/workspaces/first?token={TOKEN}"
    assert page.request.put(url, data=workspace).ok
    page.goto(f"{server}/lab/workspaces/first/tree/{LESSONS[0]}?token={TOKEN}")
    page.locator("#table-of-contents").get_by_text("Recap").wait_for()
    page.screenshot(path=tmp_path / "headings.png")
    page.close()


def test_a_trusted_lesson_is_live_before_any_cell_runs_and_runs_without_an_error(
    open_notebook, tmp_path
):
    for path, live in ((CHANGED, False), (RUN, True)):
        notebook = open_notebook(path)
        scene = notebook.page.locator(f"{PANEL} .attn-explorer").first
        picture = scene.locator("svg" if live else "img")
        picture.scroll_into_view_if_needed()
        notebook.page.screenshot(path=tmp_path / f"{'live' if live else 'still'}.png")
        assert picture.first.is_visible()
        assert bool(scene.locator("svg").count()) == live
    notebook.run_all(timeout=300_000)
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
    exercise, tmp_path
):
    verdict = exercise.locator(exercise.check).locator(".attn-verdict")
    for answer, status in (
        (UNTOUCHED, "not attempted"),
        (RIGHT, "passed"),
        (UNSCALED, "wrong"),
    ):
        exercise.write(exercise.stub, answer)
        exercise.run_cells(exercise.stub, exercise.check)
        assert verdict.get_attribute("data-status") == status
        assert bool(verdict.get_attribute("data-mistake")) == (status == "wrong")
    assert "?" in verdict.text_content()  # the recognized mistake's leading question
    for theme in THEMES:
        exercise.change_theme(theme)
        verdict.scroll_into_view_if_needed()
        picture = tmp_path / f"{theme.split()[-1].lower()}.png"
        exercise.page.screenshot(path=picture)
        assert verdict.is_visible()
        assert lowest_contrast(verdict) >= 4.5, f"{theme}: see {picture}"


def test_a_verdict_that_opens_below_the_edge_comes_into_view(exercise):
    verdict = exercise.locator(exercise.check).locator(".attn-verdict")
    for command in ("notebook:run-cell", "notebook:run-cell-and-select-next"):
        exercise.write(exercise.stub, UNSCALED)
        exercise.run_cells(exercise.stub)
        exercise.select(exercise.check)
        exercise.page.set_viewport_size({"width": 1280, "height": 520})
        # The check's own line stands at the window's edge.
        exercise.page.evaluate(
            f"""() => {{ const cell = document.querySelectorAll('{PANEL} .jp-Cell')[{exercise.check}];
                cell.scrollIntoView({{block: "end"}}); }}"""
        )
        exercise.run(command)
        exercise.wait_for_idle_kernel()
        exercise.page.wait_for_timeout(500)
        box = verdict.bounding_box()
        assert box["y"] + min(box["height"], 200) <= 520, (command, box)
    exercise.page.set_viewport_size({"width": 1280, "height": 900})


def test_the_next_task_is_a_link_to_its_heading(exercise):
    exercise.write(exercise.stub, RIGHT)
    exercise.run_cells(exercise.stub, exercise.check)
    link = exercise.locator(exercise.check).locator(".attn-verdict a")
    heading = exercise.page.locator(f"{PANEL} h2", has_text=link.text_content())
    exercise.page.evaluate(
        f"document.querySelector('{PANEL} .jp-WindowedPanel-outer').scrollTop = 0"
    )
    # JupyterLab measures the cells that come into view, and may so miss the heading by some lines, once.
    for _ in range(3):
        link.click()
        exercise.page.wait_for_timeout(1500)
        if 0 <= (y := heading.bounding_box()["y"]) < 600:
            break
    assert 0 <= y < 600


def test_progress_beside_the_notebook_is_brought_up_to_date_by_a_check(exercise):
    exercise.add_cell("from attn_lib.checks import progress\n\nprogress(1)")
    exercise.run("notebook:run-cell")
    exercise.wait_for_idle_kernel()
    notebook = exercise.page.evaluate("jupyterapp.shell.currentWidget.id")
    exercise.run("notebook:create-output-view")
    row = exercise.page.locator(".jp-LinkedOutputView tr", has_text="SelfAttention")
    row.locator("td", has_text="open").wait_for(timeout=60_000)
    exercise.page.evaluate("id => jupyterapp.shell.activateById(id)", notebook)
    exercise.add_cell(
        'check("SelfAttention", lambda d_model, head_dim: torch.nn.Identity())'
    )
    exercise.run("notebook:run-cell")
    row.locator("td", has_text="attempted").wait_for(timeout=60_000)


def test_an_endless_loop_is_interrupted_and_the_kernel_goes_on(exercise, tmp_path):
    looping = tmp_path / "looping"
    exercise.write(exercise.stub, ENDLESS.format(str(looping)))
    exercise.run_cells(exercise.stub)
    exercise.select(exercise.check)
    exercise.start("notebook:run-cell")
    for _ in range(600):
        if looping.exists():
            break
        exercise.page.wait_for_timeout(100)
    assert looping.exists(), "the answer was never called"
    exercise.run("notebook:interrupt-kernel", timeout=20_000)
    exercise.wait_for_idle_kernel()
    after = exercise.add_cell("6 * 7")
    exercise.run("notebook:run-cell", timeout=20_000)
    exercise.locator(after).locator(".jp-OutputArea-output", has_text="42").wait_for()
    assert exercise.locator(exercise.check).locator(".attn-verdict").is_visible()


def test_a_drill_comes_into_the_next_cell_and_is_judged_there(exercise, tmp_path):
    exercise.write(exercise.stub, RIGHT)
    exercise.run_cells(exercise.stub, exercise.check)
    asked = exercise.add_cell("drill(lesson=1)")
    exercise.run("notebook:run-cell")
    drilled = asked + 1
    exercise.page.wait_for_function(
        "i => jupyterapp.shell.currentWidget.content.widgets.length > i", arg=drilled
    )
    source = exercise.cells[drilled]["source"]
    assert source.startswith("# One line is wrong in this answer to attention_scores.")
    verdict = exercise.locator(drilled).locator(".attn-verdict")
    found = next(d for d in drills("attention_scores") if d.code in source)
    right = known("attention_scores").sources(*found.mistakes)[1].partition("\n")[2]
    mended = source.replace(found.code.partition("\n")[2], right)
    assert mended != source
    for cell, heading in (
        (source, "attention_scores"),
        (mended, "✓ Passed: attention_scores"),
    ):
        exercise.write(drilled, cell)
        exercise.run_cells(drilled)
        verdict.filter(has_text=heading).wait_for()
    assert "Mended:" in verdict.text_content()
    verdict.scroll_into_view_if_needed()
    exercise.page.screenshot(path=tmp_path / "drill.png")


def put_scenes(server, page, path):
    """Give the server a notebook of scenes whose stored outputs it has no reason to trust."""
    notebook = new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    for name, scene in SCENES.items():
        data = scene._repr_mimebundle_()
        output = new_output("execute_result", data, execution_count=1)
        notebook.cells.append(new_code_cell(SOURCES.get(name, ""), outputs=[output]))
    content = json.dumps({"type": "notebook", "content": notebook})
    response = page.request.put(
        f"{server}/api/contents/{path}?token={TOKEN}",
        data=content,
        headers={"Content-Type": "application/json"},
    )
    assert response.ok, response.text()


def test_scenes_are_pictures_until_trusted_and_then_live(chromium, server, open_notebook):
    with contextlib.closing(chromium.new_page()) as page:
        put_scenes(server, page, "scenes.ipynb")
    notebook = open_notebook("scenes.ipynb")
    page = notebook.page
    output = ".jp-NotebookPanel .jp-OutputArea-output"

    # Untrusted: the pictures, and nothing that runs.
    pictures = page.locator(f"{output} img[src^='data:image/svg+xml']")
    assert pictures.count() == len(SCENES)
    assert page.locator(f"{output} svg").count() == 0
    for i, scene in enumerate(SCENES.values()):
        pictures.nth(i).scroll_into_view_if_needed()
        decoded = "image => image.decode().then(() => image.naturalWidth)"
        assert pictures.nth(i).evaluate(decoded) > 200
        assert pictures.nth(i).get_attribute("alt") == scene.alt

    # Trusted: live without a kernel. The keys are the scene's, not the notebook's.
    notebook.start("notebook:trust")
    page.locator(".jp-Dialog button.jp-mod-accept").click()
    page.wait_for_function(ALL_LIVE, arg=len(SCENES))
    for i, name in enumerate(SCENES):
        figure = Figure(page, i)
        figure.svg.scroll_into_view_if_needed()
        if name == "MaskPainter":  # by strokes, clicks and buttons
            MOUSE[name](figure)
        figure.button("Reset").click()  # its cell is the active one now
        where = page.evaluate(ACTIVE)
        figure.host.locator("input, button").first.focus()
        drive_by_keys(figure, name)
        assert page.evaluate(ACTIVE) == where, name
    figure.wait_until_read_out()
    assert "#" not in page.url  # JupyterLab's address is left alone

    # Run: live. A cell that is run again gives one new figure, not two.
    notebook.run_cells(0, 1, 1)
    page.wait_for_function(ALL_LIVE, arg=len(SCENES))
    assert page.locator(f"{output} [data-explorer]").count() == len(SCENES)
    painter = Figure(page, 1)
    painter.cell("query a, key a").click()
    painter.press("ArrowDown", "ArrowRight", "Enter")
    mask = causal_mask(4, 4).int()
    mask[0, 0] = mask[1, 1] = 0
    assert painter.numbers["mask"] == mask.tolist()
    count = len(notebook.cells)
    painter.press("a", "b", "x", "d", "d")  # commands of the notebook elsewhere
    assert len(notebook.cells) == count

    for theme in reversed(THEMES):
        notebook.change_theme(theme)
        page.wait_for_function(ALL_HAVE_THEME, arg=theme.split()[-1].lower())
        for live in page.locator("[data-explorer] .live").all():
            assert lowest_contrast(live) >= 4.5
