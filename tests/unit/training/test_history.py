"""What happened step by step."""

from pathlib import Path

from mtbert.training.history import History

Heard = list[tuple[int, dict[str, float]]]


def recorded(every: int) -> tuple[History, Heard]:
    heard: Heard = []
    return History(every, lambda step, values: heard.append((step, values))), heard


def test_losses_are_averaged_between_entries_task_by_task():
    record, heard = recorded(every=2)
    record.loss("sst", 4.0)
    record.loss("sst", 2.0)
    assert [record.is_due(step) for step in (1, 2, 3, 4)] == [False, True, False, True]
    record.loss("sst", 3.0)
    record.loss("qqp", 0.5)
    values = {"loss/qqp": 0.5, "loss/sst": 3.0, "learning_rate": 0.2}
    assert record.log(phase=1, step=2, learning_rate=0.2, more={}) == values
    assert heard == [(2, values)]
    assert record.rows == [(1, 2, "loss/qqp", 0.5), (1, 2, "loss/sst", 3.0), (1, 2, "learning_rate", 0.2)]


def test_the_file(tmp_path: Path):
    record, _ = recorded(every=1)
    record.loss("sst", 0.25)
    record.log(1, 1, 2e-05, {})
    record.add(1, 1, {"dev/sst": 0.5})
    record.write(tmp_path / "history.csv")
    assert (tmp_path / "history.csv").read_bytes() == (
        b"phase,step,name,value\n1,1,loss/sst,0.25\n1,1,learning_rate,2e-05\n1,1,dev/sst,0.5\n"
    )
