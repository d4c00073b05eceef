"""The application in this process, with a browser that is only a client of HTTP."""

import numpy as np
import pytest
from app_client import HOST, ORIGIN, TOKEN
from starlette.testclient import TestClient

import ngmca
from ngmca.app.web_application import application


@pytest.fixture
def start(tmp_path):
    """The folder that the page may open files in, with a small table."""
    folder = tmp_path / "data"
    folder.mkdir()
    Y = ngmca.simulate.spectra(m=12, n=200, r=2, lines=4, snr=25, seed=1).Y
    rows = {f"tube {i}": row for i, row in enumerate(Y)}
    ngmca.io.write_table(folder / "tubes.csv", {"ppm": np.linspace(9, 1, 200).round(6)} | rows)
    return folder


@pytest.fixture
def app(tmp_path, start):
    return application(start, tmp_path / "sessions", TOKEN, (HOST, "localhost:8000"))


@pytest.fixture
def stranger(app):
    """A client without the token."""
    with TestClient(app, base_url=f"http://{HOST}", follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(stranger):
    """A client that has opened the address with the token."""
    assert stranger.get(f"/?token={TOKEN}").status_code == 303
    stranger.headers.update(ORIGIN)
    return stranger


@pytest.fixture
def opened(client):
    """The address of a new session with the table."""
    return client.post("/open", data={"path": "tubes.csv"}).headers["location"]
