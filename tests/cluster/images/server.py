"""The model server of the stories: speaks as OpenAI's does, and shows what it was given.

An answer names the model, the pod, and the weights that are mounted for it, so that a wrong volume is seen.
POST /load sets how many requests it claims to be working on, which is what it tells those who measure.
"""

import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

MODEL = os.environ.get("AIM_MODEL_ID", "none")
WEIGHTS = Path("/workspace/model-cache", MODEL)
load = {"requests": 0.0}


def weights() -> list[str]:
    return sorted(str(file.relative_to(WEIGHTS)) for file in WEIGHTS.rglob("*") if file.is_file())


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        if asked.path == "/v1/models":
            self.answer({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        elif asked.path == "/metrics":
            self.answer(
                f'vllm:num_requests_running{{model_name="{MODEL}"}} {load["requests"]}\n'.encode(), "text/plain"
            )
        elif asked.path == "/slow":
            time.sleep(float(parse_qs(asked.query)["seconds"][0]))
            self.answer({"slept": True})
        elif asked.path in {"/health", "/"}:
            self.answer({"pod": os.environ.get("HOSTNAME", ""), "headers": dict(self.headers.items())})
        else:
            self.answer({"error": f"no {asked.path} here"}, status=404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path == "/load":
            load["requests"] = float(body["requests"])
            self.answer(load)
        elif self.path == "/v1/chat/completions" and body.get("stream"):
            self.stream(["one", "two", "three"], float(body.get("pause", 0)))
        elif self.path == "/v1/chat/completions":
            said = {"role": "assistant", "content": body["messages"][-1]["content"]}
            self.answer({"model": MODEL, "weights": weights(), "choices": [{"index": 0, "message": said}]})
        else:
            self.answer({"error": f"no {self.path} here"}, status=404)

    def answer(self, content: object, kind: str = "application/json", status: int = 200) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, words: list[str], pause: float) -> None:
        """One event per word, each when it is there."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        events = [*(json.dumps({"choices": [{"delta": {"content": word}}]}) for word in words), "[DONE]"]
        for event in events:
            chunk = f"data: {event}\n\n".encode()
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            self.wfile.flush()
            time.sleep(pause)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *arguments: object) -> None:
        print(*arguments[1:], flush=True)


ThreadingHTTPServer((os.environ["POD_IP"], 8000), Server).serve_forever()
