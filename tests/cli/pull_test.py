#!/usr/bin/env python3
"""sam3 pull against servers that behave, break off, lie, redirect and refuse."""

import fcntl
import json
import os
import pty
import shutil
import signal
import subprocess
import time
import unittest

from package_server import Fault, PackageServer
from support import MODEL, ProgramTest, environment, model_copy, picture, program

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 5\n"
PAGE = b"<!DOCTYPE html>\n<html><body>Please log in</body></html>\n"
DATA = "tracker_vision_encoder/model.onnx.data"
POINT_GRAPHS = ("tracker_vision_encoder", "prompt_decoder")
TEXT_GRAPHS = ("vision_encoder", "text_encoder", "detector")
SECRET = "hf_verySecretToken"
NEUTRAL = {
    "HF_TOKEN": None,
    "HF_ENDPOINT": None,
    "NO_PROXY": "*",
    "no_proxy": "*",
}


def files_below(folder):
    """{path: content} of all files of a folder."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


class PullCase(ProgramTest):
    """A server with the demo model, and pulls from it into the folder `model`."""

    def setUp(self):
        super().setUp()
        self.server = self.serve(MODEL)
        self.demo = files_below(MODEL)

    def serve(self, folder):
        server = PackageServer(folder)
        self.addCleanup(server.stop)
        return server

    def own_package(self):
        """The server's folder becomes a copy of the demo model, to be changed."""
        folder = self.path("served")
        shutil.copytree(MODEL, folder)
        self.server.folder = folder
        return folder

    def pull(self, source, *arguments, code=0, env=None, out="model"):
        options = ("--retry-wait", "0", *arguments)
        if "--retries" not in arguments:
            options += ("--retries", "2")
        place = ("-o", out) if out else ()
        variables = {**NEUTRAL, **(env or {})}
        return self.sam3("pull", source, *place, *options, code=code, env=variables)

    def pull_plain(self, *arguments, **more):
        return self.pull(self.server.plain, *arguments, **more)

    def pull_hub(self, *arguments, **more):
        return self.pull("demo/model", "--endpoint", self.server.address, *arguments, **more)

    def start(self, *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        """A pull from the plain server that goes on meanwhile."""
        process = subprocess.Popen(
            [program(), "pull", self.server.plain, "-o", "model", *arguments],
            cwd=self.folder,
            env=environment(NEUTRAL),
            stdout=stdout,
            stderr=stderr,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def assert_demo(self, folder="model", without=()):
        kept = [path for path in self.demo if path.split("/")[0] not in without]
        expected = {path: self.demo[path] for path in kept}
        self.assertEqual(sorted(files_below(self.path(folder))), sorted(expected))
        self.assertEqual(files_below(self.path(folder)), expected)
        self.assertFalse(os.path.exists(self.path(folder + ".partial")))

    def assert_no_model(self, folder="model"):
        """Neither the destination nor what waits beside it passes for a model."""
        for name in (folder, folder + ".partial"):
            if os.path.exists(self.path(name)):
                done = self.sam3("inspect", "model", "--model", name, code=1)
                self.assertIn("no model", done.err, done)

    def assert_pull_refused(self, done, *parts):
        self.assertEqual(done.code, 1, done)
        self.assertEqual(done.out, b"", done)
        last = done.err.splitlines()[-1]
        for part in parts:
            self.assertIn(part.lower(), last.lower(), done)


class PullTest(PullCase):
    def test_plain_server(self):
        done = self.pull_plain()
        self.assertEqual(done.text, self.path("model") + "\n")
        self.assertIn("Apache-2.0", done.err)
        self.assertIn(f"{len(self.demo)} of {len(self.demo)} files", done.err)
        self.assert_demo()
        checked = self.sam3("inspect", "model", "--verify", "--json", "--model", "model")
        self.assertEqual(checked.json["problems"], [])

    def test_hub(self):
        self.pull_hub()
        self.assert_demo()
        self.sam3("inspect", "model", "--verify", "--model", "model")

    def test_hub_from_the_environment_in_pages_of_a_commit(self):
        commit = "0123456789abcdef0123456789abcdef01234567"
        self.server.info = {"sha": commit, "cardData": {"license": "mit"}}
        self.server.page_size = 5
        self.pull("demo/model", "--revision", "refs/pr/1", env={"HF_ENDPOINT": self.server.address})
        self.assert_demo()
        asked = [r.path for r in self.server.requests]
        self.assertIn("/api/models/demo/model/revision/refs%2Fpr%2F1", asked)
        self.assertTrue(all(commit in path for path in asked[1:]), asked)

    def test_folder(self):
        self.pull(MODEL)
        self.assert_demo()
        self.sam3("inspect", "model", "--verify", "--model", "model")

    def test_one_workflow(self):
        for source in (self.pull_plain, self.pull_hub, lambda *a: self.pull(MODEL, *a)):
            source("--only", "point")
            self.assert_demo(without=(*TEXT_GRAPHS, "tokenizer"))
            self.assertFalse(self.server.asked("detector/model.onnx"))
            self.sam3("inspect", "model", "--verify", "--model", "model")
            self.points(picture("base.png"), "--point", "200,140", "--model", "model")
            shutil.rmtree(self.path("model"))
            self.server.requests.clear()
            source("--only", "text")
            self.assert_demo(without=POINT_GRAPHS)
            self.segment(picture("base.png"), "black square", "--model", "model")
            shutil.rmtree(self.path("model"))
            self.server.requests.clear()

    def test_the_other_workflow_later(self):
        self.pull_plain("--only", "point")
        self.server.requests.clear()
        self.pull_plain()
        self.assert_demo()
        self.assertFalse(self.server.asked(DATA))

    def test_published_folder_without_lists(self):
        folder = self.own_package()
        for name in ("model.json", "quantization.json", "self_test.json"):
            os.remove(os.path.join(folder, name))
        self.write("served/LICENSE", "SAM License\nLast Updated: a day\n")
        for pull in (self.pull_plain, self.pull_hub):
            self.assert_pull_refused(pull(code=1), "SAM License", "--accept-license")
            self.assert_no_model()
            pull("--accept-license")
            self.assertEqual(files_below(self.path("model")), files_below(folder))
            shutil.rmtree(self.path("model"))

    def test_browser_family(self):
        names = ("sam3_image_encoder.onnx", "sam3_language_encoder.onnx", "sam3_decoder.onnx")
        for name in (*names, "clip_tokenizer.json"):
            self.write("browser/" + name, "content of " + name)
        self.server.folder = self.path("browser")
        for pull in (self.pull_plain, self.pull_hub):
            pull()
            self.assertEqual(files_below(self.path("model")), files_below(self.path("browser")))
            shutil.rmtree(self.path("model"))
        self.assert_pull_refused(self.pull_plain("--only", "point", code=1), "point workflow")

    def test_name_of_the_folder(self):
        self.pull_plain("--only", "point", out=None)
        self.assertTrue(os.path.exists(self.path("plain", DATA)))
        self.pull_hub("--only", "point", out=None)
        self.assertTrue(os.path.exists(self.path("model", DATA)))
        self.pull(self.server.plain + "/model.json", "--only", "point", out="third")
        self.assertTrue(os.path.exists(self.path("third", DATA)))

    def test_wrong_usage(self):
        for arguments in (
            ("nonsense",),
            ("a/b/c",),
            ("ftp://example.org/x",),
            ("file://" + MODEL,),
            ("http://me:secret@127.0.0.1/x",),
            ("demo/model", "--only", "video"),
            ("demo/model", "--endpoint", "file:///etc"),
            ("demo/model", "--token-env", "NOT_SET_ANYWHERE"),
            (MODEL, "--retries", "-1"),
        ):
            done = self.pull(*arguments, code=2)
            self.assertNotIn("secret", done.err)
        self.write("file", "x")
        self.pull_plain(out="file", code=2)


class PullAgainTest(PullCase):
    """Pulls into a folder that has something already."""

    def test_what_is_there_is_checked_and_kept(self):
        self.pull_plain()
        self.write("model/notes.txt", "mine")
        self.server.requests.clear()
        done = self.pull_plain()
        self.assertIn("there already", done.err)
        self.assertFalse([r.path for r in self.server.requests if "onnx" in r.path])
        self.assertEqual(self.read("model/notes.txt"), b"mine")

    def test_only_what_differs_is_fetched(self):
        self.pull_plain()
        with open(self.path("model", DATA), "r+b") as file:
            file.write(b"damaged")
        os.remove(self.path("model", "tokenizer/tokenizer.json"))
        self.server.requests.clear()
        self.pull_plain()
        self.assert_demo()
        asked = {path for path in self.demo if self.server.asked(path)}
        texts = {"model.json", "quantization.json"}
        self.assertEqual(asked - texts, {DATA, "tokenizer/tokenizer.json"})

    def test_a_failed_update_leaves_the_old_model(self):
        self.pull_plain()
        self.own_package()
        record = json.loads(self.demo["quantization.json"])
        record["graphs"]["tracker_vision_encoder"]["files"]["model.onnx.data"]["sha256"] = "0" * 64
        self.write("served/quantization.json", json.dumps(record))
        self.assert_pull_refused(self.pull_plain(code=1), "SHA-256", "0" * 64)
        self.assertEqual(files_below(self.path("model")), self.demo)
        self.points(picture("base.png"), "--point", "200,140", "--model", "model")

    def test_into_empty_folders(self):
        os.mkdir(self.path("here"))
        self.pull_plain(out="here")
        self.assert_demo("here")
        shutil.rmtree(self.path("here"))
        before = os.stat(self.folder).st_ino
        self.pull_plain(out=".")
        self.assert_demo(".")
        self.assertEqual(os.stat(self.folder).st_ino, before)  # a shell may stand in it

    def test_two_at_once(self):
        self.server.faults[DATA] = Fault(pause=0.02)
        first = self.start()
        while not self.server.asked(DATA):
            time.sleep(0.01)
        done = self.pull_plain(code=1)
        self.assertIn("another process", done.err)
        self.assertEqual(first.wait(), 0)
        self.assert_demo()

    def test_a_stale_lock_file_is_none(self):
        os.mkdir(self.path("model.partial"))
        with open(self.path("model.partial/lock"), "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
        self.pull_plain()
        self.assert_demo()


class PullInterruptedTest(PullCase):
    """Connections and processes that end too early."""

    def test_dropped_connections_are_taken_up(self):
        for pull in (self.pull_plain, self.pull_hub):
            self.server.requests.clear()
            self.server.faults = {DATA: Fault(cut=300_000)}
            done = pull()
            self.assertIn("trying again", done.err)
            self.assert_demo()
            # Seven pieces of 300 000 bytes and the rest; nothing twice.
            asked = self.server.asked(DATA)
            self.assertGreater(len(asked), 5)
            self.assertLess(sum(r.sent for r in asked), len(self.demo[DATA]) + len(asked) * 40_000)
            self.assertTrue(all(r.if_range for r in asked[1:] if r.range), asked)
            shutil.rmtree(self.path("model"))

    def test_killed_and_taken_up(self):
        cases = ((("--only", "point"), DATA), ((), "vision_encoder/model.onnx.data"))
        for only, first_file in cases:
            self.server.requests.clear()
            self.server.faults = {first_file: Fault(times=1, pause=0.01)}
            process = self.start(*only)
            while not any(r.sent > 500_000 for r in self.server.asked(first_file)):
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.assert_no_model()
            self.server.requests.clear()
            self.pull_plain(*only)
            asked = [r for r in self.server.asked(first_file) if r.range]
            self.assertEqual(len(asked), 1)
            self.assertGreater(int(asked[0].range[len("bytes=") : -1]), 300_000)
            self.assert_demo(without=(*TEXT_GRAPHS, "tokenizer") if only else ())
            self.sam3("inspect", "model", "--verify", "--model", "model")
            shutil.rmtree(self.path("model"))

    def test_killed_at_any_time(self):
        self.server.faults = {path: Fault(pause=0.001) for path in self.demo}
        for _ in range(12):
            process = self.start()
            try:
                process.wait(0.15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self.assertFalse(os.path.exists(self.path("model")))
        self.pull_plain()
        self.assert_demo()

    def test_a_server_that_always_breaks_off_is_given_up(self):
        self.server.faults = {DATA: Fault(cut=1000)}
        done = self.pull_plain(code=1)
        self.assert_pull_refused(done, "after 2 more tries", DATA)
        self.assertEqual(len(self.server.asked(DATA)), 3)
        self.assert_no_model()
        self.server.faults = {}
        self.pull_plain()
        self.assert_demo()

    def test_range_is_ignored(self):
        self.server.faults = {DATA: Fault(times=2, cut=1_000_000, no_range=True)}
        self.pull_plain()
        self.assert_demo()

    def test_range_is_answered_wrongly(self):
        self.server.faults = {DATA: Fault(times=2, cut=1_000_000, wrong_range=True)}
        self.pull_plain()
        self.assert_demo()

    def test_range_not_satisfiable(self):
        for what in ({"status": 416}, {"status": 416, "headers": {"Content-Range": "bytes */5"}}):
            self.server.faults = {DATA: Fault(cut=1_000_000)}
            self.pull_plain("--retries", "0", code=1)
            self.server.faults = {DATA: Fault(times=1, **what)}
            self.pull_plain()
            self.assert_demo()
            shutil.rmtree(self.path("model"))

    def test_complete_but_not_known_to_be(self):
        # Where neither size nor sum is known, the server's 416 says that all of it is there.
        folder = self.own_package()
        os.remove(os.path.join(folder, "quantization.json"))
        size = len(self.demo[DATA])
        self.server.faults = {DATA: Fault(steps=({"length": None}, {"length": size + 1000}))}
        self.pull_plain("--only", "point")
        self.assertEqual([r.range for r in self.server.asked(DATA)], [None, None, f"bytes={size}-"])
        self.assertEqual(self.read("model", DATA), self.demo[DATA])

    def test_changed_between_two_tries(self):
        folder = self.own_package()
        for name in ("quantization.json", "model.json"):
            os.remove(os.path.join(folder, name))
        self.server.faults = {DATA: Fault(cut=1_000_000)}
        self.pull_plain("--retries", "0", code=1)
        changed = self.demo[DATA][::-1]
        with open(os.path.join(folder, DATA), "wb") as file:
            file.write(changed)
        self.server.faults = {}
        self.pull_plain()
        self.assertEqual(self.read("model", DATA), changed)

    def test_damaged_part_is_fetched_anew(self):
        self.server.faults = {DATA: Fault(cut=1_000_000)}
        self.pull_plain("--retries", "0", code=1)
        with open(self.path("model.partial", "files", DATA + ".part"), "r+b") as file:
            file.write(b"flipped bits")
        self.server.faults = {}
        self.pull_plain()
        self.assert_demo()

    def test_slow_server(self):
        self.server.faults = {DATA: Fault(pause=30)}
        start = time.monotonic()
        done = self.pull_plain("--stall-timeout", "1", "--retries", "0", code=1)
        self.assert_pull_refused(done, "too slow", DATA)
        self.assertLess(time.monotonic() - start, 20)

    def test_no_server(self):
        server = PackageServer(MODEL)
        server.stop()
        done = self.pull(server.plain, code=1)
        self.assert_pull_refused(done, "connect")
        self.assertFalse(os.path.exists(self.path("model.partial")))


class PullLiesTest(PullCase):
    """Servers that send something else."""

    def test_other_content(self):
        flipped = lambda content: content[:-1] + bytes([content[-1] ^ 1])
        cases = (
            ({"body": flipped}, ("SHA-256", "instead of")),
            ({"body": lambda content: content[:-1]}, (f"{len(self.demo[DATA]) - 1} bytes",)),
            ({"body": lambda content: content + b"x"}, (f"{len(self.demo[DATA]) + 1} bytes",)),
            ({"body": lambda content: b""}, ("0 bytes",)),
            ({"body": lambda content: content + b"x", "length": None}, ("more than",)),
            ({"body": lambda content: content[:-1], "length": None}, ("ended after",)),
            ({"body": lambda content: PAGE}, ("web page",)),
            ({"body": lambda content: PAGE, "length": None}, ("web page",)),
            ({"body": lambda content: POINTER}, ("LFS pointer",)),
            ({"length": 10**15}, (f"{10**15} bytes",)),
            ({"length": 100}, ("100 bytes",)),
        )
        for pull in (self.pull_plain, self.pull_hub):
            for what, parts in cases:
                with self.subTest(parts=parts, pull=pull.__name__):
                    self.server.faults = {DATA: Fault(**what)}
                    self.assert_pull_refused(pull(code=1), DATA, *parts)
                    self.assert_no_model()
        self.server.faults = {}
        self.pull_plain()
        self.assert_demo()

    def test_a_page_does_not_cost_what_is_there(self):
        self.server.faults = {DATA: Fault(cut=1_000_000)}
        self.pull_plain("--retries", "0", code=1)
        self.server.faults = {DATA: Fault(body=lambda content: PAGE, no_range=True)}
        self.assert_pull_refused(self.pull_plain(code=1), "web page")
        self.server.faults = {}
        self.server.requests.clear()
        self.pull_plain()
        self.assertTrue(self.server.asked(DATA)[0].range)
        self.assert_demo()

    def test_other_lists(self):
        for body in (PAGE, POINTER, b"", b"[]", b"{", b"\xff\xfe", b"[" * 200_000):
            self.server.faults = {"quantization.json": Fault(body=lambda content: body)}
            with self.subTest(body=body[:20]):
                self.assert_pull_refused(self.pull_plain(code=1), "quantization.json")
        self.server.faults = {"quantization.json": Fault(body=lambda c: b" " * (33 << 20))}
        self.assert_pull_refused(self.pull_plain(code=1), "more than")
        self.assertFalse(os.path.exists(self.path("model")))

    def test_paths_that_leave_the_folder(self):
        entry = {"bytes": 5, "sha256": "0" * 64}
        for path in ("../evil", "/tmp/evil", "a/../../evil", "a\\evil", "C:/evil", "a//evil", "."):
            record = json.dumps({"files": {path: entry}}).encode()
            self.server.faults = {"quantization.json": Fault(body=lambda content: record)}
            self.assert_pull_refused(self.pull_plain(code=1), "refused")
            self.server.faults = {}
            self.server.listing = [{"type": "file", "path": path, "size": 5}]
            self.assert_pull_refused(self.pull_hub(code=1), "refused")
        self.server.listing = [{"type": "symlink", "path": "detector/model.onnx", "size": 5}]
        self.assert_pull_refused(self.pull_hub(code=1), "symlink")
        self.assertEqual(os.listdir(self.folder), [])

    def test_sizes_beyond_the_disk(self):
        entries = self.server.entries()
        for entry in entries:
            if entry["path"] == DATA:
                entry["size"] = entry["lfs"]["size"] = 1 << 49
        # Without the record, which says otherwise.
        self.server.listing = [e for e in entries if e["path"] != "quantization.json"]
        needed = (1 << 49) + sum(len(c) for path, c in self.demo.items() if path != DATA)
        needed -= len(self.demo["quantization.json"])
        self.assert_pull_refused(self.pull_hub(code=1), "room", str(needed))
        self.assertFalse(os.path.exists(self.path("model.partial")))

    def test_what_is_no_model(self):
        self.write("other/README.md", "hello")
        self.server.folder = self.path("other")
        for pull in (self.pull_plain, self.pull_hub):
            self.assert_pull_refused(pull(code=1), "vision_encoder/model.onnx")
        self.assert_pull_refused(self.pull(self.path("other"), code=1), "vision_encoder/model.onnx")


class PullAccessTest(PullCase):
    """Tokens, gates, redirects, refusals."""

    def test_token(self):
        self.server.token = SECRET
        self.server.gated = True
        page = self.server.address + "/demo/model"
        self.assert_pull_refused(self.pull_hub(code=1), "gated", page, "401")
        done = self.pull_hub(code=1, env={"HF_TOKEN": "wrong"})
        self.assert_pull_refused(done, "gated", page, "403")
        self.assertNotIn("wrong", done.err)
        done = self.pull_hub(env={"HF_TOKEN": SECRET + "\n"})
        self.assertNotIn(SECRET, done.err + done.text)
        self.assert_demo()
        shutil.rmtree(self.path("model"))
        self.pull_hub("--token-env", "MINE", env={"MINE": SECRET, "HF_TOKEN": "wrong"})
        self.assert_demo()

    def test_token_that_is_none(self):
        done = self.pull_hub(code=2, env={"HF_TOKEN": "a\r\nX-Evil: b"})
        self.assertNotIn("Evil", done.err)

    def test_token_of_the_hub_goes_nowhere_else(self):
        self.pull_plain("--only", "point", env={"HF_TOKEN": SECRET})
        self.assertFalse([r for r in self.server.requests if r.authorization])
        shutil.rmtree(self.path("model"))
        self.pull_plain("--only", "point", "--token-env", "MINE", env={"MINE": SECRET})
        last = self.server.requests[-5:]
        self.assertEqual([r.authorization for r in last], ["Bearer " + SECRET] * 5)

    def test_token_is_not_sent_to_where_a_redirect_leads(self):
        other = self.serve(MODEL)
        for path in self.demo:
            self.server.faults[path] = Fault(redirect=f"{other.plain}/{path}?signature=abc")
        done = self.pull_hub(env={"HF_TOKEN": SECRET})
        self.assert_demo()
        self.assertTrue(all(r.authorization == f"Bearer {SECRET}" for r in self.server.requests))
        self.assertGreaterEqual(len(other.requests), len(self.demo))
        self.assertFalse([r for r in other.requests if r.authorization])
        self.assertNotIn("abc", done.err)

    def test_token_does_not_come_back_over_another_server(self):
        other = self.serve(MODEL)
        self.server.faults[DATA] = Fault(times=1, redirect=f"{other.plain}/{DATA}")
        other.faults[DATA] = Fault(redirect=f"{self.server.plain}/{DATA}")
        self.pull_hub(env={"HF_TOKEN": SECRET})
        (last,) = [r for r in self.server.requests if r.path == f"/plain/{DATA}"]
        self.assertIsNone(last.authorization)

    def test_redirected_downloads_are_taken_up(self):
        other = self.serve(MODEL)
        self.server.faults[DATA] = Fault(redirect=f"{other.plain}/{DATA}")
        other.faults[DATA] = Fault(cut=600_000)
        self.pull_hub()
        self.assert_demo()
        self.assertTrue([r for r in other.requests if r.range])

    def test_redirects_that_are_not_followed(self):
        relative = f"/demo/model/resolve/main/{DATA}"
        cases = (
            (relative, "do not end"),
            ("file:///etc/passwd", "file:///etc/passwd"),
            ("ftp://example.org/x", "ftp://"),
            ("http://me:secret@127.0.0.1/", "not followed"),
        )
        for location, part in cases:
            self.server.faults[DATA] = Fault(redirect=location)
            done = self.pull_hub(code=1)
            self.assert_pull_refused(done, part, DATA)
            self.assertNotIn("secret", done.err)
        self.assert_no_model()

    def test_refusals(self):
        for status, part in ((401, "token"), (403, "refused"), (404, "not found"), (410, "gone")):
            self.server.faults[DATA] = Fault(status=status)
            done = self.pull_plain(code=1)
            self.assert_pull_refused(done, str(status), part, DATA)
            self.assertEqual(len(self.server.asked(DATA)), 1)
            self.server.requests.clear()
        self.assert_pull_refused(
            self.pull("demo/nothing", "--endpoint", self.server.address, code=1), "404"
        )
        self.assert_pull_refused(
            self.pull("demo/private", "--endpoint", self.server.address, code=1), "private"
        )
        self.assert_pull_refused(self.pull(self.server.address + "/nowhere", code=1), "SAM 3 model")

    def test_busy_servers(self):
        for status in (429, 500, 503):
            self.server.faults[DATA] = Fault(times=2, status=status, headers={"Retry-After": "1"})
            start = time.monotonic()
            self.pull_plain()
            self.assertGreater(time.monotonic() - start, 1.5)
            self.assert_demo()
            shutil.rmtree(self.path("model"))
        self.server.faults[DATA] = Fault(status=429, headers={"Retry-After": "86400"})
        self.assert_pull_refused(self.pull_plain(code=1), "429", "86400 s")

    def test_licence(self):
        self.own_package()
        description = json.loads(self.demo["model.json"])
        description["licence"] = "SAM License"
        record = json.loads(self.demo["quantization.json"])
        del record["files"]["model.json"]
        self.write("served/model.json", json.dumps(description))
        self.write("served/quantization.json", json.dumps(record))
        for pull in (self.pull_plain, self.pull_hub):
            done = pull(code=1)
            self.assert_pull_refused(done, "SAM License", "--accept-license")
            self.assertFalse(self.server.asked(DATA))
            self.assertIn("SAM License", pull("--accept-license").err)
            shutil.rmtree(self.path("model"))
            self.server.requests.clear()
        page = f"{self.server.address}/demo/model"
        self.assertIn(page, self.pull_hub(code=1).err)


class PullNotesTest(PullCase):
    def test_progress_on_a_terminal_only(self):
        self.server.faults[DATA] = Fault(pause=0.005)
        self.assertNotIn("MB/s", self.pull_plain("--only", "point").err)
        shutil.rmtree(self.path("model"))
        for quiet in ((), ("--quiet",)):
            main, side = pty.openpty()
            process = self.start("--only", "point", *quiet, stdout=subprocess.PIPE, stderr=side)
            os.close(side)
            shown = b""
            try:
                while part := os.read(main, 4096):
                    shown += part
            except OSError:  # the other side is closed
                pass
            os.close(main)
            self.assertEqual(process.communicate()[0].decode(), self.path("model") + "\n")
            self.assertEqual(process.returncode, 0)
            self.assertEqual(b"MB/s" in shown and DATA.encode() in shown, not quiet, shown)
            shutil.rmtree(self.path("model"))

    def test_quiet(self):
        self.server.faults[DATA] = Fault(times=1, cut=1000)
        self.assertEqual(self.pull_plain("--quiet").err, "")


class PullFolderTest(PullCase):
    def test_damaged_folders(self):
        folder = self.own_package()
        path = os.path.join(folder, DATA)
        content = self.demo[DATA]
        for damage, part in (
            (content[:-1], "bytes"),
            (content[:-1] + b"?", "SHA-256"),
            (POINTER, "LFS pointer"),
        ):
            with open(path, "wb") as file:
                file.write(damage)
            self.assert_pull_refused(self.pull(folder, code=1), DATA, part)
        os.remove(path)
        self.assert_pull_refused(self.pull(folder, code=1), DATA)
        self.assert_no_model()

    def test_links_as_in_download_caches(self):
        self.pull(model_copy(self.path("cache")))
        self.assert_demo()
        self.assertFalse(os.path.islink(self.path("model", DATA)))


if __name__ == "__main__":
    unittest.main()
