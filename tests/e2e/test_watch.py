"""Watched folders: each file that lands is one event and one run, whole, whoever dies meanwhile."""

import json
import os
import shutil

import pytest

from eider import wait_for

SETTINGS = """
    workers: { max: 4 }
    assets:
      raw.up: { watch: incoming, files: "*.csv", settle: 50ms }
"""
# Each run notes the file that its event names, with what was in it.
CONSUMER = """
    triggers: [{ id: on_up, assets: raw.up }]
    steps:
      - id: note
        run:
          - python3
          - -c
          - |
            import json, os
            for event in json.load(open(os.environ["EIDER_EVENTS"])):
                name = event["metadata"]["file"]
                with open("noted", "a") as noted:
                    noted.write(json.dumps([name, open(name).read()]) + "\\n")
"""


@pytest.fixture
def watched(workspace):
    workspace.write("eider.yaml", SETTINGS)
    workspace.pipeline("load", CONSUMER)
    (workspace.root / "incoming").mkdir()
    (workspace.root / "outside").mkdir()
    return workspace


def noted(workspace):
    path = workspace.root / "noted"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_noted(workspace, *expected):
    """These files, each once, in any order."""
    want = sorted([f"incoming/{name}", content] for name, content in expected)
    wait_for(lambda: len(noted(workspace)) >= len(want), f"{want} are noted")
    assert sorted(noted(workspace)) == want


def all_delivered(server, count):
    def look():
        deliveries = server.deliveries("load/on_up")
        assert len(deliveries) <= count, deliveries
        return len(deliveries) == count and all(one["state"] == "delivered" for one in deliveries)

    wait_for(look, f"{count} deliveries are delivered")


def test_a_file_that_is_copied_in_is_one_event_and_one_run(watched):
    server = watched.serve()
    source = watched.write("outside/a.csv", "one\n")
    shutil.copy(source, watched.root / "incoming/a.csv")
    wait_noted(watched, ("a.csv", "one\n"))
    [event] = server.events("raw.up")
    assert event["bytes"] == 4 and not event["run_id"]
    # A copy that keeps the time of its original is a file like any other.
    shutil.copy2(source, watched.root / "incoming/b.csv")
    wait_noted(watched, ("a.csv", "one\n"), ("b.csv", "one\n"))
    # What is not meant, then one that is: only that is new.
    watched.write("incoming/notes.txt", "no")
    watched.write("incoming/.hidden.csv", "no")
    watched.write("incoming/deeper/x.csv", "no")
    watched.write("incoming/c.csv", "two\n")
    all_delivered(server, 3)


def test_a_slow_writer_is_waited_for(watched):
    server = watched.serve()
    with open(watched.root / "incoming/slow.csv", "w") as slow:
        slow.write("half")
        slow.flush()
        watched.write("incoming/quick.csv", "whole")
        wait_noted(watched, ("quick.csv", "whole"))
        slow.write(" and half")
        slow.flush()
        watched.write("incoming/again.csv", "whole")
        wait_noted(watched, ("quick.csv", "whole"), ("again.csv", "whole"))
    wait_noted(watched, ("quick.csv", "whole"), ("again.csv", "whole"), ("slow.csv", "half and half"))
    all_delivered(server, 3)


def test_a_writer_is_waited_for_across_a_restart_of_the_server(watched):
    server = watched.serve()
    with open(watched.root / "incoming/slow.csv", "w") as slow:
        slow.write("half")
        slow.flush()
        server.kill()
        server = watched.serve()
        watched.write("incoming/quick.csv", "whole")
        wait_noted(watched, ("quick.csv", "whole"))
        slow.write(" and half")
    wait_noted(watched, ("quick.csv", "whole"), ("slow.csv", "half and half"))


def test_a_rename_is_a_landing(watched):
    server = watched.serve()
    watched.write("incoming/x.csv.part", "first")
    os.rename(watched.root / "incoming/x.csv.part", watched.root / "incoming/x.csv")
    wait_noted(watched, ("x.csv", "first"))
    watched.write("outside/x.csv", "second")
    os.rename(watched.root / "outside/x.csv", watched.root / "incoming/x.csv")
    wait_noted(watched, ("x.csv", "first"), ("x.csv", "second"))
    all_delivered(server, 2)


def test_a_folder_that_is_removed_and_made_again(watched):
    server = watched.serve()
    shutil.rmtree(watched.root / "incoming")
    wait_for(lambda: "the folder incoming is gone" in server.output(), "it is said")
    (watched.root / "incoming").mkdir()
    watched.write("incoming/a.csv", "back")
    wait_noted(watched, ("a.csv", "back"))
    wait_for(lambda: "the folder incoming is watched" in server.output(), "it is said")
    assert server.output().count("the folder incoming is gone") == 1
    assert server.get("/api/v1/status")["health"] == "ok"


def test_what_lands_while_no_server_runs_is_found_and_nothing_twice(watched):
    server = watched.serve()
    watched.write("incoming/a.csv", "1")
    wait_noted(watched, ("a.csv", "1"))
    all_delivered(server, 1)
    server.kill()
    watched.write("incoming/b.csv", "2")
    server = watched.serve()
    wait_noted(watched, ("a.csv", "1"), ("b.csv", "2"))
    all_delivered(server, 2)
    server.post("/api/v1/reload")
    server.stop()
    server = watched.serve()
    watched.write("incoming/c.csv", "3")
    wait_noted(watched, ("a.csv", "1"), ("b.csv", "2"), ("c.csv", "3"))
    all_delivered(server, 3)


def test_the_same_again_is_nothing_new_and_other_content_is(watched):
    server = watched.serve()
    path = watched.write("incoming/a.csv", "1")
    wait_noted(watched, ("a.csv", "1"))
    os.rename(path, watched.root / "outside/a.csv")
    os.rename(watched.root / "outside/a.csv", path)
    watched.write("incoming/b.csv", "2")
    wait_noted(watched, ("a.csv", "1"), ("b.csv", "2"))
    path.write_text("11")
    wait_noted(watched, ("a.csv", "1"), ("b.csv", "2"), ("a.csv", "11"))
    all_delivered(server, 3)


def test_a_folder_is_watched_and_left_at_a_reload(watched):
    watched.write("eider.yaml", "assets: { raw.up: }\n")
    watched.write("incoming/early.csv", "0")
    server = watched.serve()
    watched.write("eider.yaml", SETTINGS)
    server.post("/api/v1/reload")
    wait_noted(watched, ("early.csv", "0"))
    watched.write("eider.yaml", SETTINGS.replace("incoming", "outside"))
    server.post("/api/v1/reload")
    watched.write("incoming/late.csv", "1")
    watched.write("outside/other.csv", "2")
    wait_for(lambda: len(noted(watched)) == 2, "the file in the other folder")
    assert noted(watched)[1] == ["outside/other.csv", "2"]


def test_many_files_delay_nobody(watched):
    watched.pipeline("load", """
        triggers: [{ id: on_up, assets: raw.up, debounce: 200ms }]
        steps: [{ id: count, run: ["true"] }]
    """)
    watched.pipeline("tick", """
        schedules: [{ id: often, every: 200ms }]
        steps: [{ id: s, run: ["true"] }]
    """)
    for number in range(5000):
        (watched.root / f"incoming/f{number}.csv").write_text("x")
    server = watched.serve()
    wait_for(lambda: len(server.events("raw.up")) == 5000, "each is an event")
    late = [one for one in server.occurrences("tick/often") if one["decision"] == "missed"]
    assert not late
