"""The verbs of a chapter, as they act where there is no GPU."""

import re
from dataclasses import replace
from html import unescape

import pytest
from record_samples import DEVICE, run

from sgemm_lab import lab, style
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking.judge import CheckResult
from sgemm_lab.errors import LabError
from sgemm_lab.lab import checking, session
from sgemm_lab.records.gpu_record import Counters, Record
from sgemm_lab.records.store import load_records, not_yet_measured

CLAIM = ("more-any-k", "A window takes any K.", "confirmed", "It moves.")


def test_measure_without_a_gpu_gives_the_record_and_says_so():
    speeds = lab.measure("naive", size=4096)
    recorded = load_records()[0].score(load_kernel("naive"), (4096, 4096, 4096))
    assert speeds.of("naive").gflops == recorded.gflops
    assert "Recorded on NVIDIA H200" in repr(speeds)
    assert recorded.date[:10] in repr(speeds)
    assert "Measured here" not in repr(speeds)


def test_measure_says_what_is_missing():
    said = lab.measure("strip", size=4096)
    assert repr(said) == not_yet_measured(["strip"], " at 4096³")
    with pytest.raises(LabError, match=r"Not yet measured at 4096³: strip\. Run 'sgemm-lab record"):
        said.of("strip", (4096, 4096, 4096))
    both = lab.measure("strip", "naive")
    assert [score.kernel for score in both] == ["naive"]
    assert repr(both).endswith(not_yet_measured(["strip"], " at 4096³"))


@pytest.mark.parametrize(
    ("verb", "sentence"),
    [
        (lambda: lab.mine(5), "5 is not source code. Give it as text, such as lab.source"),
        (
            lambda: lab.compare(5, "tiled"),
            "5 is not a kernel. Give a name such as 'tiled', or lab.mine",
        ),
        (lambda: lab.compare("tilde", "tiled"), "no kernel called 'tilde'. Did you mean 'tiled'"),
        (lambda: lab.compare("naive", 5), "5 is not a kernel"),
        (
            lambda: lab.count("tiled", size="64"),
            "'64' is not a size. Give a whole number such as 64",
        ),
        (lambda: lab.count("tiled", size=True), "True is not a size"),
        (lambda: lab.count("tiled", size=(8, 8)), r"\(8, 8\) is not a size"),
        (lambda: lab.count("tiled", size=0), "0 is not a size"),
        (lambda: lab.count("tiled", size=None), "None is not a size"),
        (lambda: lab.exercise(2.1), "The name of an exercise is text. Write it in quotes: '2.1'"),
        (lambda: lab.errors("naive").of("naive", k=7), "Errors of 'naive' are not recorded"),
        (lambda: lab.library("tf32", 65), "cuBLAS in tf32 is not recorded at 65³"),
        (lambda: lab.closing("tiled", why="{nonsense}"), r"cannot be filled in .*clock"),
        (lambda: lab.closing("tiled", why="{"), "cannot be filled in"),
        (lambda: lab.closing("split_k"), "The demand of a block of 'split_k' is not known"),
        (lambda: lab.fragment_map("naive"), r"'naive' has 0 kinds of mma\.sync"),
        (lambda: lab.multi_gpu_results().product(2, 3), "3×3×3 on 2 GPUs by rows"),
        (lambda: lab.timeline("naive"), "'naive' has no K tiles in shared memory"),
        (lambda: lab.wavefronts("tiled", "reads"), "are of loads, stores, all, not of 'reads'"),
        (lambda: lab.wavefronts("tiled", line="nowhere"), "No line of 'tiled' holds “nowhere”"),
        (lambda: lab.hardware("split", 77), r"counters of 'split' at 77³\. Take them with"),
        (lambda: lab.hardware("split").colour, r"have no 'colour'\. They have .*dram_read_bytes"),
        (lambda: lab.hardware("split").waiting("tea"), "have no 'stalled_tea'"),
        (lambda: lab.request([], 4), "1 to 32 lanes"),
        (lambda: lab.request([0] * 33, 4), "1 to 32 lanes"),
        (lambda: lab.request([0], 3), "1, 2, 4, 8, 16 bytes at once, not 3"),
        (lambda: lab.request([2], 4), "multiple of 4 bytes"),
        (lambda: lab.request([-4], 4), "not below 0"),
        (lambda: lab.verdicts([CLAIM[:3]]), r"written \(key, claim, verdict, because\)"),
        (lambda: lab.verdicts(["four"]), r"written \(key, claim, verdict, because\)"),
        (lambda: lab.verdicts([("a-b", "C", "incomplete", "")]), "confirmed, wrong, partly"),
        (lambda: lab.verdicts([("Any K", *CLAIM[1:])]), "'Any K' is not of the form"),
        (lambda: lab.verdicts([("001", *CLAIM[1:])]), "'001' is not of the form"),
        (lambda: lab.verdicts([CLAIM, CLAIM]), "is used twice"),
        (lambda: lab.banks("split", request="fragB"), r"called 'fragB'\. There are: split"),
        (lambda: lab.banks("split", size=512), "is more than a pattern of addresses needs"),
    ],
)
def test_what_a_reader_may_get_wrong_is_a_sentence(verb, sentence):
    with pytest.raises(LabError, match=sentence):
        verb()


def test_a_readers_kernel_runs_in_a_process_of_its_own_on_a_gpu(monkeypatch):
    fault = CheckResult("mine", 5, 5, 5, "It did not end within 20 seconds.", None, float("inf"))
    asked = []
    monkeypatch.setattr(session, "live", lambda: True)
    monkeypatch.setattr(checking, "current_device", lambda: load_records()[0].gpu)
    monkeypatch.setattr(checking, "check_sandboxed", lambda k, _: asked.append(k.name) or [fault])
    monkeypatch.setattr(checking, "check", lambda k, _: asked.append(k.name) or [])
    said = repr(lab.check(lab.mine(lab.source("naive").replace("0.0f", "1.0f")), "naive"))
    assert asked == ["mine", "naive"]
    assert "It did not end within 20 seconds." in said


def test_another_gpus_counters_may_lack_some(monkeypatch):
    naive = load_kernel("naive")
    known = Counters("naive", naive.fingerprint, 64, 64, 64, {"global_load_requests": 7.0})
    device = replace(DEVICE, name="Tesla T4")
    monkeypatch.setattr(
        session, "book_records", lambda: [Record(device, (run(counters=(known,)),))]
    )
    said = repr(lab.count("naive", size=64))
    assert "by the Tesla T4" in said
    assert "not counted" in said


def test_a_kernel_is_shown_with_the_lines_its_parent_lacks():
    shown = lab.show("naive")
    marked = [line[2:] for line in shown.text.splitlines() if line.startswith("+ ")]
    assert "    const int col = blockIdx.x * BN + threadIdx.x;" in marked
    assert "    float acc = 0.0f;" not in marked
    assert shown.html.count('class="line changed"') == len(marked) == 4


def test_a_listing_numbers_its_lines_as_the_file_does():
    """So that the line which a widget or a verdict names can be found."""
    source = load_kernel("naive").source.splitlines()
    shown = lab.show("naive", "const int col", "float acc").html
    numbered = re.findall(r'data-line="(\d+)"[^>]*>(.*?)\n</span>', shown)
    assert numbered
    for number, line in numbered:
        plain = unescape(re.sub(r"<[^>]+>", "", line))
        assert source[int(number) - 1].strip() == plain.strip()


def test_a_listing_cuts_the_blanks_that_its_lines_begin_with():
    """A phone has room for forty letters."""
    shown = lab.show("stages", "const int now =", "for (int j = 0; j < TN; ++j) {")
    lines = [line[2:] for line in shown.text.splitlines()[1:]]
    assert lines[0].startswith("const int now")
    assert "#pragma unroll" in lines
    assert "    for (int j = 0; j < TN; ++j) {" in lines


def test_counts_stand_beside_the_hardware_s():
    counted = lab.count("naive", size=256)
    rows = [line for line in repr(counted).splitlines() if line.startswith("sectors")]
    here, hardware = rows[0].split()[-2:]
    assert here == hardware == "2,621,440"


def test_race_of_a_wrong_kernel_says_wrong():
    wrong = lab.mine(
        lab.source("tiled").replace("k0 < K; k0 += TILE", "k0 + TILE <= K; k0 += TILE")
    )
    assert "WRONG" in repr(lab.compare(wrong, against="tiled"))


def test_the_roofline_has_predicted_and_measured_points():
    widget = lab.roofline("naive")
    here = [point for point in widget.points if point["gpu"] == "h200"]
    assert {point["kind"] for point in here} == {"predicted", "measured"}
    (predicted,) = [point for point in here if point["kind"] == "predicted"]
    assert predicted["intensity"] == 0.25
    assert all(point["kind"] == "predicted" for point in widget.points if point["gpu"] == "t4")


def test_a_roofline_begins_with_one_level():
    assert lab.roofline("naive", "tiled").level == "shared"
    widget = lab.roofline("naive_rows", "naive", "tiled")
    widget.level = "l2"
    assert [point["kernel"] for point in widget.shown_points] == ["naive_rows", "naive", "tiled"]
    with pytest.raises(LabError, match=r"any of .*'dram'.* not the str 'L3'"):
        widget.level = "L3"


def test_measured_roofs_come_first():
    gpu = lab.roofline("naive").chosen_gpu
    dram = [level["measured"] for level in gpu["levels"] if level["id"] == "dram"]
    assert dram == [True, False]
    assert gpu["peak_gflops"] == gpu["peaks"][0]["gflops"]


def test_pictures_carry_their_conclusion():
    picture = lab.card().stride_picture()
    bundle, metadata = picture._repr_mimebundle_()
    assert bundle["text/plain"] in bundle["image/svg+xml"]
    assert bundle["text/plain"] in metadata[style.NARROW]  # the same, drawn for a phone
    width = float(re.search(r'viewBox="0 0 ([0-9.]+)', metadata[style.NARROW])[1])
    assert width * 96 / 72 <= 358
    assert f"<figcaption>{bundle['text/plain']}</figcaption>" in bundle["text/html"]
