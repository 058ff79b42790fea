"""Changes that no test can notice or need not: (file, place, change) and why."""

HARMLESS: dict[tuple[str, str, str], str] = {
    ("attn_lib/efficient.py", "chunked_attention", "256 -> 255"): "quicker or slower",
    ("attn_lib/efficient.py", "_Sight.blocks", "1 -> 2"): "a key more, which is hidden",
    ("attn_lib/efficient.py", "chunked_attention", "256 -> 257"): "quicker or slower",
    (
        "attn_lib/grading/keep.py",
        "write_whole",
        "file.fileno() -> file",
    ): "os.fsync asks for the number itself",
    ("attn_lib/checks/compare.py", "agreeing", "0.0 -> 1.0"): "1 is taken for 0, too",
    ("attn_lib/checks/compare.py", "agreeing", "want.detach() -> want"): "slower",
    ("attn_lib/checks/compare.py", "agreeing", "got.detach() -> got"): "slower",
    (
        "attn_lib/grading/sandbox.py",
        "Sandbox.close",
        "self._channel.fileno() < 0 -> self._channel.fileno() <= 0",
    ): "the channel is never the standard input",
    (
        "attn_lib/efficient.py",
        "_Sight.band",
        "place + size[0] > self.window -> place + size[0] >= self.window",
    ): "a band of zeros is added where nothing is hidden",
    (
        "attn_lib/checks/judge.py",
        "_beside",
        "found.case in with_gradients -> found.case not in with_gradients",
    ): "a gradient that is lost is lost on every input",
    ("attn_lib/checks/judge.py", "_beside", "0 -> 1"): "and on the next one, too",
    ("attn_lib/checks/judge.py", "_beside", "0 -> -1"): "and on the last one, too",
    (
        "attn_lib/checks/judge.py",
        "_scored",
        "time.monotonic() > end -> time.monotonic() >= end",
    ): "the clock goes on",
    ("attn_lib/checks/judge.py", "_scored", "False -> True"): "slower",
    (
        "attn_lib/checks/difference_picture.py",
        "difference_picture",
        "0.0 -> 1.0",
    ): "without a finite number there is no shade",
    (
        "attn_lib/checks/difference_picture.py",
        "difference_picture",
        "1.0 -> 2.0",
    ): "without a finite number there is no shade",
    ("attn_lib/grading/wire.py", "", "1 -> 2"): "some bound",
    (
        "attn_lib/llama.py",
        "LlamaConfig",
        "1536 -> 1537",
    ): "the loader's tests see a wrong size",
    (
        "attn_lib/minilm.py",
        "MiniLM.attend",
        "torch.cat(layers).cpu() -> torch.cat(layers)",
    ): "seen on a GPU only",
    (
        "attn_lib/programs/data_parallel.py",
        "main",
        "2 -> 3",
    ): "the example has another size",
    ("attn_lib/programs/serve.py", "", "16384 -> 16385"): "some bound",
    (
        "attn_lib/programs/serve.py",
        "read_order",
        "16 * MAX_BYTES -> 16 / MAX_BYTES",
    ): "the rest is dropped sooner",
}
CLUE = (
    "attn_lib/checks/compare.py",
    "_clue",
)  # where a relation to what was expected is said
# Another bound would do as well, and a number that is the bound itself does not come.
HARMLESS |= dict.fromkeys(
    [
        (*CLUE, "abs(factor) > 1e-06 -> abs(factor) >= 1e-06"),
        (*CLUE, "abs(factor - 1) > 0.001 -> abs(factor - 1) >= 0.001"),
        (
            "attn_lib/checks/recognize.py",
            "_Search._pairs",
            "time.thread_time() > end -> time.thread_time() >= end",
        ),
    ],
    "some bound",
)
# The lists are of one length, as they are made: `strict` says so to who reads it.
for path, place, lists in (
    ("recognize.py", "alike", "a.values, b.values"),
    ("recognize.py", "recognize", "recast, outcomes"),
    ("recognize.py", "_recast", "got.values, want.values"),
    ("recognize.py", "_recast", "values, got.values"),
    ("gradients.py", "judge_inputs_and_gradients", "tried.cases, outcomes"),
    ("observe.py", "_gradients", "open_leaves, found"),
    ("served.py", "Served.__call__", "map(id, floats), found"),
):
    change = f"zip({lists}, strict=True) -> zip({lists})"
    HARMLESS[f"attn_lib/checks/{path}", place, change] = "of one length"
for place in ("alike", "recognize", "_recast"):
    HARMLESS["attn_lib/checks/recognize.py", place, "True -> False"] = "of one length"
HARMLESS["attn_lib/checks/progress_table.py", "_as_text", "True -> False"] = "of one length"

# Numbers that could as well be a little larger or smaller: by module and place.
BOUNDS: dict[tuple[str, str], tuple[int | float, ...]] = {
    CLUE: (0.001, 1e-06),
    ("attn_lib/checks/drill.py", ""): (100,),
    ("attn_lib/checks/judge.py", ""): (45.0,),
    ("attn_lib/checks/recognize.py", ""): (4.0, 2000),
    ("attn_lib/checks/recognize.py", "_Search._pairs"): (3,),
    ("attn_lib/checks/store.py", ""): (3,),
    ("attn_lib/grading/alike.py", ""): (60,),
    ("attn_lib/grading/attempts.py", ""): (1000, 5000000),
    ("attn_lib/grading/batch.py", "_graded"): (0.2, 10),
    ("attn_lib/grading/doctor.py", "_graded"): (1,),  # a seed
    ("attn_lib/grading/find.py", "_handed_in"): (100,),
    ("attn_lib/grading/fork_server.py", "be_worker"): (16,),
    ("attn_lib/grading/grade.py", "grade_submission"): (300,),
    ("attn_lib/grading/keep.py", "course_version"): (16,),
    ("attn_lib/grading/reports.py", "write_reports"): (1,),  # how far JSON is indented
    ("attn_lib/grading/sandbox.py", ""): (10, 120),
    ("attn_lib/grading/sandbox.py", "ForkServer.__init__"): (1000,),
    ("attn_lib/grading/sandbox.py", "Sandbox._held"): (1024,),
    ("attn_lib/grading/sandbox.py", "Sandbox.close"): (0.2,),
    ("attn_lib/grading/sandbox.py", "Sandbox.measured.look"): (0.005,),
    ("attn_lib/grading/sandbox.py", "_Until.read"): (0.001,),
    ("attn_lib/grading/sandbox.py", "_Until.write"): (0.001,),
    ("attn_lib/grading/sandbox.py", "check_sandbox"): (60, 500),
    ("attn_lib/grading/submission.py", ""): (20, 50, 200, 2000, 3000000, 500000),
    ("attn_lib/grading/submission.py", "_why_not_json"): (500,),
    ("attn_lib/grading/submission_judge.py", ""): (8, 20, 20.0, 60.0, 256, 300.0),
    ("attn_lib/grading/submission_judge.py", "Judge._start"): (100,),
    ("attn_lib/grading/wire.py", ""): (20, 22, 1000, 10000),
    ("attn_lib/grading/wire.py", "_pack_value"): (4, 200),
    ("attn_lib/grading/wire.py", "_unpack_after"): (200,),
    ("attn_lib/grading/wire.py", "_unpack_error"): (20, 200),
    ("attn_lib/grading/wire.py", "_unpack_value"): (200,),
    ("attn_lib/grading/wire.py", "pack_outcome"): (20, 200),
    ("attn_lib/grading/wire.py", "unpack_call"): (20,),
    ("attn_lib/grading/wire.py", "unpack_outcome"): (20,),
    ("attn_lib/grading/workers.py", ""): (20,),
    ("attn_lib/grading/workers.py", "Pool.__init__"): (0.1,),
    ("attn_lib/grading/workers.py", "_said"): (200,),
    ("attn_lib/grading/workers.py", "on_cluster"): (2, 3),
}
for (path, place), numbers in BOUNDS.items():
    for number in numbers:
        others = [2 * number] if isinstance(number, float) else [number - 1, number + 1]
        for other in others:
            HARMLESS[path, place, f"{number} -> {other}"] = "some bound"
