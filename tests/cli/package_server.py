"""A web server that hands out a model package as real ones do, and in every way they should not.

It serves a folder twice: plainly below /plain/, and as the repository demo/model of a hub. Faults
are set by name of file; see Fault."""

import hashlib
import http.server
import json
import os
import threading
import urllib.parse

CHUNK = 16 * 1024


class Fault:
    """What goes wrong with a file. All of it may be combined; `times` limits it to the first so
    many requests, and `steps` has a dictionary for each of the first ones.

    status       answers with this status, and `headers`
    redirect     answers 302 to this address
    cut          closes the connection after so many bytes of the body
    length       says this Content-Length (None: says none, and closes at the end)
    body         sends these bytes instead of the file's (a function of them)
    no_range     ignores Range
    wrong_range  answers a Range request with another part than the one asked for
    pause        seconds between chunks of 16 KB
    """

    def __init__(self, times=None, steps=(), **what):
        self.times = times
        self.steps = list(steps)
        self.what = what

    def take(self):
        """What applies to this request."""
        if self.steps:
            return self.steps.pop(0)
        if self.times == 0:
            return {}
        if self.times is not None:
            self.times -= 1
        return self.what


class Request:
    """One request as the server saw it."""

    def __init__(self, handler):
        self.path = handler.path
        self.range = handler.headers.get("Range")
        self.if_range = handler.headers.get("If-Range")
        self.authorization = handler.headers.get("Authorization")
        self.sent = 0


class PackageServer:
    """Serves `folder` until stop(). `faults` maps a file's path in the package to a Fault;
    `requests` has what was asked."""

    def __init__(self, folder):
        self.folder = folder
        self.faults = {}
        self.requests = []
        self.listing = None  # entries of the hub's list, instead of those of the folder
        self.lfs = True  # the hub's list has hashes
        self.token = None  # wanted on the hub, if set
        self.gated = False
        self.info = None  # the hub's description, if it has one
        self.page_size = None
        self.etags = True
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        outer = self

        class Handler(PackageHandler):
            server_object = outer

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def plain(self):
        return self.address + "/plain"

    def asked(self, name):
        """The requests for a file of the package."""
        return [r for r in self.requests if r.path.split("?")[0].endswith("/" + name)]

    def entries(self):
        """The hub's list of the folder."""
        if self.listing is not None:
            return self.listing
        found = []
        for folder, folders, names in os.walk(self.folder):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    content = file.read()
                entry = {
                    "type": "file",
                    "path": os.path.relpath(path, self.folder),
                    "size": len(content),
                    "oid": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
                }
                if self.lfs and ".onnx" in name:
                    sha256 = hashlib.sha256(content).hexdigest()
                    entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 130}
                found.append(entry)
            found += [
                {"type": "directory", "path": os.path.relpath(os.path.join(folder, f), self.folder)}
                for f in folders
            ]
        return found


class QuietServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Says nothing: clients end connections here as they like."""


class PackageHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_object = None

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        server = self.server_object
        self.request_seen = Request(self)
        with server.lock:
            server.requests.append(self.request_seen)
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        try:
            if path.startswith("/plain/"):
                self.send_file(path[len("/plain/") :])
            elif path.startswith("/api/models/demo/model/revision/"):
                self.send_info()
            elif path.startswith("/api/models/demo/model/tree/"):
                self.send_tree()
            elif path.startswith("/demo/model/resolve/"):
                self.send_resolved(path[len("/demo/model/resolve/") :])
            elif path == "/api/models/demo/private/tree/main":
                self.send_short(401, {"X-Error-Code": "RepoNotFound"})
            else:
                self.send_short(404)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def send_short(self, status, headers=None, body=b"no\n"):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, document, headers=None):
        self.send_short(200, headers, json.dumps(document).encode())

    def send_info(self):
        if self.server_object.info is None:
            self.send_short(404)
        else:
            self.send_json(self.server_object.info)

    def send_tree(self):
        server = self.server_object
        entries = server.entries()
        if not server.page_size:
            self.send_json(entries)
            return
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        first = int(query.get("cursor", ["0"])[0])
        rest = first + server.page_size
        headers = {}
        if rest < len(entries):
            base = self.path.split("?")[0]
            headers["Link"] = f'<{server.address}{base}?recursive=true&cursor={rest}>; rel="next"'
        self.send_json(entries[first:rest], headers)

    def send_resolved(self, path):
        server = self.server_object
        allowed = server.token and self.request_seen.authorization == f"Bearer {server.token}"
        if server.gated and not allowed:
            status = 403 if self.request_seen.authorization else 401
            self.send_short(status, {"X-Error-Code": "GatedRepo"})
        else:
            self.send_file(path.split("/", 1)[1])

    def send_file(self, name):
        fault = self.server_object.faults.get(name)
        what = fault.take() if fault else {}
        if "redirect" in what:
            self.send_short(302, {"Location": what["redirect"]})
            return
        if "status" in what:
            self.send_short(what["status"], what.get("headers"))
            return
        path = os.path.join(self.server_object.folder, name)
        if not os.path.isfile(path):
            self.send_short(404)
            return
        with open(path, "rb") as file:
            content = file.read()
        if "body" in what:
            content = what["body"](content)
        self.send_content(content, what)

    def send_content(self, content, what):
        etag = f'"{hashlib.sha1(content).hexdigest()}"' if self.server_object.etags else None
        first = self.first_byte(etag, what)
        if first >= len(content) > 0:
            self.send_short(416, {"Content-Range": f"bytes */{len(content)}"})
            return
        self.send_response(206 if first else 200)
        if etag:
            self.send_header("ETag", etag)
        if first:
            if "wrong_range" in what:
                first -= 1
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        length = what.get("length", len(content) - first)
        if length is None:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        body = content[first:]
        if length is not None and length != len(body):
            self.close_connection = True
            body = body[:length]
        self.send_body(body, what)

    def first_byte(self, etag, what):
        seen = self.request_seen
        if not seen.range or "no_range" in what:
            return 0
        if seen.if_range and seen.if_range != etag:
            return 0
        return int(seen.range[len("bytes=") :].split("-")[0])

    def send_body(self, body, what):
        end = min(len(body), what.get("cut", len(body)))
        for at in range(0, end, CHUNK):
            chunk = body[at : min(end, at + CHUNK)]
            self.wfile.write(chunk)
            self.request_seen.sent += len(chunk)
            if "pause" in what:
                self.server_object.stopping.wait(what["pause"])
        if end < len(body):
            self.close_connection = True
