#!/usr/bin/env python3
"""The client that the MCP conformance suite drives: one run of monolith against the server whose address is the last argument.

A scripted model makes the calls that the scenario asks for, so what is judged is what a run does on the wire. The environment
names the scenario (MCP_CONFORMANCE_SCENARIO), what it hands in (MCP_CONFORMANCE_CONTEXT) and the binary (MONOLITH).
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

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


# What the scenario hands in for a client: an identity, a secret, a key.
GIVEN = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
# The metadata document of the scenario about such documents; nothing is fetched from there.
CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"
# How often a run is begun again after a login: one more than any scenario needs.
MOST_LOGINS = 3


def environment_of(folder):
    secrets = {"CLIENT_SECRET": "client_secret", "PRIVATE_KEY": "private_key_pem", "ID_TOKEN": "idp_id_token"}
    given = {variable: GIVEN[key] for variable, key in secrets.items() if key in GIVEN}
    return {**os.environ, **given, "MONOLITH_HOME": str(folder / "home")}


def monolith(folder, *arguments):
    environment = environment_of(folder)
    return subprocess.run([MONOLITH, *arguments], cwd=folder, env=environment, text=True, capture_output=True)


def oauth():
    """What a contract says of the client that the scenario hands in."""
    terms = {}
    if SCENARIO == "auth/basic-cimd":
        terms["client_id"] = CLIENT_DOCUMENT
    if "client_id" in GIVEN:
        terms["client_id"] = GIVEN["client_id"]
    if "client_secret" in GIVEN:
        terms["client_secret_env"] = "CLIENT_SECRET"
    if "private_key_pem" in GIVEN:
        terms["private_key_env"] = "PRIVATE_KEY"
    if "issuer" in GIVEN:
        terms["issuer"] = GIVEN["issuer"]
    if "idp_id_token" in GIVEN:
        terms["grant"] = "cross_app_access"
        terms["id_token_env"] = "ID_TOKEN"
        terms["idp_client_id"] = GIVEN["idp_client_id"]
        terms["idp_token_endpoint"] = GIVEN["idp_token_endpoint"]
    elif "client-credentials" in SCENARIO:
        terms["grant"] = "client_credentials"
    return terms


class Stay(urllib.request.HTTPRedirectHandler):
    """A browser that stops where it is sent to."""

    def redirect_request(self, *_):
        return None


def sent_back(address):
    """Where the authorization server sends the browser of a person who allows everything."""
    try:
        urllib.request.build_opener(Stay, urllib.request.ProxyHandler({})).open(address, timeout=20)
    except urllib.error.HTTPError as redirect:
        return redirect.headers["Location"]
    raise SystemExit("the authorization server sends the browser nowhere")


def log_in(folder, *more):
    """A login, with the browser played; whether it came about."""
    arguments = [MONOLITH, "mcp", "login", "c", "--contract", "contract.yaml", "--timeout", "20", *more]
    environment = environment_of(folder)
    pipe = subprocess.PIPE
    login = subprocess.Popen(arguments, cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    address = login.stdout.readline().strip()
    if address:
        try:
            urllib.request.urlopen(sent_back(address), timeout=20).read()
        except urllib.error.HTTPError as refused:
            print(f"the login refuses the answer: {refused.code}", file=sys.stderr)
    said = login.stderr.read()
    print(said, file=sys.stderr)
    return login.wait() == 0


def wanted_login(ended):
    """The scopes that a run's end names a login for; none where it names no login."""
    named = re.search(r"monolith mcp login c(?: --scope '([^']*)')?", ended.stdout + ended.stderr)
    return named and (["--scope", named[1]] if named[1] else [])


def contract(folder, address, calls):
    server = {"url": address}
    client = oauth()
    if client:
        server["oauth"] = client
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
    if "toolCalls" in GIVEN:
        # Arguments are judged by the tool's schema before any call, and null is no boolean: an optional one is left out instead.
        without_null = lambda members: {name: value for name, value in members.items() if value is not None}
        return [(call["name"], without_null(call["arguments"])) for call in GIVEN["toolCalls"]]
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
        for _ in range(MOST_LOGINS):
            ended = monolith(folder, "run", "--json", "--contract", "contract.yaml")
            print(ended.stdout)
            print(ended.stderr, file=sys.stderr)
            # A person who reads that, and does it.
            scopes = wanted_login(ended)
            if scopes is None or not log_in(folder, *scopes):
                return ended.returncode
        return ended.returncode


sys.exit(main())
