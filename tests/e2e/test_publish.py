"""Published files: an attempt that publishes nothing has failed, and what it staged does not stay."""

from eider import wait_for


def names(workspace, folder="out"):
    return sorted(path.name for path in (workspace.root / folder).iterdir())


def staged_lists(workspace):
    folder = workspace.root / ".eider/staged"
    return list(folder.iterdir()) if folder.exists() else []


def wait_until_clean(workspace, *left):
    wait_for(lambda: names(workspace) == list(left) and not staged_lists(workspace), "nothing staged is left")


def test_a_target_that_cant_be_replaced_fails_the_run(workspace):
    workspace.pipeline("p", """
        retry: { max_attempts: 2, backoff: 10ms }
        steps: [{ id: s, shell: true, run: "echo x > $EIDER_OUT_ONE; echo x > $EIDER_OUT_TWO" }]
        publishes: [{ asset: a.one, path: out/one }, { asset: a.two, path: out/isdir }]
    """)
    (workspace.root / "out/isdir").mkdir(parents=True)
    ended = workspace.cli("run", "p", expect=1)
    assert "a folder lies there" in ended.stdout + ended.stderr
    [run] = workspace.json("runs", "list")["items"]
    run = workspace.json("runs", "show", run["id"])
    assert run["state"] == "failed"
    assert [attempt["outcome"] for attempt in run["attempts"]] == ["failed", "failed"]
    assert "a folder lies there" in run["error"]
    assert names(workspace) == ["isdir"] and not staged_lists(workspace)


def test_what_a_killed_worker_staged_goes(workspace):
    workspace.pipeline("p", """
        steps: [{ id: s, shell: true, run: "echo half > $EIDER_OUT_ONE; mkdir $EIDER_OUT_TWO; touch $EIDER_OUT_TWO/half; kill -9 $PPID" }]
        publishes: [{ asset: a.one, path: out/one }, { asset: a.two, path: out/two }]
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "failed" and run["attempts"][0]["outcome"] == "crashed"
    wait_until_clean(workspace)


def test_what_is_staged_survives_a_restart_and_goes_with_its_run(workspace):
    workspace.pipeline("p", """
        steps: [{ id: s, shell: true, run: "echo $EIDER_ATTEMPT > $EIDER_OUT_ONE; until test -e go; do sleep 0.05; done" }]
        publishes: [{ asset: a.one, path: out/one }]
    """)
    server = workspace.serve()
    run_id = server.start("p")
    staged = f".one.{run_id}."
    wait_for(lambda: (workspace.root / "out").exists() and f"{staged}1.tmp" in names(workspace), "it is staged")
    workspace.kill_all()
    assert f"{staged}1.tmp" in names(workspace)
    server = workspace.serve()
    wait_for(lambda: f"{staged}2.tmp" in names(workspace), "the second attempt staged its own")
    (workspace.root / "go").touch()
    assert server.wait_end(run_id)["state"] == "succeeded"
    wait_until_clean(workspace, "one")
    assert (workspace.root / "out/one").read_text() == "2\n"
