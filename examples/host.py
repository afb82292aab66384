#!/usr/bin/env python3
"""A host in Python: runs an agent through `monolith session --stdio`. The model is a canned script, the tool is a
function of this file, and the transcript goes to run.jsonl.

    python3 examples/host.py [PROGRAM] && monolith verify run.jsonl && monolith replay run.jsonl

docs/session-api.md describes the protocol. PROGRAM is the monolith to start; without it, the one of the PATH.
"""

import base64
import json
import os
import subprocess
import sys
import time

CONTRACT = """
system: You tell the time.
task: How late is it?
tool_policy: required
tool_proof: succeeded
targets: [{provider: demo, model: canned, context_window: 8192}]
providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
tools: {host: [clock]}
"""
SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}}
CLOCK = {"name": "clock", "description": "Tells the time.", "input_schema": SCHEMA}


def size(text):
    """The sizes of a result are in bytes, not in characters."""
    return len(text.encode())


def answer(message, reason):
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}]}


def canned_model():
    """The responses of the model, in the form of its API. A real host sends `body` to the provider's address."""
    call = {"id": "c1", "type": "function", "function": {"name": "host__clock", "arguments": '{"zone": "Zürich"}'}}
    yield answer({"content": None, "tool_calls": [call]}, "tool_calls")
    yield answer({"content": "It is noon."}, "stop")


class Host:
    def __init__(self, program):
        self.began = time.monotonic()
        self.model = canned_model()
        self.pipe = subprocess.Popen(
            [program, "session", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def now(self):
        return int((time.monotonic() - self.began) * 1000)

    def say(self, line):
        self.pipe.stdin.write(json.dumps(line) + "\n")
        self.pipe.stdin.flush()

    def hand_in(self, kind, value):
        self.say({"at_ms": self.now(), "input": {"kind": kind, "value": value}})

    def run(self, path):
        self.say({
            "session": "make", "contract": CONTRACT, "servers": {"host": [CLOCK]}, "run_id": "python-host",
            "unix_ms": int(time.time() * 1000), "secrets": [],
        })
        blobs = set()
        with open(path, "w", encoding="utf-8") as transcript:
            for line in map(json.loads, self.pipe.stdout):
                if "error" in line:
                    raise SystemExit(f"refused: {line['error']['message']}")
                if "ready" in line:
                    transcript.write(line["ready"]["header"])
                    self.hand_in(**line["ready"]["start"])
                    continue
                kind, value = line["output"]["kind"], line["output"].get("value")
                if kind == "append":
                    # Entries come in order; blobs belong behind the last entry, sorted.
                    is_blob = lambda text: text.startswith('{"blob"')
                    blobs.update(filter(is_blob, line["transcript"]))
                    transcript.writelines(text for text in line["transcript"] if not is_blob(text))
                    transcript.flush()
                    os.fsync(transcript.fileno())
                    self.hand_in("durable", value["entries"][-1]["seq"])
                elif kind == "done":
                    transcript.writelines(sorted(blobs))
                    print(value["class"])
                    break
                else:
                    self.perform(kind, value)
        self.pipe.stdin.close()
        return self.pipe.wait()

    def perform(self, kind, value):
        """Does what the session asks for. This host needs no timer, approval, summary or agent."""
        if kind == "probe":
            targets = [{"detail": "canned", "responsive": True} for _ in value["headers"]]
            self.hand_in("probed", {"targets": targets})
        elif kind == "send":
            body = base64.b64encode(json.dumps(next(self.model)).encode()).decode()
            meta = {"headers": [], "received_unix_ms": int(time.time() * 1000), "status": 200}
            self.hand_in("response", {"inference": value["inference"]["inference"], "meta": meta, "bytes": body})
        elif kind == "call":
            call, text = value["order"]["invocation"], "12:00 in Zürich"
            result = {
                "bytes_in": size(call["arguments"]), "bytes_out": size(text), "status": "ok", "tokens": 0,
                "content": [{"kind": "text", "value": text}], "started_at_ms": self.now(), "duration_ms": 0,
                "tool": call["name"], "tool_call_id": call["id"],
            }
            self.hand_in("tool_result", {"call": value["order"]["call"], "outcome": {"kind": "returned", "value": result}})
        elif kind == "delta":
            print(f"model: {value['text']}", file=sys.stderr)


if __name__ == "__main__":
    program = sys.argv[1] if len(sys.argv) > 1 else "monolith"
    raise SystemExit(Host(program).run("run.jsonl"))
