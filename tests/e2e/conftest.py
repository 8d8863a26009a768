"""Fixtures of the black-box tests: a workspace in a temporary folder, and servers on it that are ended by process id."""

import pytest

from eider import Workspace


@pytest.fixture
def workspace(tmp_path):
    """An empty workspace; every server and worker of it is ended afterwards."""
    made = Workspace(tmp_path / "w")
    yield made
    made.close()


@pytest.fixture
def make_workspace(tmp_path):
    """Makes further workspaces: make_workspace("name")."""
    made = []

    def make(name):
        made.append(Workspace(tmp_path / name))
        return made[-1]

    yield make
    for one in made:
        one.close()
