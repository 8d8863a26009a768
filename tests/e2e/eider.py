"""What black-box tests drive the built program with: its commands, and its API over the workspace's socket.

Nothing here knows the inside of Eider. Waiting is always for a condition, with a limit: see wait_for(). Time-dependent
tests give the server a clock that stands still and turn it (Server.advance, Server.step_to).
"""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import textwrap
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("EIDER_PROGRAM", ROOT / "build" / "eider")).resolve()
# Sanitizer builds are several times slower; a limit is a bound on a hang, never a measurement.
SLOWER = 5 if "san" in str(PROGRAM) else 1
LIMIT_S = 60 * SLOWER
TERMINAL = ("succeeded", "failed", "cancelled")


def wait_for(condition, what, limit_s=LIMIT_S, every_s=0.02):
    """The first true value of condition(); fails with `what` after the limit."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit_s} s: {what}")
        time.sleep(every_s)


class ApiError(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        folder, name = os.path.split(self._path)
        # The path of a socket holds 107 bytes at most; by way of the folder's descriptor any path is reached.
        fd = os.open(folder, os.O_PATH)
        try:
            self.sock.connect(f"/proc/self/fd/{fd}/{name}")
        finally:
            os.close(fd)


class Server:
    """One `eider serve`. Killed with SIGKILL when the test ends, if it still runs."""

    def __init__(self, workspace, *options, env=None):
        self.workspace = workspace
        self.output_path = workspace.root / f"serve-{len(workspace.servers)}.txt"
        self._output = open(self.output_path, "wb")
        self.process = subprocess.Popen(
            [str(PROGRAM), "-w", str(workspace.root), "serve", *options],
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})}, start_new_session=True)
        workspace.servers.append(self)

    def output(self):
        return self.output_path.read_text(errors="replace")

    def ready(self):
        def answers():
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}: {self.output()}")
            try:
                # A server that was killed leaves its socket file; only an answer of this process counts.
                return self.get("/api/v1/status")["pid"] == self.process.pid
            except (OSError, http.client.HTTPException, ApiError):
                return False

        wait_for(answers, "the server answers")
        return self

    # ---- API ---------------------------------------------------------------------------------------------------

    def request(self, method, path, body=None, headers=None, timeout=60):
        connection = UnixConnection(str(self.workspace.root / ".eider" / "eider.sock"), timeout)
        try:
            send = {"Content-Type": "application/json", **(headers or {})} if body is not None else (headers or {})
            connection.request(method, path, json.dumps(body) if body is not None else None, send)
            answer = connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        finally:
            connection.close()

    def call(self, method, path, body=None, headers=None):
        status, text, _ = self.request(method, path, body, headers)
        value = json.loads(text) if text else None
        if status >= 400:
            raise ApiError(status, value)
        return value

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body=None, headers=None):
        return self.call("POST", path, {} if body is None else body, headers)

    def items(self, path):
        """All pages of a list, newest first."""
        found, cursor = [], None
        while True:
            page = self.get(path + ("&" if "?" in path else "?") + "limit=1000" + (f"&cursor={cursor}" if cursor else ""))
            found += page["items"]
            cursor = page["next"]
            if not cursor:
                return found

    def start(self, pipeline, **more):
        return self.post("/api/v1/runs", {"pipeline": pipeline, **more})["id"]

    def run(self, run_id):
        return self.get(f"/api/v1/runs/{run_id}")

    def runs(self, pipeline=None):
        """Oldest first."""
        return self.items("/api/v1/runs" + (f"?pipeline={pipeline}" if pipeline else ""))[::-1]

    def occurrences(self, schedule):
        """Oldest first."""
        return self.items(f"/api/v1/occurrences?schedule={schedule}")[::-1]

    def materialize(self, asset, key=None, **facts):
        """Something outside has made the asset; the id of the event."""
        headers = {"Idempotency-Key": key} if key else None
        return self.post(f"/api/v1/assets/{asset}/materializations", facts, headers)["id"]

    def events(self, asset):
        """Materializations of an asset, oldest first."""
        return self.items(f"/api/v1/materializations?asset={asset}")[::-1]

    def deliveries(self, trigger):
        """In the order of their events."""
        return self.items(f"/api/v1/deliveries?trigger={trigger}")[::-1]

    def log(self, run_id, **query):
        ask = "&".join(f"{name}={value}" for name, value in query.items())
        status, text, _ = self.request("GET", f"/api/v1/runs/{run_id}/logs" + (f"?{ask}" if ask else ""))
        assert status == 200, text
        return [json.loads(line) for line in text.splitlines() if line]

    def wait_state(self, run_id, *states, limit_s=LIMIT_S):
        return wait_for(lambda: (lambda run: run if run["state"] in states else None)(self.run(run_id)),
                        f"run {run_id} is {' or '.join(states)}; it is {self.run(run_id)['state']}", limit_s)

    def wait_end(self, run_id, limit_s=LIMIT_S):
        return self.wait_state(run_id, *TERMINAL, limit_s=limit_s)

    def wait_running(self, run_id):
        """Its first step has started."""
        return wait_for(lambda: (lambda run: run if run["state"] == "running" and
                                 any(step["outcome"] is None for step in run["steps"]) else None)(self.run(run_id)),
                        f"run {run_id} runs a step")

    # ---- clock -------------------------------------------------------------------------------------------------

    def advance(self, duration):
        """Time passes on the server's test clock ("90s"); returns when what was due has been decided."""
        return self.post("/api/v1/test/clock", {"advance": duration})["now"]

    def step_to(self, instant):
        """Somebody sets the server's test clock."""
        return self.post("/api/v1/test/clock", {"step_to": instant})["now"]

    # ---- ends --------------------------------------------------------------------------------------------------

    def kill(self):
        """SIGKILL to the server alone; its workers live on."""
        self.process.kill()
        self.process.wait()
        self._output.close()

    def stop(self, limit_s=LIMIT_S):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(limit_s)
        self._output.close()
        return self.process.returncode


class Workspace:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.root.mkdir(parents=True)
        self.servers = []
        self.write("eider.yaml", "workers: { max: 4 }\n")
        (self.root / "pipelines").mkdir()

    def write(self, path, text, executable=False):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text))
        if executable:
            target.chmod(0o755)
        return target

    def pipeline(self, name, text):
        """pipelines/NAME.yaml; `pipeline: NAME` is put before the text."""
        return self.write(f"pipelines/{name}.yaml", f"pipeline: {name}\n" + textwrap.dedent(text))

    def start(self, *options, env=None):
        """A server that may or may not come up."""
        return Server(self, *options, env=env)

    def serve(self, *options, env=None):
        return self.start(*options, env=env).ready()

    def cli(self, *arguments, expect=None, limit_s=LIMIT_S * 4, **more):
        """Runs a command on the workspace; `expect` is its exit code."""
        done = subprocess.run([str(PROGRAM), "-w", str(self.root), *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=limit_s, **more)
        if expect is not None:
            assert done.returncode == expect, f"eider {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def begin(self, *arguments):
        """A command that is not waited for."""
        return subprocess.Popen([str(PROGRAM), "-w", str(self.root), *arguments], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def json(self, *arguments):
        return json.loads(self.cli(*arguments, "--json", expect=0).stdout)

    def processes(self):
        """Process ids of servers, workers and steps of this workspace: whatever has its folder as its own."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                cwd = os.readlink(entry / "cwd")
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            inside = cwd == str(self.root) or cwd.startswith(f"{self.root}/")
            if inside or str(self.root).encode() in command:
                found.append(int(entry.name))
        return found

    def workers(self):
        return [pid for pid in self.processes() if b"\0worker\0" in read_command(pid)]

    def kill_all(self):
        """The power cut: everything of this workspace dies at once."""
        for _ in range(200):
            left = self.processes()
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)
        for server in self.servers:
            server.process.wait()

    def close(self):
        self.kill_all()
        for server in self.servers:
            if not server._output.closed:
                server._output.close()


def read_command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def process_exists(pid):
    """True for a process that lives: a zombie has ended."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def group_members(pgid):
    """Process ids of a process group that live."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and process_exists(int(entry.name)):
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[2]) == pgid:
                found.append(int(entry.name))
    return found
