"""A stand-in for a model server: speaks the chat-completions API on loopback and answers from recorded exchanges.

    python server.py EXCHANGES.json      (prints its address, and serves until it is ended)

EXCHANGES.json is a list of {"request": text, "replies": [...]}. A conversation belongs to the exchange whose request is
in its first message of the user; the n-th call for an exchange gets the n-th reply, or the last one. A reply is a text,
or an object that says how the server fails: {"status": 500}, {"delay": seconds, "text": …}, {"text": …, "cut": true}
(the connection breaks after the text), {"bytes": n} (so many, in one line), {"json": anything} (instead of a stream).
"""

import json
import sys
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

EXCHANGES = json.loads(Path(sys.argv[1]).read_text("utf-8"))
CALLS: Counter[str] = Counter()
PIECE = 24


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        first = next(message["content"] for message in asked["messages"] if message["role"] == "user")
        found = next((one for one in EXCHANGES if one["request"] in first), None)
        if found is None or self.path != "/v1/chat/completions":
            self.send_error(404)
            return
        CALLS[found["request"]] += 1
        reply = found["replies"][min(CALLS[found["request"]], len(found["replies"])) - 1]
        how = {"text": reply} if isinstance(reply, str) else reply
        time.sleep(how.get("delay", 0))
        if "status" in how:
            self.whole(how["status"], {"error": {"message": "recorded", "type": "server_error"}})
        elif "json" in how:
            self.whole(200, how["json"])
        else:
            self.stream(asked["model"], how)

    def whole(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, model: str, how: dict) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        head = {"id": "recorded", "object": "chat.completion.chunk", "created": 0, "model": model}
        text = how.get("text", "")
        pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
        if "bytes" in how:
            pieces.append("x" * how["bytes"])
        for piece in pieces:
            choice = {"index": 0, "delta": {"role": "assistant", "content": piece}, "finish_reason": None}
            self.event({**head, "choices": [choice]})
        if how.get("cut"):
            self.close_connection = True
            self.connection.shutdown(2)
            return
        self.event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        usage = {"prompt_tokens": 100, "completion_tokens": len(pieces), "total_tokens": 100 + len(pieces)}
        self.event({**head, "choices": [], "usage": usage})
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def event(self, value: object) -> None:
        self.chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()
