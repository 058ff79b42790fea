"""A class list: who handed in nothing has a line too, and grades go back to where the list came from."""

import csv
import io
import zipfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from attn_lib.grading.batch import grade_class
from attn_lib.grading.find import find
from attn_lib.grading.lateness import Deadline, read_extensions, worksheet_times
from attn_lib.grading.lms import canvas_csv, moodle_csv, moodle_feedback, write_import
from attn_lib.grading.overrides import read_overrides, with_overrides
from attn_lib.grading.refused import Refused
from attn_lib.grading.reports import feedback_page, grades_csv, page_name, problems
from attn_lib.grading.roster import read_roster
from attn_lib.grading.row import unfitting
from tests.grading.fakes import full_marks
from tests.grading.judging import SOLUTION, class_of
from tests.grading.test_reports import row

PLAIN = "\ufeffid; name;Email\n7 ;Hopper, Grace;gh@x.org\n8;Ada Lovelace;ada@x.org\n9;Ada Lovelace;al@x.org\n"
CANVAS = (
    "Student,ID,SIS Login ID,Section,Quiz (11),Lesson 01: One head (4711),Final Score\n"
    "    Points Possible,,,,5,20,(read only)\n"
    '"Hopper, Grace",7,gh,A,3,,60\n"=Lovelace, Ada",8,al,A,,,\n'
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\n"
    'Participant 7,Grace_B Hopper,gh@x.org,Submitted,,100.00,Yes,"Friday, 2 October 2026, 6:30 PM",-,\n'
    "Participant 8,Ada Lovelace,al@x.org,No submission,,100.00,Yes,-,-,\n"
)


@pytest.fixture
def roster(tmp_path):
    def read(text):
        (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
        return read_roster(tmp_path / "roster.csv")

    return read


@pytest.fixture
def graded(tmp_path, in_this_process):
    def grade(roster, *names, lessons=(1,)):
        folder = class_of(tmp_path / "class", dict.fromkeys(names, SOLUTION))
        options = {"seed": 3, "lessons": lessons, "roster": roster, "grade": full_marks}
        return grade_class(folder, tmp_path / "out", **options)

    return grade


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        (PLAIN, "grace_hopper_01_single_head.ipynb", "Hopper, Grace"),
        (PLAIN, "7/a.ipynb", "Hopper, Grace"),
        (PLAIN, "gh/a.ipynb", "Hopper, Grace"),
        (PLAIN, "al/a.ipynb", "Ada Lovelace (9)"),
        (PLAIN, "Ada Lovelace/a.ipynb", "Ada Lovelace"),  # two have this name
        (PLAIN, "stranger/a.ipynb", "stranger"),
        (CANVAS, "hoppergrace_LATE_7_90210_x.ipynb", "Hopper, Grace"),
        (CANVAS, "nobody_77_90210_x.ipynb", "nobody_77"),
        (MOODLE, "Grace B Hopper_7_assignsubmission_file/a.ipynb", "Grace_B Hopper"),
    ],
)
def test_a_submission_is_found_in_the_roster(tmp_path, roster, text, name, found):
    files = find(class_of(tmp_path / "class", {name: SOLUTION}))
    assert [file.learner for file in roster(text).claimed(files)] == [found]


def test_two_of_one_name_are_both_named(tmp_path, roster):
    [ada] = find(class_of(tmp_path / "class", {"Ada Lovelace/a.ipynb": SOLUTION}))
    [claimed] = roster(PLAIN).claimed([replace(ada, note="More.")])
    assert claimed.note.startswith(
        "It may be of any of Ada Lovelace (8), Ada Lovelace (9): "
    )
    assert claimed.note.endswith(" More.")


def test_the_first_line_says_what_separates_cells_and_what_is_missing_is_empty(roster):
    first, second = roster('id;name;Email\n1;"a, b, c, d"\n2;Ada;x@y;more;still\n').people
    assert first.line == {"id": "1", "name": "a, b, c, d", "Email": ""}
    assert second.line == {"id": "2", "name": "Ada", "Email": "x@y"}


def test_everybody_has_a_line_and_strangers_are_named(tmp_path, roster, graded):
    (tmp_path / "class").mkdir()
    assert graded(roster(PLAIN), lessons=()) == []
    rows = graded(roster(PLAIN), "7/a.ipynb", "eve/a.ipynb")
    assert [(r.learner, r.id, r.points, r.problem or r.note) for r in rows] == [
        ("Ada Lovelace (8)", "8", 0, "Nothing was handed in."),
        ("Ada Lovelace (9)", "9", 0, "Nothing was handed in."),
        ("eve", "", 10, "Not in the roster."),
        ("Hopper, Grace", "7", 10, ""),
    ]
    assert "Nothing was handed in" in feedback_page("Ada", rows[:1])


def test_a_class_that_handed_in_nothing_has_its_lines(tmp_path, roster, graded):
    (tmp_path / "class").mkdir()
    assert [(row.id, row.points) for row in graded(roster(PLAIN))] == [
        ("8", 0),
        ("9", 0),
        ("7", 0),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("a,b\n1,2\n", "Identifier, Full name (Moodle)"),
        ("Student,ID\nAda,1\n", "ID, Student, Section (Canvas)"),
        ("id,name\n1,a\n1,b\n", "2 lines have the id 1"),
        ("id,name\n1,caf\udce9\n", "no CSV file in UTF-8"),
    ],
)
def test_what_is_no_roster_is_said(tmp_path, text, said):
    (tmp_path / "a.csv").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(Refused) as raised:
        read_roster(tmp_path / "a.csv")
    assert said in str(raised.value)


def test_canvas_gets_its_own_header_ids_and_scale(roster, graded):
    roster = roster(CANVAS + '"Student, Test",99,,A,,,\n')  # Canvas's own, who is nobody
    rows = graded(roster, "hoppergrace_7_90210_x.ipynb")
    assert list(csv.reader(io.StringIO(canvas_csv(roster, rows)))) == [
        ["Student", "ID", "SIS Login ID", "Section", "Lesson 01: One head (4711)"],
        ["    Points Possible", "", "", "", "20.00"],
        ["Hopper, Grace", "7", "gh", "A", "20.00"],
        ["'=Lovelace, Ada", "8", "al", "A", "0.00"],
    ]
    roster = replace(roster, columns=[c for c in roster.columns if "One head" not in c])
    header, possible, *_ = csv.reader(io.StringIO(canvas_csv(roster, rows)))
    assert (header[-1], possible[-1]) == ("Lesson 01", "10.00")
    roster = replace(roster, columns=[*roster.columns, "lesson 1 (5)", "Ex 01 (6)"])
    assert canvas_csv(roster, rows).splitlines()[0].endswith(",Lesson 01")  # which of them?


@pytest.mark.parametrize(
    ("most", "grade", "title"),
    [
        ("100.00", "100.00", "Maximum Grade"),
        ('"20,5"', "20.50", "Maximum Grade"),  # a comma may be decimal
        ("100.00", "100.00", "Maximum grade"),
    ],
)
def test_moodle_gets_its_worksheet_back_with_grades_on_its_scale(
    roster, graded, most, grade, title
):
    text = MOODLE.replace("100.00", most).replace("Maximum Grade", title)
    roster = roster(text)
    rows = graded(roster, "Grace B Hopper_7_assignsubmission_file/a.ipynb")
    lines = list(csv.DictReader(io.StringIO(moodle_csv(roster, rows))))
    assert [line["Grade"] for line in lines] == [grade, "0.00"]
    before = list(csv.DictReader(io.StringIO(text)))
    assert [line | {"Grade": ""} for line in lines] == before


def test_what_people_may_have_written_into_a_platforms_list_is_no_formula(roster, graded):
    sheet = roster(MOODLE.replace("al@x.org", "=cmd()").replace("gh@x.org", "@gh"))
    text = moodle_csv(sheet, graded(sheet, "7/a.ipynb"))
    assert "'=cmd()" in text
    assert "'@gh" in text
    assert ",-," in text  # Moodle's sign for nothing


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (CANVAS, ["canvas.csv"]),
        (MOODLE, ["moodle.csv", "moodle-feedback.zip"]),
        (PLAIN, []),
    ],
    ids=["Canvas", "Moodle", "plain"],
)
def test_each_platform_gets_its_own_files(tmp_path, roster, graded, text, names):
    rows, out = graded(roster(text), "7/a.ipynb"), tmp_path / "import"
    out.mkdir()
    assert write_import(rows, roster(text), out, {}) == names
    assert {path.name for path in out.iterdir()} == set(names)
    for path in out.glob("*.csv"):
        assert path.read_text().count("\n") >= 3


def test_moodle_knows_whose_feedback_it_is(tmp_path, roster):
    page = tmp_path / page_name("x")
    page.write_text("fine")
    data = moodle_feedback(roster(MOODLE), {"Grace_B Hopper": page, "stranger": page})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        [name] = archive.namelist()
        assert archive.read(name) == b"fine"
    # As Moodle takes it apart: the second part is the participant, the next two name the plugin.
    folder, _, _ = name.partition("/")
    assert folder.split("_", 4) == ["Grace B Hopper", "7", "assignsubmission", "file", ""]


DUE = datetime.fromisoformat("2026-10-01T18:00:00+00:00")


def late(modified="", on_time=None, penalty=0.1, sheet=None, id=""):
    due = Deadline(DUE, penalty, worksheet_times(sheet) if sheet else {})
    mine = row("ada")
    by_date = {"modified": modified, "dated_by": "the date of the file"}
    file = replace(mine.files[0], on_time=on_time, **by_date)
    [done] = due.applied([replace(mine, files=(file,), id=id)])
    return done


@pytest.mark.parametrize(
    ("modified", "days", "points"),
    [
        ("2026-10-01T18:00:00", 0, 10),
        ("2026-10-01T18:00:01", 1, 9),
        ("2026-10-02T18:00:00", 1, 9),
        ("2026-10-03T00:00:00", 2, 8),
        ("2027-10-03T00:00:00", 367, 0),
    ],
)
def test_each_day_that_has_begun_costs_its_share(modified, days, points):
    done = late(f"{modified}+00:00")
    assert (done.days_late, done.points) == (days, points)
    said = "".join(problems([done]))
    assert ("Handed in late" in said) == bool(days)
    assert ("by the date of the file" in said) == bool(days)
    assert "the date of the file" in grades_csv([done])  # also of what came in time
    assert replace(row("ada"), penalty=1 / 3).points == 6.67  # rounded to hundredths


def test_an_extension_moves_the_deadline_of_one_learner_and_lesson(tmp_path):
    assert read_extensions(tmp_path) == {}
    table = tmp_path / "extensions.csv"
    head = table.read_text()
    assert head == "learner,lesson,deadline\n"  # to be filled in
    late = replace(row("ada").files[0], modified="2026-10-03T18:00:00+00:00")
    rows = [replace(row("ada"), files=(late,), id="8"), replace(row("bob"), files=(late,))]
    for who, days in (("8", [1, 2]), ("ada", [1, 2]), ("bob", [2, 1])):
        table.write_text(f"{head}{who},1,2026-10-02 18:00 UTC\neve,2,2026-10-09\n")
        due = Deadline(DUE, 0.1, {}, read_extensions(tmp_path, [1]))
        assert [done.days_late for done in due.applied(rows)] == days
    for line, said in (
        ("ada,1,soon", "line 2: write a time"),
        ("ada,one,2026-10-02", "line 2: "),
    ):
        table.write_text(head + line)
        with pytest.raises(Refused, match=said):
            read_extensions(tmp_path)


def test_what_has_no_date_and_who_handed_in_nothing_is_not_late():
    assert late("").days_late == 0
    [done] = Deadline(DUE, 1, {}).applied([replace(row("ada"), files=())])
    assert done.days_late == 0


def test_canvas_says_itself_who_was_late(tmp_path):
    names = "lovelaceada_LATE_12_345_x.ipynb", "hopperg_13_346_x.ipynb"
    files = find(class_of(tmp_path, dict.fromkeys(names, SOLUTION)))
    assert [file.on_time for file in files] == [True, False]
    # A learner who calls a file so that nobody can tell whose it is, changes nothing for the others.
    odd = (
        "late_LATE_12_90212_.ipynb",
        "m_14_347_\n01\r.ipynb",
        "x_LATE_12_90213_a_77_assignsubmission_file_.ipynb",
    )
    files = find(class_of(tmp_path, dict.fromkeys(odd, SOLUTION)))
    assert [file.on_time for file in files if not file.problem] == [
        True,
        False,
        False,
        True,
    ]
    # Where others are called otherwise, it may be a learner who says so.
    files = find(class_of(tmp_path, {"ada.ipynb": SOLUTION}))
    assert {file.on_time for file in files} == {None}
    assert late("2027-01-01T00:00:00+00:00", on_time=True).days_late == 0
    done = late("2020-01-01T00:00:00+00:00", on_time=False)
    assert (done.days_late, done.late_by) == (1, "the file's name")


@pytest.mark.parametrize(
    "said", ["2 October 2026, 6:30 PM", "2 October 2026, 18:30", "October 2, 2026, 6:30 PM"]
)
def test_moodle_says_when_it_was_handed_in(roster, said):
    sheet = roster(MOODLE.replace("2 October 2026, 6:30 PM", said))
    for others in ({}, {"modified": "2027-01-01T00:00:00+00:00"}, {"on_time": True}):
        done = late(sheet=sheet, id="7", **others)
        assert done.days_late in (1, 2)  # in this machine's time zone
        assert done.late_by == "the worksheet"
    assert late("2026-10-05T18:00:00+00:00", sheet=sheet, id="8").days_late == 4
    german = roster(MOODLE.replace("2 October 2026, 6:30 PM", "2. Oktober 2026, 18:30"))
    with pytest.raises(
        Refused, match=r"“Friday, 2\. Oktober 2026, 18:30”.*Moodle to English"
    ):
        worksheet_times(german)


COLUMNS = "learner,lesson,task,points,reason"


def overridden(folder: Path, *lines: str):
    (folder / "overrides.csv").write_text("\n".join(lines), encoding="utf-8")
    rows = [replace(row("ada"), id="8"), row("bob")]
    return list(with_overrides(rows, read_overrides(folder, [1])))


def test_a_line_for_nobody_is_named_and_counts_for_nobody():
    rows = [replace(row("ada"), id="8"), replace(row("bob"), id="ada"), row("eve")]
    lines = [("1", "ada", 1), ("2", "8", 1), ("3", "eve", 1), ("4", "bob", 1)]
    assert unfitting(rows, lines) == []
    said = unfitting(rows[:1], [*lines, ("5", "ada", 2)])
    assert [text[0] for text in said] == ["3", "4", "5"]
    assert (
        said[2] == "5: nobody called ada has a line for lesson 2, so it counts for nobody."
    )


def test_points_set_by_hand_count_and_are_marked_everywhere(tmp_path):
    assert read_overrides(tmp_path) == []
    assert (tmp_path / "overrides.csv").read_text() == f"{COLUMNS}\n"  # to be filled in
    ada, bob = overridden(
        tmp_path,
        COLUMNS,
        '8, 1,attention , 1.5,"half, for the idea "',
        "ada,1,stable_softmax,2,",
        " bob,1, ,0,",
        "bob,1,,4,",
    )
    assert (ada.points, bob.points) == (8.5, 4)
    assert ada.by_hand == (
        "Set by hand: attention: 1.5 instead of 3 points (half, for the idea)",
        "Set by hand: stable_softmax: 2 instead of 2 points",
    )
    assert {t.name: t.status for t in ada.report.tasks}["attention"] == "by hand"
    assert "half, for the idea" in grades_csv([ada])
    assert "Set by hand: all: 0 instead of 10 points" in feedback_page("bob", [bob])
    assert "Set by hand: all: 4 instead of 0 points" in feedback_page("bob", [bob])
    assert replace(bob, penalty=0.5).points == 4
    ada, _ = overridden(tmp_path, COLUMNS, "8,1,attention,,see page 3", "ada,2,,1,")
    assert (ada.points, ada.by_hand) == (10, ("attention: see page 3",))
    assert "<p>attention: see page 3</p>" in feedback_page("ada", [ada]).replace(
        ' class="problem"', ""
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["learner,points"], "no column lesson"),
        ([COLUMNS, "ada,1,atention,1,"], "no task atention"),
        ([COLUMNS, "ada,1,attention,4,"], "0 to 3 points"),
        ([COLUMNS, "ada,1,attention,nan,"], "0 to 3 points"),
        ([COLUMNS, "ada,1,attention,-1,"], "0 to 3 points"),
        ([COLUMNS, "ada,1,,11,"], "0 to 10 points"),
        ([COLUMNS, "ada,one,,1,"], "must be numbers"),
        ([COLUMNS, ",1,,10,a name is missing"], "line 2: no learner is named"),
    ],
)
def test_an_override_that_fits_nothing_is_an_error(tmp_path, lines, said):
    with pytest.raises(Refused, match=said):
        overridden(tmp_path, *lines)


def test_an_extension_for_nobody_is_an_error(tmp_path):
    (tmp_path / "extensions.csv").write_text(
        "learner,lesson,deadline\n,1,2099-01-01 00:00\n"
    )
    with pytest.raises(Refused, match="line 2: no learner is named"):
        read_extensions(tmp_path)


def test_a_name_that_somebody_chose_takes_nobody_elses_place(tmp_path, roster):
    same = roster("id,name\n7,Bob Smith\n8,Bob Smith\n9,Bob Smith (7)\n")
    assert len({person.name for person in same.people}) == 3
    chosen = roster("id,name,login\n7,Bob Smith,bob\n8,Ada,ada\n9,bob,eve\n10,8,fay\n")
    folder = class_of(tmp_path / "class", {f"{x}/a.ipynb": SOLUTION for x in ("bob", "8")})
    files = chosen.claimed(find(folder))
    claimed = {file.path.parts[0]: (file.learner, file.may_be) for file in files}
    both = "Bob Smith", "bob"  # the login of one is the name of another
    assert claimed == {"bob": ("bob (unclaimed)", both), "8": ("Ada", ())}


def test_what_may_be_anybodys_is_nobodys(tmp_path, roster):
    twins = roster("id,name,login\n7,Bob,bob\n8,Eve,bob\n9,bob b,x\n")
    folder = class_of(tmp_path / "class", {"bob/a.ipynb": SOLUTION})
    [file] = twins.claimed(find(folder))
    assert file.learner not in {person.name for person in twins.people}
    assert "It may be of any of Bob, Eve" in file.note


def claimed(folder, roster, *names, lessons=()):
    """Return whose each notebook is, by a roster: the names of people, or of what is not claimed."""
    class_of(folder / "in", dict.fromkeys(names, SOLUTION))
    (folder / "r.csv").write_text(roster, encoding="utf-8")
    files = read_roster(folder / "r.csv").claimed(find(folder / "in", lessons=lessons))
    return {file.path.parts[0]: file.learner for file in files}


ADA = "id,name,login\n4711,Ada Lovelace,al\n666,Eve Evil,ada.lovelace\n"
CANVAS_ADA = (
    'Student,ID,SIS Login ID,Section\n"Lovelace, Ada",4711,al,A\n"Evil, Eve",666,ee,A\n'
)
MOODLE_ADA = (
    "Identifier,Full name\nParticipant 4711,Ada Lovelace\nParticipant 666,Eve Evil\n"
)
SUBMITTED = "_assignsubmission_file"


@pytest.mark.parametrize(
    ("roster", "own", "other", "name"),
    [
        (ADA, "4711/a.ipynb", "Ada Lovelace/a.ipynb", "Ada Lovelace"),
        (ADA, "al/a.ipynb", "Lovelace, Ada/a.ipynb", "Ada Lovelace"),
        (ADA, "lovelace.ada/a.ipynb", "Ada Lovelace/a.ipynb", None),
        (
            ADA,
            f"Ada Lovelace_1{SUBMITTED}/a.ipynb",
            f"Ada Lovelace_2{SUBMITTED}/a.ipynb",
            None,
        ),
        (CANVAS_ADA, "lovelaceada_4711_9009_x.ipynb", "4711.ipynb", "Lovelace, Ada"),
        (
            MOODLE_ADA,
            f"Ada Lovelace_4711{SUBMITTED}/a.ipynb",
            "4711_01_a.ipynb",
            "Ada Lovelace",
        ),
        (
            MOODLE_ADA,
            f"Ada L._4711{SUBMITTED}/a.ipynb",
            "Ada Lovelace/a.ipynb",
            "Ada Lovelace",
        ),
    ],
)
def test_a_second_one_that_reads_like_somebody_takes_nobodys_place(
    tmp_path, roster, own, other, name
):
    found = claimed(tmp_path, roster, own, other)
    theirs = [
        file for file in found if found[file] == "Ada Lovelace" or found[file] == name
    ]
    assert theirs == ([own.split("/")[0]] if name else [])


def test_a_name_that_looks_like_one_told_apart_changes_nothing(tmp_path):
    roster = "id,name\n1,Ada Lovelace\n2,Ada Lovelace\n3,Ada Lovelace (1)\n"
    [found] = claimed(tmp_path, roster, "Ada Lovelace/a.ipynb").values()
    assert found == "Ada Lovelace"  # nobody's row: those have numbers behind it


def test_a_name_that_looks_like_one_nobody_claims_is_not_given_anothers(tmp_path):
    roster = "id,name\n1,Ada Lovelace\n2,Ada Lovelace (unclaimed)\n"
    found = claimed(tmp_path, roster, "Ada Lovelace/a.ipynb", "Lovelace, Ada/a.ipynb")
    assert "Ada Lovelace (unclaimed)" not in found.values()


def test_a_name_that_looks_like_one_nobody_claims_has_a_row_of_its_own(tmp_path):
    names = (
        "Ada Lovelace/a.ipynb",
        "Lovelace, Ada/a.ipynb",
        "Ada Lovelace (unclaimed)/a.ipynb",
    )
    found = claimed(tmp_path, "id,name\n1,Ada Lovelace\n", *names)
    assert len({*found.values()}) == len(names), found


@pytest.mark.parametrize(
    "names",
    [
        ("lovelace_ada_01_single_head.ipynb", "101_01_single_head.ipynb"),
        ("ada lovelace_01_single_head.ipynb", "ada lovelace_x.ipynb"),
    ],
)
def test_loose_files_of_one_person_are_nobodys_and_named_on_her_line(
    tmp_path, graded, roster, names
):
    rows = graded(roster("id,name\n101,Ada Lovelace\n"), *names)
    [ada] = (row for row in rows if row.id == "101")
    others = [row for row in rows if row is not ada]
    assert ada.points == 0
    assert [row.learner in ada.problem for row in others] == [True, True]
    assert all("It may be of Ada Lovelace" in row.note for row in others)


@pytest.mark.parametrize("own", ["Ada Lovelace", "lovelace ada", "101"])
def test_a_loose_file_takes_no_folders_place(tmp_path, own):
    roster = "id,name\n101,Ada Lovelace\n"
    names = f"{own}/a.ipynb", "101_01_single_head.ipynb", "ada lovelace_x.ipynb"
    found = claimed(tmp_path, roster, *names)
    assert [name for name in found if found[name] == "Ada Lovelace"] == [own]


@pytest.mark.parametrize(
    ("address", "folder"), [("ada.lovelace", "Ada Lovelace"), ("ada", "ada")]
)
def test_the_first_part_of_an_address_takes_nobodys_name(tmp_path, address, folder):
    roster = (
        f"id,name,email\n1,Ada Lovelace,al77@x.example\n2,Eve Evil,{address}@x.example\n"
    )
    found = claimed(tmp_path, roster, f"{folder}/a.ipynb")
    assert not {*found.values()} & {"Ada Lovelace", "Eve Evil"}


def test_a_login_that_is_a_part_of_ones_own_name_is_ones_own(tmp_path):
    roster = "id,name,login\n1,Ada Lovelace,ada\n2,Ada Evil,ae\n"
    assert claimed(tmp_path, roster, "ada/a.ipynb") == {"ada": "Ada Lovelace"}


def test_a_platforms_number_means_nothing_in_a_list_of_the_teachers_own(tmp_path):
    roster = "id,name\n77,Ada Lovelace\n78,Ben Ito\n"
    folder = "Ben Ito_77_assignsubmission_file"
    assert claimed(tmp_path, roster, f"{folder}/a.ipynb") == {folder: "Ben Ito"}


def test_a_number_in_a_name_is_nobodys_id_in_canvas(tmp_path):
    roster = (
        'Student,ID,SIS User ID,Section\n"Lovelace, Ada",4711,a1,s\n"Evil, Eve",666,e1,s\n'
    )
    taken, own = "eve_4711_666_90210_x.ipynb", "lovelaceada_4711_90211_x.ipynb"
    found = claimed(tmp_path, roster, taken, own)
    assert found[own] == "Lovelace, Ada"
    assert found[taken] != "Lovelace, Ada"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("राम", "रिम"),
        ("Ali Hassan", "Hassan Ali Hassan"),
        ("Li", "Li Li"),
        ("Groß", "Gross"),
    ],
)
def test_names_that_differ_are_two(tmp_path, name, other):
    roster = f"id,name\n1,{name}\n"
    assert claimed(tmp_path, roster, f"{other}/a.ipynb") == {other: other}


def test_a_long_cell_of_a_worksheet_is_read(tmp_path):
    (tmp_path / "r.csv").write_text("id,name,text\n1,Ada," + "x" * 200_000 + "\n")
    assert read_roster(tmp_path / "r.csv").people[0].name == "Ada"
