"""Online or offline, without a prompt and without waiting."""

import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ablate.errors import UserError
from ablate.wandb import connection
from ablate.wandb.connection import clean_environment, reachable, settle


class Refuses(BaseHTTPRequestHandler):
    """Answers, as W&B does to strangers, that there is nothing."""

    status = 404

    def do_HEAD(self):
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture(autouse=True)
def direct(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def serve():
    servers = []

    def start(status):
        handler = type("Handler", (Refuses,), {"status": status})
        server = HTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def key(monkeypatch):
    def configured(yes):
        monkeypatch.setattr(connection, "has_key", lambda: yes)

    return configured


def test_a_host_that_answers_is_reached(serve):
    assert reachable(serve(404))


def test_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert not reachable(f"http://127.0.0.1:{taken.getsockname()[1]}")


def test_a_host_that_never_answers_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(connection, "SECONDS", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not reachable(f"http://127.0.0.1:{silent.getsockname()[1]}")


@pytest.mark.parametrize(
    ("has_key", "answers", "mode"),
    [(True, True, "online"), (True, False, "offline"), (False, True, "offline")],
)
def test_auto_needs_a_key_and_a_network(key, monkeypatch, has_key, answers, mode):
    key(has_key)
    monkeypatch.setattr(connection, "reachable", lambda url: answers)
    assert settle("auto") == mode


def test_the_environment_decides_before_the_config(key, monkeypatch):
    key(True)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert settle("online") == "disabled"


def test_online_without_a_key_is_an_error_and_no_prompt(key):
    key(False)
    with pytest.raises(UserError, match="no key"):
        settle("online")


def test_only_what_names_another_run_is_forgotten(monkeypatch):
    kept = {"WANDB_API_KEY": "k" * 40, "WANDB_BASE_URL": "http://mine", "WANDB_ENTITY": "team"}
    kept |= {"WANDB_TAGS": "a", "WANDB_NOTES": "why", "WANDB_PROJECT": "p", "WANDB_NAME": "n"}
    foreign = {"WANDB_RUN_ID": "x", "WANDB_SWEEP_ID": "y", "WANDB_SERVICE": "z"}
    for name, value in {**kept, **foreign}.items():
        monkeypatch.setenv(name, value)
    clean_environment()
    assert {name: os.environ.get(name) for name in kept} == kept
    assert not set(foreign) & set(os.environ)
