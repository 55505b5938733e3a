"""What the end-to-end tests share: starting the program, pictures, masks, boxes.

The program is named by SAM3_PROGRAM, the source tree by SAM3_SOURCE_DIR (else found from here). The
expectations hold for any model that knows drawn squares and discs, so none names an exact score."""

import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from pictures import Mask

SOURCE = os.environ.get(
    "SAM3_SOURCE_DIR",
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
)
DATA = os.path.join(SOURCE, "tests", "data", "cli")
PICTURES = os.path.join(SOURCE, "tests", "data", "pictures")
EXAMPLES = os.path.join(SOURCE, "examples", "pictures")
MODEL = os.path.join(SOURCE, "models", "demo")
SANITIZED = os.environ.get("SAM3_SANITIZED") == "1"
TIMEOUT = 240 if SANITIZED else 60  # seconds for one run; only a hang comes near it

# What the base scene shows: 640x480, white, a black square and a red disc (half-open boxes).
SQUARE = (120, 60, 280, 220)
DISC = (420, 280, 540, 400)
WHITE, BLACK, RED = (255, 255, 255), (0, 0, 0), (220, 20, 30)

_CRASHES = ("AddressSanitizer", "runtime error:", "internal error", "terminate called", "Aborted")


def program():
    return os.path.abspath(os.environ["SAM3_PROGRAM"])


def picture(*parts):
    return os.path.join(PICTURES, *parts)


class Done:
    """A run that has ended: exit code, standard output (bytes) and error (text), and its costs."""

    def __init__(self, command, code, streams, usage):
        self.command = command
        self.code = code
        self.out, error = streams
        self.err = error.decode("utf-8")  # also what it says about odd names must be valid
        self.peak_bytes = usage.ru_maxrss * 1024
        self.cpu_seconds = usage.ru_utime + usage.ru_stime

    @property
    def text(self):
        return self.out.decode("utf-8")

    @property
    def json(self):
        return parse_json(self.text)

    @property
    def lines(self):
        return [parse_json(line) for line in self.text.splitlines()]

    def found(self, prompt=None):
        return [d for d in self.json["detections"] if prompt in (None, d["prompt"])]

    def __str__(self):
        out, err = self.out[:2000].decode("utf-8", "replace"), self.err[:4000]
        return f"{self.command}\nexit code {self.code}\n--- stdout\n{out}\n--- stderr\n{err}"


def environment(changes=None):
    """That of the tests with the demo model chosen; None in `changes` removes a variable."""
    variables = {**os.environ, "SAM3_MODEL": MODEL, **(changes or {})}
    return {name: value for name, value in variables.items() if value is not None}


class ProgramTest(unittest.TestCase):
    """Runs the program; every test has a folder of its own."""

    longMessage = True

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sam3-cli-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, data):
        """A file in the test's folder; `name` may have folders, `data` is bytes or text."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data.encode("utf-8") if isinstance(data, str) else data)
        return path

    def read(self, *parts):
        with open(self.path(*parts), "rb") as file:
            return file.read()

    def load(self, *parts):
        return parse_json(self.read(*parts))

    def sam3(self, *arguments, code=0, env=None, prefix=(), address_space=None):
        """Runs the program in the test's folder and checks its exit code (None: any but a crash).

        `prefix` is put before the program; `address_space` limits its virtual memory, in bytes."""
        command = [*prefix, program(), *arguments]

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=limit if address_space else None,
            )
            status, usage = wait(process)
            streams = []
            for stream in (out, err):
                stream.seek(0)
                streams.append(stream.read())
        done = Done(command, status, streams, usage)
        self.assert_no_crash(done)
        if code is not None:
            self.assertEqual(done.code, code, done)
        return done

    def assert_no_crash(self, done):
        self.assertGreaterEqual(done.code, 0, done)
        self.assertNotIn(done.code, range(131, 160), done)
        for sign in _CRASHES:
            self.assertNotIn(sign, done.err, done)

    def assert_refused(self, done, *parts):
        """It failed with one clear sentence, or one and an indented list, that holds `parts`,
        whatever their case."""
        self.assertNotEqual(done.code, 0, done)
        self.assertEqual(done.out, b"", done)
        first, *others = [line for line in done.err.splitlines() if line] or [""]
        self.assertTrue(first.startswith("sam3: "), done)
        for line in others:
            self.assertTrue(line.startswith("  "), done)
        for part in parts:
            self.assertIn(part.lower(), done.err.lower(), done)

    def segment(self, image, *arguments, **more):
        return self.sam3("segment", image, *arguments, "--json", "-", **more)

    def points(self, image, *arguments, **more):
        """The document of `points` and its mask."""
        target = self.path("points.png")
        done = self.sam3("points", image, *arguments, "--out", target, "--json", "-", **more)
        return done.json, Mask.load(target)

    def pixels(self, image, *places, **more):
        """What `inspect pixels` says: (width, height) and a list of colours, and the run."""
        places = [p if isinstance(p, str) else f"{p[0]},{p[1]}" for p in places]
        done = self.sam3("inspect", "pixels", "--json", image, *places, **more)
        answer = done.json
        return (answer["width"], answer["height"]), [tuple(p) for p in answer["pixels"]], done

    def assert_colour(self, actual, expected, tolerance, message=None):
        worst = max(abs(a - b) for a, b in zip(actual, expected))
        self.assertLessEqual(worst, tolerance, f"{actual} is not {expected}; {message}")

    def assert_box(self, actual, expected, least=0.6, message=None):
        self.assertGreaterEqual(
            box_iou(actual, expected), least, f"{actual}, {expected}; {message}"
        )

    def assert_found(self, done, prompt, box, least=0.6):
        """One of the detections of `prompt` is `box`; returns the best one."""
        found = done.found(prompt)
        self.assertTrue(found, done)
        best = max(found, key=lambda detection: box_iou(detection["box"], box))
        self.assert_box(best["box"], box, least, done)
        return best


def wait(process):
    """(exit code, resource usage) of a child; kills one that hangs."""
    timer = threading.Timer(TIMEOUT, os.kill, (process.pid, signal.SIGKILL))
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def parse_json(text):
    """Stricter than Python: NaN, Infinity and repeated members are errors."""

    def refuse(constant):
        raise ValueError(f"{constant} is no JSON")

    def members(pairs):
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names):
            raise ValueError(f"repeated members in {names}")
        return dict(pairs)

    if isinstance(text, bytes):
        text = text.decode("utf-8")
    return json.loads(text, parse_constant=refuse, object_pairs_hook=members)


def box_iou(a, b):
    def area(box):
        return max(0, box[2] - box[0]) * max(0, box[3] - box[1])

    shared = area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))
    total = area(a) + area(b) - shared
    return shared / total if total > 0 else 0.0


def model_copy(folder, without=()):
    """A package like the demo model without some of its folders; the files are links."""
    os.makedirs(folder)
    for graph in os.listdir(MODEL):
        if graph not in without and os.path.isdir(os.path.join(MODEL, graph)):
            shutil.copytree(
                os.path.join(MODEL, graph), os.path.join(folder, graph), copy_function=os.symlink
            )
        elif graph not in without:
            os.symlink(os.path.join(MODEL, graph), os.path.join(folder, graph))
    return folder
