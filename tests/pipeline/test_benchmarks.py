"""The benchmarks run, on next to nothing, and keep what they found; their times are nobody's concern here."""

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import built
import pytest
import served
import trained
from pipeline import preloaded

from mtbert import files
from mtbert.scores import tables
from mtbert.training import logs

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _as_scripts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(FOLDER)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder to keep results in, whose page has a place for every table."""
    places = (f"<!-- {name} -->\nold\n<!-- /{name} -->\n" for name in ("steps-tiny", "catalog"))
    (tmp_path / "README.md").write_text("".join(places))
    return tmp_path


def content(kept: Path) -> dict:
    """What has been put into results.json."""
    (found,) = json.loads((kept / "results.json").read_text()).values()
    return found


def bench(*arguments: str) -> str:
    """What `steps.py` prints when it compares contestants of these shapes."""
    command = [preloaded.python(), "steps.py", "--batch", "4", "--passes", "1", "--device", "cpu", "--shape"]
    done = subprocess.run([*command, *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_every_contestant_trains_and_is_compared(kept: Path):
    bench("tiny", "--record", str(kept))
    found, adapters = content(kept), ["pals", "lora", "houlsby"]
    others = ["bert-n-pals", "minbert", "trainer", "trainer-best"]
    names = ["plain", *adapters, "smart", "interleaved", "pcgrad", *others]
    assert [row["contestant"] for row in found["contestants"]] == names
    assert all(row["s a step"] > 0 for row in found["contestants"])
    assert {("bert-n-pals", "pals"), ("pals", "plain")} <= {(row["step of"], row["over"]) for row in found["ratios"]}
    page = (kept / "README.md").read_text()
    assert "\ntrainer-best " in page
    assert page.count("old") == 1


def test_every_architecture_trains_beside_the_trainer_with_the_same():
    names = ["tiny-roberta", "tiny-modernbert", "tiny-deberta"]
    printed = bench(*names, "--only", "pals", "trainer")
    assert [line for line in printed.splitlines() if line.startswith("tiny-")] == [
        f"{name}: pals, trainer" for name in names
    ]
    assert printed.count("\ntrainer ") == len(names)


def test_a_variant_of_the_catalog_trains(kept: Path, monkeypatch: pytest.MonkeyPatch):
    import catalog

    only = ["--shape", "tiny", "--csv", str(kept / "rows.csv"), "--only", "bert-sst", "slap-rand"]
    monkeypatch.setattr(sys, "argv", ["catalog.py", *only, "--record", str(kept)])
    catalog.main()
    trained, untrained = content(kept)["rows"]
    assert (trained["steps"], trained["trained weights"], trained["added weights"]) == (60_000, 35_213, 7_685)
    assert (trained["PFLOP"], trained["GPU hours"]) == (0.002, 0.5)  # 60,000 steps of at least 0.03 s
    assert (untrained["steps"], untrained["GPU hours"]) == (0, 0.0)


def test_an_adapters_arithmetic_is_that_of_its_matrix_products():
    import steps

    shape = steps.SHAPES["base"]
    plain, pals, lora, houlsby = (shape.arithmetic([1], name) for name in ("plain", "pals", "lora", "houlsby"))
    assert pals - plain == 3 * 12 * (2 * (2 * 768 * 204 + 3 * 204**2) + 4 * 204)
    assert lora - plain == 3 * 2 * 294_912  # each of its weights once a token, times and plus
    assert houlsby - plain == 3 * 12 * 2 * 2 * (2 * 768 * 64)
    modern, deberta = (steps.SHAPES[name].arithmetic([10], "plain") for name in ("modernbert", "deberta"))
    assert modern == 3 * 11 * 10 * (2 * (4 * 384**2 + 3 * 384 * 576) + 10 * 4 * 384)  # its feed-forward is gated
    assert deberta == 3 * 6 * 10 * (2 * (4 * 384**2 + 2 * 384 * 1536) + 10 * 12 * 384)  # attends by 20 distances, too
    assert shape.adapter("none") == {"name": "none"}
    assert shape.adapter("lora") == {"name": "lora", "rank": 8}


def test_a_ratio_is_held_against_its_aim():
    import steps

    found = steps.ratios({"plain": 2.0, "pals": 3.0, "bert-n-pals": 36.0}, pals_aim=1.3)
    assert found == [
        {"step of": "bert-n-pals", "over": "pals", "ratio": 12.0, "aim": ">= 10", "met": "yes"},
        {"step of": "pals", "over": "plain", "ratio": 1.5, "aim": "<= 1.3", "met": "no"},
    ]


def test_a_step_lies_between_two_updates():
    import clock
    import torch

    optimiser, now = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]), iter([1.0, 2.0, 5.0]).__next__
    run = clock.by_updates(lambda: [optimiser.step() for _ in range(3)])
    assert clock.step_seconds(run, torch.device("cpu"), now) == [1.0, 3.0]


def test_memory_of_a_gpu_is_what_is_held_at_most_above_what_was_held_before(monkeypatch: pytest.MonkeyPatch):
    import clock
    import torch

    calls = list[str]()
    held = {"memory_reserved": 3 * 2**20, "max_memory_reserved": 10 * 2**20}
    for name in ("empty_cache", "reset_peak_memory_stats", *held):
        monkeypatch.setattr(torch.cuda, name, lambda *_, name=name: [calls.append(name), held.get(name)][1])
    assert clock.peak_memory(lambda: calls.append("run"), torch.device("cuda")) == 7
    assert calls == ["empty_cache", "reset_peak_memory_stats", "memory_reserved", "run", "max_memory_reserved"]


def test_each_contestant_keeps_its_own_precision():
    import clock
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    try:
        AcceleratorState._reset_state(reset_partial_state=True)
        first, state = Accelerator(cpu=True, mixed_precision="bf16"), clock.OwnState()
        AcceleratorState._reset_state(reset_partial_state=True)
        second = Accelerator(cpu=True, mixed_precision="no")
        assert second.mixed_precision == "no"
        with state.restored():
            assert first.mixed_precision == "bf16"
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)


def test_a_campaign_brings_back_what_is_trained_in_parts_and_tells_what_failed(tmp_path, monkeypatch, capsys):
    import campaign

    def train(job):
        if job.variant == "broken":
            raise ValueError("no such data")
        large = "x" * (1 << 20)  # more than a pipe holds
        return campaign.Finished(job.variant, b"{}", f"0a  {job.name}/sst-dev.parquet\n", large)

    def write_tables(build, models, folder):
        folder.mkdir(parents=True)
        (folder / "models").write_text(" ".join(models))

    monkeypatch.setattr(campaign, "train", train)
    monkeypatch.setattr(campaign, "write_tables", write_tables)
    monkeypatch.setattr(campaign, "PART", 2)
    jobs = [campaign.Job(Path("small"), name, 1) for name in ("a", "broken", "b", "c")]
    assert campaign.campaign(jobs, 1, 60.0, tmp_path) == ["small/broken/1"]
    for part in ("part-0", "part-1"):
        with tarfile.open(tmp_path / f"{part}.tar") as archive:
            archive.extractall(tmp_path, filter="data")
    assert (tmp_path / "part-0/small/models").read_text() == "a b"
    assert (tmp_path / "part-1/small/models").read_text() == "c"
    assert (tmp_path / "part-1/SHA256SUMS").read_text() == "0a  small/c/1/sst-dev.parquet\n"
    assert (tmp_path / "part-1/logs/small/c/1/run.json").read_text() == "{}"
    told = capsys.readouterr().out
    assert "ValueError: no such data" in told
    assert "3 of 4 in" in told


def test_a_training_tells_of_the_machine_it_ran_on_and_not_of_the_one_where_its_folder_was_begun(tmp_path):
    import campaign

    build = trained.build(tmp_path / "small")
    about = {"selected": True, "paper": None, "row": "", "overrides": {}}
    catalog = {"variants": {"crossed": about}, "seeds": [1], "ensembles": {}, "profile": "test"}
    catalog |= {"data_dir": "data/sample", "encoder": {"name": "tiny"}}
    files.write_yaml(build / "plan/catalog.yaml", catalog)
    finished = campaign.train(campaign.Job(build, "crossed", 1))
    about = logs.machine()
    parts = [about["processor"], about["accelerator"], f"torch {logs.versions()['torch']}"]
    assert finished.model.row["machine"] == ", ".join(filter(None, parts))


def test_a_part_that_its_process_cannot_write_is_written_at_the_end(tmp_path, monkeypatch):
    import campaign

    def write_undisturbed(part, fresh, out):
        raise OSError("no room")

    monkeypatch.setattr(campaign, "train", lambda job: campaign.Finished(job.variant, b"{}", "", ""))
    monkeypatch.setattr(campaign, "write_tables", lambda *_: None)
    monkeypatch.setattr(campaign, "write_undisturbed", write_undisturbed)
    assert campaign.campaign([campaign.Job(Path("small"), "a", 1)], 1, 60.0, tmp_path) == []
    assert [file.name for file in tmp_path.iterdir()] == ["part-0.tar"]


def test_a_part_that_cannot_be_written_is_told(tmp_path, monkeypatch, capsys):
    import campaign

    def write_tables(build, models, folder):
        raise OSError("no room")

    monkeypatch.setattr(campaign, "train", lambda job: campaign.Finished(job.variant, b"{}", "", ""))
    monkeypatch.setattr(campaign, "write_tables", write_tables)
    assert campaign.campaign([campaign.Job(Path("small"), "a", 1)], 1, 60.0, tmp_path) == ["part-0"]
    assert "part-0 could not be written" in capsys.readouterr().out


def test_a_campaign_brings_back_votes_as_a_part_of_their_own(tmp_path, capsys):
    import campaign

    for name in ("small", "unvoted"):
        built.build(tmp_path / name)
    catalog = files.read_yaml(tmp_path / "unvoted/plan/catalog.yaml")
    files.write_yaml(tmp_path / "unvoted/plan/catalog.yaml", catalog | {"ensembles": {}})
    campaign.join([tmp_path / "unvoted", tmp_path / "small"], tmp_path)
    assert "small: vote, seed 1: 2 models have voted\n" in capsys.readouterr().out
    with tarfile.open(tmp_path / "joined.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    assert [folder.name for folder in (tmp_path / "joined").iterdir()] == ["small"]
    evidence = tables.read(tmp_path / "joined/small")
    assert evidence.runs[["kind", "variant", "seed"]].values.tolist() == [["ensemble", "vote", 1]]
    assert evidence.runs["dev_sst"].tolist() == [pytest.approx(2 / 3)]


def test_a_campaign_without_votes_has_no_such_part(tmp_path):
    import campaign

    build = built.build(tmp_path / "small")
    catalog = files.read_yaml(build / "plan/catalog.yaml")
    files.write_yaml(build / "plan/catalog.yaml", catalog | {"ensembles": {}})
    campaign.join([build], tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["small"]


def test_a_worker_that_dies_is_replaced_and_its_training_counted_as_failed(tmp_path, monkeypatch, capsys):
    import campaign

    def train(job):
        if job.variant == "dies":
            os._exit(3)
        if job.variant == "fails":
            raise ValueError("an illegal memory access")  # after which the process ends
        return campaign.Finished(job.variant, b"{}", "", str(os.getpid()))

    monkeypatch.setattr(campaign, "train", train)
    monkeypatch.setattr(campaign, "write_tables", lambda *_: None)
    jobs = [campaign.Job(Path("small"), name, 1) for name in ("dies", "fails", "a", "b")]
    assert campaign.campaign(jobs, 1, 60.0, tmp_path) == ["a training whose process died", "small/fails/1"]
    with tarfile.open(tmp_path / "part-0.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    processes = [(tmp_path / f"part-0/logs/small/{name}/1/output.txt").read_text() for name in "ab"]
    assert len({*processes}) == 1
    assert "2 of 4 in" in capsys.readouterr().out


def test_a_campaign_starts_nothing_after_its_limit(tmp_path, monkeypatch):
    import campaign

    monkeypatch.setattr(campaign, "train", lambda job: {})
    assert campaign.campaign([campaign.Job(Path("small"), "a", 1)], 1, -1.0, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_trainings_end_in_the_same_bytes_again_also_killed_twice(tmp_path):
    build = trained.build(tmp_path / "build")
    plan = files.read_yaml(build / "plan/crossed.yaml")
    plan["phases"][0]["epoch_length"] = "30 steps"
    files.write_yaml(build / "plan/crossed.yaml", plan)
    command = [preloaded.python(), "same_bytes.py", str(build), "crossed", "--checkpoint-every", "8"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert re.fullmatch(r"crossed: the same: first (\w{16}), second \1, killed \1\n", done.stdout)


@pytest.mark.parametrize(
    ("variant", "line"), [("unlike", "unlike: different: first"), ("broken", "ended with 1, killed 0")]
)
def test_a_variant_whose_trainings_end_in_other_bytes_or_fail_is_told(tmp_path, monkeypatch, capsys, variant, line):
    import same_bytes

    def train(repetition):
        if repetition.variant == "broken":
            raise ValueError("no such data")
        run = repetition.folder / "run"
        run.mkdir(parents=True)
        (run / "history.csv").write_text(repetition.folder.name)

    monkeypatch.setattr(same_bytes, "train", train)
    monkeypatch.setattr(same_bytes, "KILLS", 0)
    repetitions = same_bytes.repetitions_of(tmp_path, [variant], 1, 1, tmp_path)[variant]
    assert not same_bytes.is_same(variant, repetitions, same_bytes.run_all(repetitions))
    assert line in capsys.readouterr().out


def test_settings_which_name_checkpoints_are_not_compared(tmp_path):
    import same_bytes

    (tmp_path / "history.csv").write_text("1")
    before = same_bytes.digest(tmp_path)
    (tmp_path / "settings.yaml").write_text("checkpoint_every: 8")
    assert same_bytes.digest(tmp_path) == before
    (tmp_path / "history.csv").write_text("2")
    assert same_bytes.digest(tmp_path) != before


def test_parts_for_a_gpu_run_in_order_whatever_becomes_of_one(tmp_path, monkeypatch, capsys):
    import gpu

    def parts_of(out, builds, remaining):
        return {
            "fails": gpu.Part(["-c", "print('seen'); raise SystemExit(3)"], 60.0),
            "hangs": gpu.Part(["-c", "import time; time.sleep(600)"], 0.5),
            "works": gpu.Part(["-c", "print('fine')"], 60.0),
        }

    monkeypatch.setattr(gpu, "parts_of", parts_of)
    monkeypatch.setattr(gpu, "GRACE", 0.1)
    monkeypatch.setattr(sys, "argv", ["gpu.py", str(tmp_path), "build"])
    assert gpu.main() == 1
    seconds = re.compile(r"\d+ s$", re.MULTILINE)
    assert seconds.sub("N s", capsys.readouterr().out).splitlines() == [
        "== fails: exit status 3, N s",
        "== hangs: exit status none within 0.5 s, N s",
        "== works: exit status 0, N s",
    ]
    output = (tmp_path / "output.txt").read_text()
    assert "\nseen\n" in output
    assert "\nfine\n" in output


def test_parts_for_a_gpu_name_options_that_the_programs_have(tmp_path, monkeypatch, capsys):
    import campaign
    import gpu
    import same_bytes
    import steps

    programs = {"steps.py": steps, "campaign.py": campaign, "same_bytes.py": same_bytes}
    for part in gpu.parts_of(tmp_path, [tmp_path / "small"], 300.0).values():
        monkeypatch.setattr(sys, "argv", [*part.arguments, "--no-such-option"])
        with pytest.raises(SystemExit):
            programs[Path(part.arguments[0]).name].main()
        assert capsys.readouterr().err.endswith("error: unrecognized arguments: --no-such-option\n")


def test_both_servers_are_asked_in_turn_and_answer_everything(tmp_path, capsys, monkeypatch):
    import serving

    places = "<!-- serving -->\nold\n<!-- /serving -->\n"
    (tmp_path / "README.md").write_text(places)
    folder = str(served.export(tmp_path / "out"))
    monkeypatch.setattr(serving, "TURNS", 1)
    options = ["--seconds", "0.5", "--clients", "1", "3", "--record", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["serving.py", folder, *options])
    serving.main()
    load = content(tmp_path)["load"]
    asked = [("mtbert serve", 1), ("plain handler", 1), ("mtbert serve", 3), ("plain handler", 3)]
    assert [(row["server"], row["clients"]) for row in load] == asked
    assert all(row["errors"] == 0 and row["requests/s"] > 0 and row["MiB most"] > 10 for row in load)
    assert "old" not in (tmp_path / "README.md").read_text()
