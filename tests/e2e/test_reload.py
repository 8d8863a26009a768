"""Files that change under a running server, and pauses."""

import json
import signal

from clockwork import covered, decided, schedule, series, slots, tick
from eider import wait_for

GOOD = """
    schedules: [{ id: s, cron: "* * * * *" }]
    steps: [{ id: s, run: ["true"] }]
"""


def hang_up(server):
    """Reload on SIGHUP, awaited."""
    before = server.output().count("reloaded:")
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: server.output().count("reloaded:") == before + 1, "the files are read again")


def reports(server, file):
    return sum(f"{file}:" in line for line in server.output().splitlines())


def test_one_bad_file_breaks_nothing_else(workspace):
    """O-36: fifty good schedules fire on, whatever is wrong beside them; each fault is told once, with its place."""
    names = [f"g{number:02}" for number in range(50)]
    for name in names:
        workspace.pipeline(name, GOOD)
    good_text = (workspace.root / "pipelines" / "g00.yaml").read_text()
    workspace.pipeline("bad", GOOD.replace("* * * * *", "61 * * * *"))
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    assert reports(server, "bad.yaml") == 1
    tick(server, "30s")
    hang_up(server)
    hang_up(server)
    assert reports(server, "bad.yaml") == 1, "told once, not at each look"
    status = server.get("/api/v1/status")
    assert status["broken_files"] == 1 and status["pipelines"] == 50
    [diagnostic] = status["diagnostics"]
    assert diagnostic["file"] == "pipelines/bad.yaml" and diagnostic["severity"] == "error" and "61" in diagnostic["message"]
    assert diagnostic["text"].startswith(f"pipelines/bad.yaml:{diagnostic['line']}:{diagnostic['column']}: error: ")
    [told] = json.loads(workspace.cli("validate", "--json", expect=2).stdout)["diagnostics"]
    assert told == diagnostic, "one shape, whoever says it"

    workspace.pipeline("bad", GOOD.replace("* * * * *", ""))
    hang_up(server)
    assert reports(server, "bad.yaml") == 2, "another fault is news"
    tick(server, "1m")

    (workspace.root / "pipelines" / "g00.yaml").write_text(good_text[:len(good_text) // 2])
    hang_up(server)
    assert reports(server, "g00.yaml") >= 1
    assert server.get("/api/v1/status")["broken_files"] == 2
    tick(server, "1m")

    (workspace.root / "pipelines" / "g00.yaml").write_text(good_text)
    workspace.pipeline("bad", GOOD)
    hang_up(server)
    assert server.get("/api/v1/status")["diagnostics"] == []
    tick(server, "1m")
    minutes = series("2026-01-01T10:01:00Z", 4)
    for name in names:
        rows = server.occurrences(f"{name}/s")
        assert covered(rows) == minutes and {row["decision"] for row in rows} == {"run"}, name
    assert slots(server.runs("bad")) == minutes[-1:], "a schedule starts from when it is good"


def test_a_broken_settings_file_keeps_the_old_settings(workspace):
    """O-36: eider.yaml counts for all, so while it is wrong everything stays as it was."""
    workspace.pipeline("tick", GOOD)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    workspace.write("eider.yaml", "workers: { max: many }\n")
    workspace.pipeline("new", GOOD)
    hang_up(server)
    assert any("eider.yaml:1" in one["text"] for one in server.get("/api/v1/status")["diagnostics"])
    tick(server, "30s")
    assert slots(server.runs()) == ["2026-01-01T10:01:00Z"]
    workspace.write("eider.yaml", "workers: { max: 2 }\n")
    hang_up(server)
    assert server.get("/api/v1/status")["max_workers"] == 2
    tick(server, "1m")
    assert sorted(run["pipeline"] for run in server.runs()) == ["new", "tick", "tick"]
    server.kill()
    workspace.write("eider.yaml", "workers: { max: many }\n")
    refused = workspace.cli("serve", expect=2)
    assert "eider.yaml:1" in refused.stderr, refused.stderr


def test_sighup_takes_changed_rules_from_now(workspace):
    """A rule that was changed starts from the change: its past is not made up, and the old rule's is not repeated."""
    workspace.pipeline("p", GOOD)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    tick(server, "30s")
    workspace.pipeline("p", GOOD.replace("* * * * *", "*/10 * * * *"))
    workspace.pipeline("q", GOOD)
    server.advance("5s")
    hang_up(server)
    assert schedule(server, "p/s")["next"] == "2026-01-01T10:10:00Z"
    assert schedule(server, "q/s")["next"] == "2026-01-01T10:02:00Z"
    tick(server, "55s")
    (workspace.root / "pipelines" / "q.yaml").unlink()
    hang_up(server)
    tick(server, "1m", 8)
    assert slots(server.runs("p")) == ["2026-01-01T10:01:00Z", "2026-01-01T10:10:00Z"]
    assert slots(server.runs("q")) == ["2026-01-01T10:02:00Z"], "its history stays"


def test_a_removed_pipeline_ends_what_it_queued(workspace):
    """A queued run whose pipeline is gone is cancelled with that reason; a running one ends as it ends."""
    workspace.pipeline("p", "steps: [{ id: s, run: [sh, -c, \"until test -e go; do sleep 0.05; done\"] }]\n")
    server = workspace.serve()
    running = server.start("p")
    queued = server.start("p", queue=True)
    server.wait_running(running)
    (workspace.root / "pipelines" / "p.yaml").unlink()
    workspace.cli("reload", expect=0)
    assert server.wait_end(queued)["reason"] == "PipelineRemoved"
    (workspace.root / "go").touch()
    assert server.wait_end(running)["state"] == "succeeded"


def test_a_pause_outlives_its_server(workspace):
    """Instants while paused are not missed: one row covers them, and the schedule goes on from the resume."""
    workspace.pipeline("p", GOOD)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    tick(server, "30s")
    workspace.cli("schedule", "pause", "p/s", "--note", "the source is down", expect=0)
    tick(server, "1m", 2)
    server.kill()
    server = workspace.serve("--test-clock", "2026-01-01T10:30:00Z")
    shown = schedule(server, "p/s")
    assert shown["paused"] and shown["note"] == "the source is down" and shown["next"] is None
    tick(server, "1m", 2)
    hang_up(server)
    assert schedule(server, "p/s")["paused"], "a reload is no resume"
    assert slots(server.runs("p")) == ["2026-01-01T10:01:00Z"]
    workspace.cli("schedule", "resume", "p/s", expect=0)
    assert schedule(server, "p/s")["next"] == "2026-01-01T10:33:00Z"
    tick(server, "1m")
    rows = server.occurrences("p/s")
    assert [row["decision"] for row in rows] == ["run", "paused", "run"]
    assert decided(rows, "paused")[0]["count"] == 31
    assert covered(rows) == series("2026-01-01T10:01:00Z", 33)
    assert slots(server.runs("p")) == ["2026-01-01T10:01:00Z", "2026-01-01T10:33:00Z"]
