#!/usr/bin/env python3
"""Verifies transcripts of monolith without monolith: python3 verify.py FILE... [--open]

Written from docs/transcript-format.md alone. Exit 0: every file holds; 7: one does not; 4: one could not be read.
Needs Python 3.9 or newer and the package blake3. README.md beside this says what is checked and what cannot be.
"""
import base64, decimal, json, re, sys

from blake3 import blake3

# The keys of every object, `?` for those that may be left out. A row is named by the key that its object stands under, or by its kind.
ROWS = """header: contract format run_id; blob_line: blob bytes; entry: action event hash seq; event: at_ms event;
action: adapter_version attempt checks? closing? context? conversation_digest counters effects? from kind length? model_fingerprint
  model_profile_id note? outcome? policy? predicate? seq state_digest step_id target to;
checks: detail name ok; outcome: class code; policy: decision matched; predicate: item name;
context: blocked? ctx expected limit pending projected remaining schema; decision: grounds policy rules_hash rules_version;
counters: calls cost_micro_usd executed executed_ok format_retries inferences resumes tokens_cache_read tokens_in tokens_out turns;
infer: attempt inference notices target tools; execute: arguments_hash call id name; wait: until_ms;
await_approval approval_given approval_denied: arguments_hash call; resumed: contract_hash tools_changed;
run_started: bring_up contract_hash intent_words messages parent? run_id started_unix_ms workspace?; bring_up: detail server;
parent: head run_id; probed: targets; targets: detail responsive; tool_returned: call outcome;
inference_returned: gate_breached gated? inference request_hash result usage;
inference_failed: fault gated? inference request_hash? usage?;
fault: class message raw_hash? retry_after_ms? status?; usage: cache_read cost_micro_usd? estimated input output;
messages canonical_message: content reasoning? role tokens tool_call_id? tool_calls?; withheld: blank bytes hash;
tool_calls: arguments id name raw_payload? source_model; repair: original repaired steps; error: code message;
result: adapter_version canonical_message? failure_code? pointer? raw_hash repair? status stop usage? withheld?;
returned: bytes_in bytes_out content duration_ms error? full? started_at_ms status tokens tool tool_call_id; malformed: detail raw_hash;
connection_lost: detail; resource: blob bytes mime_type;
probe cancel finish inference call text interrupted effect_lost timer_fired stop_requested timed_out cancelled tool_changed:"""
ROWS = {name: keys.split() for names, keys in (row.split(":") for row in ROWS.split(";")) for name in names.split()}
GENESIS, ENTRY = "monolith transcript v1 genesis", "monolith transcript v1 entry"
STATES = ["PRECHECK", "INFER", "VALIDATE_CALLS", "EXECUTE", "OBSERVE", "COMMIT", "TERMINATE"]

def hold(condition, text):
    if not condition:
        raise ValueError(text)

def check_keys(value, name):
    """An object has the keys of its row or is a {kind, value}; a list holds what its name says; numbers are whole and exact."""
    for item in value if isinstance(value, list) else ():
        check_keys(item, name)
    if isinstance(value, dict):
        kind = None if name == "action" else value.get("kind")
        row = ["kind", "value?"] if kind else ROWS.get(name, [])
        hold(not kind or kind in ROWS, f"{name}: unknown kind {kind!r}")
        for key in value:
            hold(key in row or key + "?" in row and value[key] != [] and value[key] is not False, f"{name}: {key!r} may not stand here")
            check_keys(value[key], kind if key == "value" else key)
        for key in row:
            hold(key in value or key[-1] == "?", f"{name}: no {key}")
    elif isinstance(value, (int, float)):
        hold(isinstance(value, int) and 0 <= value < 2**53, f"{name}: not a whole number from 0 to 2^53 - 1")
    hold(value is not None or name in ("event", "raw_hash"), f"{name}: null")

def dump(value, depth=1):
    """The canonical text of RFC 8785."""
    hold(depth <= 128 or not isinstance(value, (dict, list)), "nested too deep")
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{dump(key)}:{dump(value[key], depth + 1)}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(dump(item, depth + 1) for item in value) + "]"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return json.dumps(value, ensure_ascii=False)
    text = repr(float(value))  # a number, as ECMAScript writes it
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        text = format(decimal.Decimal(text), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return re.sub("e([+-])0*", r"e\1", text)

def plain(text):
    return blake3(text.encode()).digest()

def keyed(context, *fields):
    return blake3(b"".join(len(field).to_bytes(8, "little") + field for field in fields), derive_key_context=context).digest()

def blob_names(value, gated=False):
    """Every blob that an event names: whether its bytes are needed, may be withheld, or are made again by a replay (request)."""
    gated = gated or isinstance(value, dict) and value.get("gated")
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key in ("raw_hash", "full", "blob") and inner:
            yield inner, "withheld" if gated else "needed"
        elif key in ("request_hash", "withheld"):
            yield (inner, "request") if key == "request_hash" else (inner["hash"], "withheld")
        else:
            yield from blob_names(inner, gated)

class Transcript:
    """What was read so far; `line` is where a flaw would be."""

    def __init__(self, open_run):
        self.line, self.head, self.length, self.last = 0, None, 0, {"kind": "", "to": "PRECHECK", "step_id": 0}
        self.open_run, self.named, self.blobs, self.heads, self.signed = open_run, {}, [""], {}, [0]

    def take(self, raw):
        self.line += 1
        hold(raw.endswith(b"\n") and len(raw) <= 2**29, "no line feed at its end, or longer than 512 MiB")
        record = json.loads(text := raw[:-1].decode())
        hold(isinstance(record, dict) and dump(record) == text, "not an object in canonical form")
        name = "header" if self.head is None else next((name for name in ("blob", "checkpoint") if name in record), "entry")
        getattr(self, name)(record, text)
        self.heads[self.length] = self.head

    def header(self, record, _):
        hold(record.get("format") == "monolith-transcript/1", f"format {record.get('format')!r} is not known")
        contract, self.run_id = record.pop("contract"), record["run_id"]
        check_keys({**record, "contract": ""}, "header")
        hold(contract["format"] == "monolith-contract/1", f"contract format {contract['format']!r} is not known")
        hold(re.fullmatch("[a-z0-9][a-z0-9._-]{0,63}", self.run_id), "run_id: not one")
        claimed, self.contract = contract.pop("contract_hash", None), plain(dump(contract))
        hold(claimed == self.contract.hex(), f"contract_hash: computed {self.contract.hex()}")
        claimed, contract_id = contract.pop("contract_id", None), "c-" + plain(dump(contract)).hex()[:16]
        hold(claimed == contract_id, f"contract_id: computed {contract_id}")
        self.head = keyed(GENESIS, self.contract, self.run_id.encode())

    def entry(self, record, text):
        check_keys(record, "entry")
        action, last, event = record["action"], self.last, (record["event"] or {}).get("event", {})
        hold(self.blobs == [""] and self.signed == [0], "an entry after a blob or a checkpoint")
        hold(record["seq"] == action["seq"] == self.length, f"seq: expected {self.length}")
        before, after = text[len('{"action":'):].split(',"event":', 1)
        hashes = plain(before), plain(after[:after.rindex(',"hash":"')])
        state, *model = (action[key].encode() for key in ("to", "adapter_version", "model_profile_id", "model_fingerprint"))
        link = [self.contract, state, *hashes, *model]
        self.head = keyed(ENTRY, self.head, *link)
        if self.length == 0:
            hold(event.get("kind") == "run_started", "event: not run_started")
            run_id, contract = event["value"]["run_id"], event["value"]["contract_hash"]
            if run_id != self.run_id and record["hash"] == keyed(ENTRY, keyed(GENESIS, self.contract, run_id.encode()), *link).hex():
                self.line = 1  # the chain holds under this name: it is the header that is wrong
            hold(run_id == self.run_id and contract == self.contract.hex(), "header and event differ in run_id or contract_hash")
        hold(record["hash"] == self.head.hex(), f"hash: computed {self.head.hex()}")
        seal, self.length, self.last = action["kind"] == "seal", self.length + 1, action
        hold((action["kind"] == "start") == (self.length == 1), "kind: entry 0 is the start, and no other")
        hold(action["to"] in STATES, "to: no state")
        hold(last["kind"] != "seal" and seal == (last["to"] == "TERMINATE"), "kind: one seal follows TERMINATE, and nothing else does")
        hold(action["from"] == last["to"] and action["step_id"] >= last["step_id"], "from or step_id: not after the entry before")
        hold(action.get("length") == (self.length if seal else None), "length: the number of entries, on the seal alone")
        hold(not seal or state == b"TERMINATE" and action.get("outcome") == last.get("outcome", 0), "outcome: not as decided")
        for name, need in blob_names(event):
            self.named.setdefault(name, {}).setdefault(need, self.line)

    def blob(self, record, _):
        check_keys(record, "blob_line")
        self.end_entries()
        name, data = record["blob"], base64.b64decode(record["bytes"], validate=True)
        hold(name in self.named and self.signed == [0], "named by no entry, or after a checkpoint")
        hold(name > self.blobs[-1], "not in the order of names")
        hold(base64.b64encode(data).decode() == record["bytes"], "bytes: not in canonical base64")
        hold(blake3(data).hexdigest() == name, f"bytes: their hash is {blake3(data).hexdigest()}")
        self.blobs.append(name)

    def checkpoint(self, record, _):
        self.end_entries()
        text, _, lines = record["checkpoint"].rpartition("\n\n")
        hold(len(record) == 1 and re.fullmatch("(— [^ +]+ [A-Za-z0-9+/]{8,}=*\n)+", lines), "checkpoint: not a signed note alone")
        count = int(text.split("\n")[1])
        hold(self.signed[-1] < count <= self.length, "checkpoint: not in order, or the end of the run is missing")
        outcome = "{class} {code}".format_map(self.last["outcome"]) if (count, self.last["kind"]) == (self.length, "seal") else "open"
        lines = ["monolith/run/" + self.run_id, count, base64.b64encode(self.heads[count]).decode(), "contract " + self.contract.hex()]
        hold(text == "\n".join(map(str, [*lines, "outcome " + outcome])), "checkpoint: not what the chain gives")
        self.signed.append(count)

    def end_entries(self):
        self.line, at = self.length + 1, self.line  # what is missing is missing behind the last entry
        in_progress = self.open_run and self.head and self.last["to"] != "TERMINATE"
        hold(self.last["kind"] == "seal" or in_progress, "incomplete: no seal behind this line")
        self.line = at

    def finish(self):
        self.end_entries()
        absent = {name: self.named[name] for name in self.named.keys() - set(self.blobs)}
        self.line = min((needs["needed"] for needs in absent.values() if "needed" in needs), default=0)
        hold(not self.line, "a blob that this entry names is missing")
        outcome = "{class} ({code})".format_map(self.last["outcome"]) if self.last["kind"] == "seal" else "none yet"
        requests, signed = sum("withheld" not in needs for needs in absent.values()), len(self.signed) - 1
        return [f"ok  header    {self.run_id}", f"ok  contract  {self.contract.hex()}", f"ok  chain     head {self.head.hex()}",
                f"ok  entries   {self.length}", f"ok  seal      {outcome}", f"ok  blobs     {len(self.blobs) - 1}, each hashed",
                f"    missing   {requests} request bodies, {len(absent) - requests} withheld; {signed} signatures unchecked", "verified at level L0"]

def main(arguments):
    code, paths = 0, [path for path in arguments if path != "--open"]
    for path in paths:
        transcript = Transcript("--open" in arguments)
        try:
            with open(path, "rb") as lines:
                for raw in lines:
                    transcript.take(raw)
            report = transcript.finish()
        except OSError as error:
            report, code = [f"cannot be read: {error.strerror}"], code or 4
        except Exception as flaw:  # what cannot be computed does not hold
            report = [f"NOT VERIFIED at line {transcript.line}: {flaw if isinstance(flaw, ValueError) else repr(flaw)}"]
            code = 7
        print("\n".join(report[:-1] + [f"{path}: {report[-1]}"]))
    return code if paths else __doc__

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
