"""`mtbert serve` as a real process: it answers what `mtbert predict` answers, and lives on whatever comes."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import served
from served import Server

from mtbert.inference import exporting, loading
from mtbert.inference.model import Model

REPOSITORY = Path(__file__).parents[2]
ROWS = {
    "texts": ["a man plays a guitar .", "It rains, 42 日本 ☃", "the cat sleeps here " * 20],
    "pairs": [["a man plays .", "someone plays a guitar ." * 20], ["Naïve.", "the same"]],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served.export(tmp_path_factory.mktemp("made") / "out")


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that takes a tenth of a second and more for a batch."""
    return served.export(tmp_path_factory.mktemp("slow") / "out", slow=0.1)


@pytest.fixture
def start() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def started(*arguments: Any, **options: Any) -> Server:
        servers.append(Server(*arguments, **options))
        return servers[-1]

    yield started
    for server in servers:
        server.kill()


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs") / "lines"


@pytest.fixture(scope="module")
def server(made: Path, logs: Path) -> Iterator[Server]:
    with logs.open("w") as stderr:
        running = Server(made, stderr=stderr)
    yield running
    running.kill()


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def number(server: Server, name: str) -> float:
    page = server.get("/metrics").body.decode()
    return sum(float(value) for value in re.findall(rf"(?m)^{re.escape(name)}(?:{{.*}})? (\S+)$", page))


@pytest.fixture(scope="module", params=["typed", "matched"])
def exported(
    request: pytest.FixtureRequest, build: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Model, Path]:
    """A model whose pairs are one sequence with types, and one whose pairs are encoded apart."""
    model = loading.load_any(request.param, build=build, device="cpu")
    folder = tmp_path_factory.mktemp(request.param) / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporting, "_check", lambda *_: None)  # a process of its own, which takes seconds
        exporting.export(model, "onnx", folder)
    return model, folder


def test_it_answers_what_predict_answers(exported: tuple[Model, Path], start: Callable[..., Server]) -> None:
    model, folder = exported
    server = start(folder)
    said = server.predict(texts=ROWS["texts"]).json()
    expected = model.predict(ROWS["texts"], task="sst")
    assert (said["model"], said["seed"]) == (model.name, 1)
    assert [row["cut"] for row in said["rows"]] == expected["cut"].tolist() == [False, False, True]
    for row, (_, ours) in zip(said["rows"], expected.iterrows(), strict=True):
        answer = row["answers"]["sst"]
        probabilities = [ours[f"probability_{label}"] for label in range(5)]
        assert [*answer["probabilities"]] == ["0", "1", "2", "3", "4"]
        assert [*answer["probabilities"].values()] == pytest.approx(probabilities, abs=1e-4)
        assert (answer["label"], answer["name"]) == (f"{ours['prediction']:.0f}", ours["class"])
    said = server.predict(pairs=ROWS["pairs"], tasks=["sts"]).json()
    expected = model.predict([tuple(pair) for pair in ROWS["pairs"]], task="sts")
    assert [row["cut"] for row in said["rows"]] == expected["cut"].tolist() == [True, False]
    scores = [row["answers"]["sts"]["score"] for row in said["rows"]]
    assert scores == pytest.approx(expected["prediction"].tolist(), abs=1e-4)
    assert said["rows"][0]["answers"]["sts"] | {"score": 0} == {"score": 0, "lowest": 0.0, "highest": 5.0}


def test_an_export_has_one_graph_for_all_tasks_that_take_such_rows(exported: tuple[Model, Path]) -> None:
    from onnxruntime import InferenceSession

    model, folder = exported
    pairs = "pairs" if model.name == "typed" else "pairs-apart"
    outputs = {file.stem: [one.name for one in InferenceSession(file).get_outputs()] for file in folder.glob("*.onnx")}
    assert outputs == {"texts": ["sst"], pairs: ["sts"]}
    assert f"`{pairs}.onnx` has the output sts. " in (folder / "README.md").read_text()


def test_one_request_is_answered_by_all_graphs_of_its_form(server: Server) -> None:
    said = server.predict(pairs=[["a", "b"], ["a b c a b c", "a"]]).json()["rows"]
    scores = [{task: answer["score"] for task, answer in row["answers"].items()} for row in said]
    assert scores == [{"same": 219.0, "near": 21.0}, {"same": 236.0, "near": 51.0}]
    assert [row["cut"] for row in said] == [False, True]  # together they are too long, apart they are not


def test_rows_of_different_lengths_keep_their_order(server: Server) -> None:
    texts = ["a b c"[: 1 + 2 * (number % 3)] for number in range(100)]
    said = server.predict(texts=texts, tasks=["tone"]).json()["rows"]
    alone = {text: server.predict(texts=text, tasks=["tone"]).json()["rows"][0] for text in {*texts}}
    assert said == [alone[text] for text in texts]
    assert len({json.dumps(answer) for answer in alone.values()}) == 3


@pytest.mark.parametrize(
    ("body", "status", "fault"),
    [
        (b'{"texts": ["a", ""]}', 422, "the text is empty"),
        (b'{"texts": ' + b"[" * 500_000, 422, "recursion limit exceeded"),
        (b'{"texts": "' + b"a" * 10_000_000 + b'"}', 413, "the body has more than 2,097,152 bytes"),
        (b'{"texts": "a", "tasks": ["same"]}', 422, "same takes pairs, and the request has texts"),
        (b"", 422, "the body is not JSON"),
    ],
)
def test_it_lives_on_after_what_it_refuses(server: Server, body: bytes, status: int, fault: str) -> None:
    reply = server.post(body)
    assert reply.status == status
    assert fault in reply.json()["faults"][0]["fault"]
    assert server.predict(texts="a").status == 200


def test_a_body_without_a_length_is_limited_too(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"%x\r\n%s\r\n" % (2**20, b" " * 2**20)
        connection.sendall(chunk + chunk + b"1\r\n \r\n0\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("headers", [b"Content-Length: 67108865", b"Content-Length: 3000000\r\nExpect: 100-continue"])
def test_a_body_that_is_much_too_large_or_is_not_sent_yet_is_not_waited_for(server: Server, headers: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_connections_that_are_cut_leave_nothing_behind(server: Server) -> None:
    request = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\n\r\n"
    for sent in (b"POST /pre", request, request + b'{"texts"', request + b'{"texts": "a"}', b"\0\xff\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(sent)
    assert server.predict(texts="a").status == 200
    assert number(server, "mtbert_queue_rows") == 0


def test_pages_for_people_and_programs(server: Server) -> None:
    assert server.get("/health").json() == {"status": "ok"}
    assert server.get("/ready").json() == {"ready": True}
    assert server.get("/tasks").json()["tasks"]["spam"]["labels"] == ["no", "yes"]
    assert b"swagger" in server.get("/docs").body
    schema = server.get("/openapi.json").json()["paths"]["/predict"]["post"]
    assert [*schema["requestBody"]["content"]["application/json"]["schema"]["properties"]] == [
        "texts",
        "pairs",
        "tasks",
    ]
    assert {"200", "413", "422", "503"} <= {*schema["responses"]}
    assert server.get("/predict").status == 405
    assert server.get("/nothing").status == 404


def test_metrics_count_requests_rows_and_batches(server: Server) -> None:
    names = ('mtbert_requests_total{path="/predict",status="200"}', "mtbert_rows_total", "mtbert_rows_cut_total")
    before = [number(server, name) for name in names]
    server.predict(texts=["a", "a b c a b c a"], tasks=["tone"])
    assert [number(server, name) for name in names] == [before[0] + 1, before[1] + 2, before[2] + 1]
    assert number(server, "mtbert_batch_rows_sum") >= 2
    assert number(server, 'mtbert_request_seconds_count{path="/predict"}') > 0


def test_logs_are_lines_of_json_without_the_texts(server: Server, logs: Path) -> None:
    server.predict(texts=["a secret text", "another"], tasks=["spam"])
    server.predict(texts=["a secret text", ""], tasks=["a secret task"])
    while len(lines(logs)) < 3:
        time.sleep(0.01)
    assert "secret" not in logs.read_text()
    answered = [line for line in lines(logs) if line.get("rows") == 2 and line["tasks"] == ["spam"]][-1]
    assert {key: answered[key] for key in ("level", "event", "path", "status", "cut")} == {
        "level": "info", "event": "request", "path": "/predict", "status": 200, "cut": 0,
    }  # fmt: skip
    assert lines(logs)[0]["event"] == "ready"


def test_a_full_queue_says_when_to_come_again_and_loses_nothing(slow: Path, start: Callable[..., Server]) -> None:
    server = start(slow, "--queue", "4", "--batch", "2")
    ask = partial(server.predict, texts=["a", "b"], tasks=["spam"])
    with ThreadPoolExecutor(12) as clients:
        replies = [future.result() for future in [clients.submit(ask) for _ in range(12)]]
    refused = [reply for reply in replies if reply.status != 200]
    assert {reply.status for reply in refused} == {503}
    assert {reply.headers["retry-after"] for reply in refused} == {"1"}
    assert "rows wait, and 2 more would be above 4" in refused[0].json()["faults"][0]["fault"]
    assert {reply.body for reply in replies if reply.status == 200} == {ask().body}
    assert 2 <= len(replies) - len(refused) < 12


def test_after_sigterm_what_is_in_flight_is_answered(slow: Path, start: Callable[..., Server]) -> None:
    server = start(slow, "--batch", "1")
    with ThreadPoolExecutor(4) as clients:
        asked = [clients.submit(server.predict, texts=["a", "b"], tasks=["spam"]) for _ in range(4)]
        while number(server, "mtbert_queue_rows") < 5:
            assert not all(each.done() for each in asked)
        status = server.end()
        assert [each.result().status for each in asked] == [200] * 4
    assert status == 0


def test_who_leaves_is_not_waited_for(slow: Path, start: Callable[..., Server]) -> None:
    server = start(slow, "--batch", "1")
    body = json.dumps({"texts": ["a"] * 500, "tasks": ["spam"]}).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        while number(server, "mtbert_queue_rows") < 400:
            time.sleep(0.01)
    while number(server, "mtbert_queue_rows"):
        time.sleep(0.01)
    assert number(server, 'mtbert_requests_total{path="/predict",status="499"}') == 1
    assert server.predict(texts="a", tasks=["spam"]).status == 200


def test_a_worker_that_is_killed_is_replaced(made: Path, tmp_path: Path, start: Callable[..., Server]) -> None:
    with (tmp_path / "lines").open("w") as stderr:
        server = start(made, "--workers", "2", stderr=stderr)

    def ready() -> list[int]:
        return [line["pid"] for line in lines(tmp_path / "lines") if line["event"] == "ready"]

    def answered() -> float:
        return number(server, 'mtbert_requests_total{path="/predict",status="200"}')

    wait_until(lambda: len(ready()) == 2)
    assert server.predict(texts="a").status == 200
    wait_until(lambda: answered() == 1)  # a worker counts an answer after it has gone out
    os.kill(ready()[0], signal.SIGKILL)
    wait_until(lambda: len(ready()) == 3)
    for _ in range(5):
        assert server.predict(texts="a").status == 200
    wait_until(lambda: answered() == 6)  # those of the dead one, too
    assert server.end() == 0


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + served.PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_logs_that_cannot_be_written_are_counted_and_nothing_else_is_lost(
    made: Path, start: Callable[..., Server]
) -> None:
    with open("/dev/full", "w") as stderr:
        server = start(made, stderr=stderr)
    assert server.predict(texts="a").status == 200
    assert number(server, "mtbert_log_lines_lost") >= 2
    assert server.end() == 0


def test_a_port_that_is_taken_and_a_damaged_folder_are_said_in_a_line(
    made: Path, server: Server, tmp_path: Path
) -> None:
    taken = ended("serve", str(made), "--port", str(server.port))
    assert (taken.returncode, taken.stdout) == (1, "")
    assert (
        f"error: port {server.port} is taken by another program; --port {server.port + 1} takes another" in taken.stderr
    )
    shutil.copytree(made, tmp_path / "out")
    os.truncate(tmp_path / "out/texts.onnx", 100)
    damaged = ended("serve", str(tmp_path / "out"), "--port", "0", "--workers", "2")
    assert (damaged.returncode, damaged.stdout) == (1, "")
    assert "out/texts.onnx is not as it was exported: its SHA-256 is " in damaged.stderr
    assert damaged.stderr.count("\n") == 1


def ended(*arguments: str) -> subprocess.CompletedProcess[str]:

    command = [sys.executable, "-c", served.MTBERT, *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def engine() -> str | None:
    """Docker or Podman, where it works."""
    for name in ("docker", "podman"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    return None


def test_the_image_of_an_export_answers_without_root_and_without_a_writable_disk(made: Path) -> None:
    if (program := engine()) is None:
        pytest.skip("neither Docker nor Podman runs here: the image was not built")
    build = [program, "build", "-q", "--build-context", f"export={made}", "."]
    image = subprocess.run(build, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.strip()
    run = [program, "run", "-d", "--rm", "--read-only", "--cap-drop", "ALL", "-p", "127.0.0.1::8000", image]
    container = subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
    try:
        address = subprocess.run([program, "port", container, "8000"], capture_output=True, text=True, check=True)
        server = Server.__new__(Server)
        server.port = int(address.stdout.split()[0].rpartition(":")[2])
        wait_until(server._is_ready)
        assert server.predict(texts="a").status == 200
        user = subprocess.run([program, "exec", container, "id", "-u"], capture_output=True, text=True, check=True)
        assert user.stdout == "65532\n"
    finally:
        subprocess.run([program, "kill", container], capture_output=True, check=False)
