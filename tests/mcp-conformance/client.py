#!/usr/bin/env python3
"""The client that the MCP conformance suite drives: one run of monolith against the server whose address is the last argument.

A scripted model makes the calls that the scenario asks for, so what is judged is what a run does on the wire. The environment
names the scenario (MCP_CONFORMANCE_SCENARIO), what it hands in (MCP_CONFORMANCE_CONTEXT) and the binary (MONOLITH).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

MONOLITH = os.environ["MONOLITH"]
SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]

# The calls of each scenario, in order; those of all others call `test-tool` of a server behind authorization.
CALLS = {
    "elicitation-sep1034-client-defaults": [("test_client_elicitation_defaults", {})],
    "http-invalid-tool-headers": [("valid_tool", {"region": "us-west1"})],
    "http-standard-headers": [("test_headers", {}), ("my-hyphenated-tool", {})],
    "initialize": [],
    "json-schema-ref-no-deref": [],
    "request-metadata": [],
    "sep-2322-client-request-state": [
        ("test_mrtr_echo_state", {}),
        ("test_mrtr_unrelated", {}),
        ("test_mrtr_no_state", {}),
        ("test_mrtr_no_result_type", {}),
    ],
    "sse-retry": [("test_reconnection", {})],
    "tools_call": [("add_numbers", {"a": 2, "b": 3})],
}
# Servers that ask for input in a call; what they ask for has defaults or is optional.
ELICITING = {"elicitation-sep1034-client-defaults", "sep-2322-client-request-state"}


def monolith(folder, *arguments):
    environment = {**os.environ, "MONOLITH_HOME": str(folder / "home")}
    return subprocess.run([MONOLITH, *arguments], cwd=folder, env=environment, text=True, capture_output=True)


def contract(folder, address, calls):
    server = {"url": address}
    if SCENARIO in ELICITING:
        server["elicitation"] = "defaults"
    document = {
        "task": f"Meet the scenario {SCENARIO}.",
        "targets": [{"provider": "demo", "model": "script"}],
        "providers": {"demo": {"type": "scripted", "file": "script.jsonl"}},
        "tool_policy": "optional",
        "max_turns": 20,
        "tool_timeout_ms": 20_000,
        "tools": {"workspace": ".", "mcp": {"c": server}},
    }
    (folder / "contract.yaml").write_text(json.dumps(document))
    lines = []
    for name, arguments in calls:
        call = {"name": f"c__{name}", "arguments": json.dumps(arguments)}
        call = {"id": "a", "type": "function", "function": call}
        lines.append(({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"))
    lines.append(({"role": "assistant", "content": "Done."}, "stop"))
    with open(folder / "script.jsonl", "w") as script:
        for message, finish in lines:
            choice = {"index": 0, "message": message, "finish_reason": finish}
            print(json.dumps({"response": {"choices": [choice]}}), file=script)


def calls_of(folder, address):
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if "toolCalls" in given:
        # Arguments are judged by the tool's schema before any call, and null is no boolean: an optional one is left out instead.
        without_null = lambda members: {name: value for name, value in members.items() if value is not None}
        return [(call["name"], without_null(call["arguments"])) for call in given["toolCalls"]]
    if SCENARIO == "json-schema-2020-12-preservation":
        # Its second tool is sent the schema of its first, as the contract holds it.
        contract(folder, address, [])
        shown = monolith(folder, "contract", "show", "--start-servers", "--json", "contract.yaml")
        tools = json.loads(shown.stdout)["tools"]
        schema = next(tool["input_schema"] for tool in tools if tool["name"].endswith("json_schema_2020_12_tool"))
        return [("json_schema_echo", {"schema": schema})]
    return CALLS.get(SCENARIO, [("test-tool", {})])


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        address = sys.argv[-1]
        contract(folder, address, calls_of(folder, address))
        ended = monolith(folder, "run", "--json", "--contract", "contract.yaml")
        print(ended.stdout)
        print(ended.stderr, file=sys.stderr)
        return ended.returncode


sys.exit(main())
