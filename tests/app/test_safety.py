"""What the page refuses: other sites, wrong names, no token, other files, markup, exploding archives."""

import json
import os
import zipfile
from html.parser import HTMLParser

import numpy as np
import pytest
from app_client import HOST, TOKEN

import ngmca
from ngmca.app.guard import POLICY, POLICY_OF_REPORTS

ADDRESSES = ("/", "/static/page.css", "/plotly.js", "/s/20260101-000000-00000000", "/nothing")


@pytest.mark.parametrize("address", ADDRESSES)
def test_without_a_token_nothing_is_shown(stranger, address):
    answer = stranger.get(address)
    assert answer.status_code == 401
    assert "tubes" not in answer.text


@pytest.mark.parametrize("token", ["", "a", TOKEN[:-1], TOKEN + "x", TOKEN.upper()])
def test_a_wrong_token_is_none(stranger, token):
    assert stranger.get("/", params={"token": token}).status_code == 401
    stranger.cookies.set("ngmca-8000", token)
    assert stranger.get("/").status_code == 401


def test_the_token_opens_the_page_and_leaves_the_address(stranger):
    answer = stranger.get(f"http://{HOST}//evil.test/x?token={TOKEN}&path=a")
    assert answer.headers["location"] == "/evil.test/x?path=a"  # not another server
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert stranger.get("/").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.test", f"evil.test@{HOST}", "127.0.0.1", "127.0.0.1:9", "", f"{HOST}.evil.test"]
)
def test_another_host_is_refused(client, host):
    """A name of an attacker that points to this machine would otherwise pass as its own page."""
    assert client.get("/", headers={"Host": host}).status_code == 421
    assert client.get("/", headers={"Host": HOST.upper()}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.test", "null", "", f"http://{HOST}.evil.test", f"http://evil.test:{HOST}"]
)
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_another_origin_changes_nothing(client, tmp_path, method, origin):
    session = "20260101-000000-00000000"
    for address in ("/open", "/upload", f"/upload/{session}", f"/s/{session}/files"):
        answer = client.request(method, address, headers={"Origin": origin}, data={"path": "tubes.csv"})
        assert answer.status_code == 403
    assert list((tmp_path / "sessions").iterdir()) == []


def test_every_answer_has_a_policy_without_inline_scripts(client, opened):
    for address in ("/", opened, "/static/session.js", "/nothing", f"{opened}/runs"):
        headers = client.get(address).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
    scripts = next(one for one in POLICY.split("; ") if one.startswith("script-src"))
    assert scripts == "script-src 'self'"
    assert POLICY_OF_REPORTS.startswith("sandbox ")
    assert "allow-same-origin" not in POLICY_OF_REPORTS
    for address in ("/", opened):
        page = client.get(address, headers={"Accept": "text/html"}).text
        assert " onclick=" not in page
        assert "<script>" not in page


@pytest.fixture
def secret(tmp_path, start):
    """A file outside of the start folder, and links to it and to its folder inside."""
    path = tmp_path / "secret.csv"
    path.write_text("ppm,a\n1,2\n2,3\n3,4\n")
    (start / "link.csv").symlink_to(path)
    (start / "folder").symlink_to(tmp_path)
    return path


@pytest.mark.parametrize(
    "path",
    [
        "../secret.csv",
        "{}/secret.csv",
        "link.csv",
        "folder/secret.csv",
        "folder",
        "..",
        "/etc/passwd",
        "a\0b",
    ],
)
def test_paths_that_lead_elsewhere_are_refused(client, secret, tmp_path, path):
    path = path.format(tmp_path)
    answer = client.post("/open", data={"path": path})
    assert answer.status_code == 400
    assert "outside of" in answer.json()["error"] or "cannot be that of a file" in answer.json()["error"]
    assert client.get("/", params={"path": path}).status_code == 400


def test_links_that_lead_elsewhere_are_not_listed(client, secret):
    page = client.get("/").text
    assert "tubes.csv" in page
    assert "link.csv" not in page
    assert "folder" not in page.split("<ul")[1].split("</ul>")[0]


@pytest.mark.parametrize("field", ["known_sources", "standards", "library", "noise", "closure", "rows"])
def test_settings_that_name_a_file_elsewhere_are_refused(client, opened, secret, field):
    for path in (str(secret), "../secret.csv", "link.csv"):
        answer = client.post(f"{opened}/settings", data={field: path})
        assert answer.status_code == 400, path
        assert "outside of" in answer.json()["error"]


@pytest.mark.parametrize("name", ["../x.csv", "/etc/x", "a/../../x", "..\\x", ".hidden", "", "a" * 300])
def test_names_of_dropped_files_stay_in_their_folder(client, tmp_path, name):
    session = client.post("/upload").json()["session"]
    for address in (f"/upload/{session}", f"/s/{session}/files"):
        answer = client.put(address, params={"name": name}, content=b"1")
        assert answer.status_code == 400
    files = [one for one in (tmp_path / "sessions").rglob("*") if one.is_file()]
    assert files == []
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize("name", ["..", "..%2f..%2fdata", "x", "20260101-000000-00000000"])
def test_names_of_sessions_lead_nowhere_else(client, start, name):
    for address in (f"/s/{name}/delete", f"/s/{name}/undo"):
        assert client.post(address).status_code in (400, 404)
    assert (start / "tubes.csv").exists()


@pytest.mark.parametrize("name", ["../run.toml", "..%2f..%2frun.toml", "private.txt", "%2fetc%2fpasswd"])
def test_only_files_of_the_result_are_handed_out(client, opened, tmp_path, name):
    result = tmp_path / "sessions" / opened.split("/")[-1] / "runs" / "1" / "result"
    result.mkdir(parents=True)
    (result / "sources.csv").write_text("good")
    (result / "private.txt").write_text("of somebody else")
    assert client.get(f"{opened}/runs/1/files/sources.csv").text == "good"
    assert client.get(f"{opened}/runs/1/files/{name}").status_code in (400, 404, 405)


class _Tags(HTMLParser):
    """All tags of a page, and whether an attribute could run code."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        assert not [name for name, _ in attributes if name.startswith("on")]


HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)'\"{{7*7}}&amp;.csv"


def test_names_of_files_are_no_markup(client, start):
    (start / "tubes.csv").rename(start / HOSTILE)
    (start / "<b>folder").mkdir()
    page = client.get("/").text
    assert "img" not in _Tags(page).tags
    assert "b" not in _Tags(page.split("<ul")[1].split("</ul>")[0]).tags
    assert "&lt;img src=x" in page
    assert "{{7*7}}" in page
    opened = client.post("/open", data={"path": HOSTILE}).headers["location"]
    shown = client.get(opened).text
    assert "img" not in _Tags(shown).tags
    assert "{{7*7}}" in shown


def test_what_a_person_writes_is_no_markup(client, opened):
    mark = "<img src=x onerror=alert(1)>"
    client.post(f"{opened}/settings", data={"axis_name": mark, "kinetics": f"{mark} -> B"})
    page = client.get(opened).text
    assert "&lt;img src=x" in page
    assert "img" not in _Tags(page).tags
    answer = client.get("/", params={"path": mark}, headers={"Accept": "text/html"})
    assert "img" not in _Tags(answer.text).tags


def test_labels_in_files_are_no_markup(client, start):
    """Plotly reads some tags in its texts, links among them: names out of files must not become any."""
    mark = '<a href="http://evil.test">x</a><img src=x onerror=alert(1)>'
    x = np.linspace(9, 1, 200).round(6)
    ngmca.io.write_table(start / "marked.csv", {f"{mark} [{mark}]": x, mark: x**2, f"{mark} 2": x**3})
    opened = client.post("/open", data={"path": "marked.csv"}).headers["location"]
    found = {"seconds": 0}
    while "seconds" in found:
        found = client.get(f"{opened}/preview").json()
    assert "facts" in found, found
    assert "evil.test" in str(found["facts"]["words"])
    figures = [found["facts"]["heat"], client.get(f"{opened}/spectrum?row=0").json()["figure"]]
    for figure in figures:
        texts = json.dumps(figure)
        assert "evil.test" in texts
        assert "<a " not in texts
        assert "<img" not in texts


def test_an_archive_that_explodes_is_refused_and_the_page_lives(client, start):
    """A gigabyte of zeros in a megabyte, under a size of its own choice."""
    with zipfile.ZipFile(start / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        head = np.lib.format.header_data_from_array_1_0(np.zeros(0))
        with archive.open("Y.npy", "w") as file:
            np.lib.format.write_array_header_1_0(file, head | {"shape": (1 << 20, 1 << 24)})
            for _ in range(64):
                file.write(bytes(1 << 20))
    session = client.post("/open", data={"path": "bomb.npz"}).headers["location"]
    found = {}
    while "error" not in found and "facts" not in found:
        found = client.get(f"{session}/preview").json()
    assert "bomb.npz" in found["error"]
    assert client.get("/").status_code == 200


def test_too_many_bytes_are_refused_while_they_arrive(client, monkeypatch, tmp_path):
    monkeypatch.setattr("ngmca.app.uploads.MAX_BYTES", 1000)
    session = client.post("/upload").json()["session"]
    address, place = f"/upload/{session}", {"name": "a.csv"}
    assert client.put(address, params=place, content=bytes(900)).json() == {"bytes": 900}
    for content in (bytes(200), iter([bytes(100), bytes(100)])):  # with its size, and without
        answer = client.put(address, params={"name": "b.csv"}, content=content)
        assert "too large" in answer.json()["error"]
    kept = [one.name for one in (tmp_path / "sessions").rglob("*") if one.is_file()]
    assert kept == ["a.csv"]  # nothing is left of a part


@pytest.mark.skipif(os.name == "nt", reason="hosts are the same")
def test_beyond_this_machine_a_token_is_needed(tmp_path):
    from ngmca.app.serve import serve
    from ngmca.io import ReadError

    with pytest.raises(ReadError, match="other computers"):
        serve(tmp_path, host="0.0.0.0", browser=False, folder=tmp_path)
    with pytest.raises(ReadError, match="at least 16"):
        serve(tmp_path, host="0.0.0.0", token="short", browser=False, folder=tmp_path)
