#!/usr/bin/env python3
"""Verifies transcripts of monolith by docs/audit/transcript-format.md alone: verify.py FILE... [--open] [--key=PUBLIC_KEY]... Exit 0: all hold; 7: one does not.
A file may also be RECEIPT.json of a work item, a proof that `monolith log prove` has printed, or an in-toto statement with or without its signed envelope (DSSE),
also of another program: [--type=PAYLOAD_TYPE] [--subject=FILE or ALGORITHM:HEX]..."""
import base64, decimal, hashlib, json, os, re, sys
from blake3 import blake3

# The keys of every object, `?` for those that may be left out. A row is named by the key that its object stands under, or by its kind.
ROWS = """action: adapter_version attempt blocked? checks? closing? context? conversation_digest counters discarded? dropped_targets? effects? flow? from kind length? model_fingerprint model_profile_id
note? outcome? policy? predicate? report? seq state_digest step_id target to; provider_state: left_out? members target; members: bytes length? name? place; target: adapter_version model provider; provider_states: message provider_state; counters: agents_ok? below_cost_micro_usd? below_tokens? below_tools_ok? calls cost_micro_usd executed
executed_ok format_retries inferences resumes tokens_cache_read tokens_in tokens_out turns; wait: until_ms; probe cancel finish inference call text interrupted
effect_lost timer_fired stop_requested suspended timed_out cancelled restart_in_progress:; tombstone: tombstone; result: adapter_version canonical_message excerpt? failure_code
pointer? raw_hash repair? served_by? status stop stop_word? tag_warnings? usage? withheld?; tag_warnings: flaw slot?; served_by: model? system_fingerprint?; server_headers properties: name value; tool_servers: instructions? name? protocol server version?; repair: original repaired steps; changes: files incomplete?; files: after? before? lines_added lines_removed path; returned: bytes_in bytes_out changes? content duration_ms error? full?
started_at_ms status tokens tool tool_call_id; execute: arguments_hash call id name; delegate: arguments_hash call grant id labels? name; grant: max_cost_micro_usd? max_tokens total_timeout_ms; child: cost_micro_usd entries head labels? outcome run_id tokens tools_ok; inherited: labels messages; run_started: addresses? bring_up confinement? contract_hash inherited? intent_words messages parent? provider_states? run_id
started_unix_ms tokenizer_fault? tool_servers? workspace?; infer: attempt inference left_out? notices target tools; sample summarise: call inference target; messages canonical_message: content observed? reasoning? role tokens
tool_call_id? tool_calls; usage: cache_read cache_write? cost_fault? cost_micro_usd? estimated input output; inference_returned: gate_breached gated? inference provider_state? redacted? request_hash
result server_headers? usage; await_approval: arguments_hash asked_by? call; asked_by: approval? flow?; approval_denied: answerer? arguments_hash call proposal? reason?; approval_given: answerer? arguments_hash call content? reason?; answerer: key signature; input_required: question resume?; sampling_required: bytes max_tokens prompt resume?; context: ctx expected limit pending projected remaining schema;
inference_failed: fault gated? inference redacted? request_hash? usage?; invocation tool_calls: arguments fault? id name raw_payload? source_model; call_streamed: index inference invocation; fault: class message parameters? permanent? raw_hash?
retry_after_ms? status? unknown_model?; header: contract format run_id; decision: grounds policy rules_hash rules_version; resumed: addresses? bring_up? confinement? contract_hash elapsed_ms? tool_servers? tools_changed; confinement: is server; confined: landlock memory?; unavailable off:; addresses: address provider proxy?; resource: blob
bytes mime_type; policy: decision matched; entry: action event hash seq; tool_returned: call child? exchanges? outcome; exchanges: answer content? message method requested_schema? url?; targets: detail properties? responsive server_headers?; withheld: blank bytes hash report_bytes?;
malformed: detail raw_hash; bring_up: cause? detail scopes? server; connection_lost restart_failed tool_changed: detail; checkpoint: checkpoint; checks: detail name ok; blob_line: blob bytes; predicate:
item name; outcome: class code; parent: call? head run_id; error: code message; event: at_ms event; probed: targets; blocked: dropped? limit projected reason remaining target; dropped: original replacement; dropped_targets: limit? projected? reason target; report: bytes format hash source warnings?; observed: duration_ms status; flow: action call rule seen tool;
seen: entry label tool"""
# What stands under a key: that of `row.key` comes before that of `key`, and what is not named is text. `wait` has a value as an effect alone.
TYPES = """number: agents_ok at_ms attempt bytes bytes_in bytes_out below_cost_micro_usd below_tokens below_tools_ok cache_read cache_write call call.value calls cost_micro_usd ctx duration_ms elapsed_ms entries executed executed_ok expected
format_retries index inference inference.value inferences input item landlock length limit lines_added lines_removed max_cost_micro_usd max_tokens original output pending projected remaining replacement report_bytes resumes retry_after_ms
rule asked_by.flow rules_version schema inherited.messages provider_states.message seen.entry seq started_at_ms started_unix_ms fault.status step_id target tokens tokens_cache_read tokens_in tokens_out tools_ok total_timeout_ms turns until_ms approval; truth: blank cost_fault
estimated gate_breached gated incomplete ok permanent redacted responsive tools unknown_model; hash: after arguments_hash before blob contract_hash conversation_digest full hash head prompt raw_hash request_hash
rules_hash state_digest workspace; object: action answerer asked_by changes child context counters decision dropped error event fault grant inherited invocation is observed outcome parent policy predicate
provider_state provider_state.target repair report result returned.error served_by usage value withheld; objects: addresses blocked bring_up checks confinement returned.content dropped_targets effects exchanges files flow members messages properties provider_states seen
server_headers tag_warnings targets tool_calls tool_servers; texts: intent_words labels left_out matched notices parameters scopes steps tools_changed warnings; numbers: discarded; text: blob_line.bytes members.bytes flow.action flow.call invocation.fault tool_calls.fault repair.original decision.policy blocked.target
dropped_targets.target properties.value server_headers.value text.value interrupted.value unavailable.value; object?: entry.event canonical_message; text?: failure_code; hash?: malformed.raw_hash;
nothing: cancel.value cancelled.value finish.value off.value probe.value stop_requested.value suspended.value timed_out.value timer_fired.value restart_in_progress.value wait.value"""
ROWS = {name: keys.split() for names, keys in (row.split(":") for row in ROWS.split(";")) for name in names.split()}

TYPES = {key: kind.strip() for kind, keys in (row.split(":") for row in TYPES.split(";")) for key in keys.split()}
FITS = {"text": lambda v: type(v) is str, "hash": lambda v: type(v) is str and re.fullmatch("[0-9a-f]{64}", v), "number": lambda v: type(v) is int,
        "truth": lambda v: type(v) is bool, "object": lambda v: type(v) is dict, "objects": lambda v: type(v) is list and all(type(i) is dict for i in v),
        "texts": lambda v: type(v) is list and all(type(i) is str for i in v), "numbers": lambda v: type(v) is list and all(type(i) is int for i in v), "nothing": lambda v: False}
STATEMENT = "application/vnd.in-toto+json"  # the payload type of statements
ENDS = "success failure denied timeout".split()  # the states in which a work item has ended
KINDS = "action.effects event.event returned.content tool_returned.outcome confinement.is effect_lost.value".split()  # where a {kind, value} stands

def hold(condition, text):
    if not condition:
        raise ValueError(text)

def check_keys(value, name, place=""):  # an object has the keys of its row, or is a {kind, value}; what stands under a key is of its type
    for item in value if isinstance(value, list) else ():
        check_keys(item, name, place)
    if isinstance(value, dict):
        kind = value.get("kind") if place in KINDS else None
        hold(type(kind) is str and kind in ROWS if place in KINDS else name in ROWS, f"{name}: not an object, or of an unknown kind: {kind!r}")
        timed = kind == "wait" and place == "action.effects"
        empty = TYPES.get(f"{kind}.value") == "nothing" and not timed
        row = (["kind"] if empty else ["kind", "value"]) if kind else ROWS[name]
        for key in value:
            hold(key in row or key + "?" in row and value[key] != [] and value[key] is not False, f"{name}: {key!r} may not stand here")
            here = f"{kind or name}.{key}"
            fits = "object" if timed and key == "value" else TYPES.get(here) or TYPES.get(key, "text")
            hold(fits[-1] == "?" and value[key] is None or FITS[fits.rstrip("?")](value[key]), f"{name}: {key}: not of its type")
            check_keys(value[key], kind if key == "value" else key, here)
        for key in row:
            hold(key in value or key[-1] == "?", f"{name}: no {key}")
        either = [value.get(key) is None for key in ("canonical_message", "failure_code")]
        hold(name != "result" or either[0] != either[1], "result: a message or a failure code, and not both")
    hold(type(value) is not float and (type(value) is not int or 0 <= value < 2**53), f"{name}: not a whole number from 0 to 2^53 - 1")
    hold(value is not None or name in ("event", "raw_hash", "canonical_message", "failure_code"), f"{name}: null")

def dump(value, depth=1):  # the canonical text of RFC 8785
    hold(depth <= 128 or not isinstance(value, (dict, list)), "nested too deep")
    if isinstance(value, dict):
        return "{" + ",".join(f"{dump(k)}:{dump(value[k], depth + 1)}" for k in sorted(value, key=lambda k: k.encode("utf-16-be"))) + "}"
    if isinstance(value, list):
        return "[" + ",".join(dump(item, depth + 1) for item in value) + "]"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return json.dumps(value, ensure_ascii=False)
    text = repr(float(value))  # a number, as ECMAScript writes it
    plain = value == 0 or 1e-6 <= abs(value) < 1e21
    return format(decimal.Decimal(re.sub(r"\.0$", "", text)), "f") if plain else re.sub("e([+-])0*", r"e\1", text)

def small(raw):  # at most 2^18 members and items, found before anything is built from them
    bare = re.sub(rb'"[^"\\]*(?:\\.[^"\\]*)*"', b"0", raw, flags=re.S)
    return bare.count(b",") + len(re.findall(rb"[\[{](?![\]}])", bare)) <= 2**18

def keyed(what, *fields):
    return blake3(b"".join(len(field).to_bytes(8, "little") + field for field in fields), derive_key_context="monolith transcript v1 " + what).digest()

def blob_names(value, gated=False, lost=False):  # the blobs that an event names: needed, withheld, or a request that a replay makes again
    gated, lost = (before or isinstance(value, dict) and value.get(key) for before, key in ((gated, "gated"), (lost, "redacted")))
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key in ("raw_hash", "full", "blob") and inner and not lost:  # the bytes of a redacted answer were never kept
            yield inner, "withheld" if gated else "needed"
        elif key in ("request_hash", "withheld"):
            yield (inner, "request") if key == "request_hash" else (inner["hash"], "withheld")
        else:
            yield from blob_names(inner, gated, lost)

class Transcript:
    def __init__(self, open_run, keys):
        self.line, self.rank, self.vouched, self.head, self.length, self.stones = 0, 0, 0, None, 0, (0, "")
        self.last = {"kind": "", "to": "PRECHECK", "step_id": 0}
        self.earlier = 0, keyed("checkpoints")  # how many checkpoints came so far, and the hash of their texts
        self.open_run, self.keys, self.named, self.blobs, self.heads, self.signed, self.unknown = open_run, keys, {}, [""], [], [0, 0], 0
        self.first, self.answers = "", 0  # the hash of entry 0, and how many signed answers there were
        self.item, self.receipt = False, None  # whether it is that of a work item, and the hash of its receipt

    def take(self, raw):
        self.line += 1
        hold(len(raw) <= 2 ** (25 if raw.startswith(b'{"contract":') else 27) and small(raw), "too long, too deep, or of too many parts")
        record, text = json.loads(raw), raw[:-1].decode()
        hold(isinstance(record, dict) and (dump(record) + "\n").encode() == raw, "not an object in canonical form, or cut or too long")
        name = "header" if self.head is None else next((name for name in ("blob", "tombstone", "checkpoint") if name in record), "entry")
        before, self.rank = self.rank, "header entry blob tombstone checkpoint".split().index(name)
        if name == "entry" and self.workflow:  # what else an entry of a workflow or a work item holds is for its decoder
            hold(sorted(record) == ["action", "event", "hash", "seq"] and isinstance(record["action"], dict), "entry: its keys are action, event, hash, seq")
        else:
            check_keys({**record, "contract": ""} if name == "header" else record, "blob_line" if name == "blob" else name)
        hold(before <= self.rank, f"{name}: not in its place")
        name in ("header", "entry") or self.end_entries()
        getattr(self, name)(record, text)

    def header(self, record, _):
        contract, self.run_id, formats = record["contract"], record["run_id"], (record["format"], record["contract"]["format"])
        self.item = formats == ("monolith-transcript/1", "monolith-work/1")
        self.workflow = self.item or formats == ("monolith-transcript/1", "monolith-workflow/1")
        hold(self.workflow or formats == ("monolith-transcript/1", "monolith-contract/1"), f"unknown format or version: {formats}")
        hold(re.fullmatch("[a-z0-9][a-z0-9._-]{0,63}", self.run_id), "run_id: not one")
        if self.workflow:  # it is bound to its definition, or to the item with its contract, which states no hash of itself
            hold(not self.item or sorted(contract) == ["contract_hash", "format", "item"], "contract: its keys are contract_hash, format, item")
            self.contract, self.last = blake3(dump(contract).encode()).digest(), {"kind": "", "to": "RUNNING"}
            self.head = keyed("genesis", self.contract, self.run_id.encode())
            return
        claimed, self.contract = contract.pop("contract_hash"), blake3(dump(contract).encode()).digest()
        hold(claimed == self.contract.hex(), f"contract_hash: computed {self.contract.hex()}")
        hold(contract.pop("contract_id") == "c-" + blake3(dump(contract).encode()).hexdigest()[:16], "contract_id: not the one computed")
        for name, server in contract["servers"].items():  # a pin is that of what the contract says of the tool, and of the tools of a server
            bare, pins = name.removeprefix("rest__"), []
            origin, prefix = {"agents": ("agent", "agent__"), "builtin": ("builtin", ""), "openapi": ("openapi:" + bare, name + "_"),
                              "rest": ("rest:" + bare, "rest__"), "host": ("host", "host__")}.get(server["kind"], ("mcp:" + name, name + "__"))
            for tool in contract["tools"]:
                if tool["origin"] == origin:
                    own = {"name": tool["name"].removeprefix(prefix), "inputSchema": tool["input_schema"]}
                    pins.append(blake3(dump(own | {key: tool[key] for key in ("annotations", "description", "origin")}).encode()).hexdigest())
                    hold(tool["pin"] == pins[-1], f"contract: the pin of {tool['name']} is not {pins[-1]}")
            pin = blake3("\n".join(sorted(pins)).encode()).hexdigest()
            hold(not server["available"] or server["pin"] == pin, f"contract: the pin of the server {name} is not {pin}")
        self.head = keyed("genesis", self.contract, self.run_id.encode())

    def entry(self, record, text):
        action, last, event = record["action"], self.last, (record["event"] or {}).get("event", {})
        hold(record["seq"] == action["seq"] == self.length, f"seq: expected {self.length}")
        before, after = text[len('{"action":'):].split(',"event":', 1)
        hashes = [blake3(part.encode()).digest() for part in (before, after[:after.rindex(',"hash":"')])]
        state, *model = (b"" if self.workflow and key != "to" else action[key].encode() for key in ("to", "adapter_version", "model_profile_id", "model_fingerprint"))
        link = [self.contract, state, *hashes, *model]
        self.head = keyed("entry", self.head, *link)
        if self.length == 0:
            begins, bound = ("started", "definition_hash") if self.workflow else ("run_started", "contract_hash")
            begun = event["value"]
            run_id, contract = (begun["work_id"], bound_to(begun)) if self.item else (begun["run_id"], begun[bound])
            if self.item:  # its dependencies decide in which state it begins
                self.last = last = {"kind": "", "to": action["from"]}
                hold(action["to"] == action["from"], "from: entry 0 begins in the state in which it ends")
            if run_id != self.run_id and record["hash"] == keyed("entry", keyed("genesis", self.contract, run_id.encode()), *link).hex():
                self.line = 1  # the chain holds under this name: it is the header that is wrong
            hold((event["kind"], run_id, contract) == (begins, self.run_id, self.contract.hex()), "header and event differ in run_id or contract_hash")
        hold(record["hash"] == self.head.hex(), f"hash: computed {self.head.hex()}")
        self.first = self.first or record["hash"]
        if event.get("kind") in ("approval_given", "approval_denied") and "answerer" in event["value"]:
            self.answer(event["value"], "allowed" if event["kind"] == "approval_given" else "denied")
        seal, self.length, self.last = action["kind"] == "seal", self.length + 1, action
        hold((action["kind"] == "start") == (self.length == 1), "kind: entry 0 is the start, and no other")
        hold(not self.item or action["to"] in ["blocked", "queued", "running", "testing", "publishing", "rolled_back", *ENDS], "to: no state of a work item")
        hold(self.workflow or action["to"] in ("PRECHECK", "INFER", "VALIDATE_CALLS", "EXECUTE", "OBSERVE", "COMMIT", "TERMINATE"), "to: no state")
        is_last = action["to"] in ENDS if self.item else last["to"] == "TERMINATE"
        hold(last["kind"] != "seal" and seal == is_last, "kind: one seal follows TERMINATE, or ends a work item, and nothing else does")
        hold(action["from"] == last["to"] and (self.workflow or action["step_id"] >= last["step_id"]), "from or step_id: not after the entry before")
        words = "{class} {code}".format_map(action["outcome"]) if "outcome" in action and not self.item else ""
        words = f"{action['end']['status']} {action['from']}" if self.item and seal else words
        hold(not words or re.fullmatch("[a-z]+ [a-z_]+" if self.item else "[A-Z_]+ [a-z_]+", words), "outcome: no class and code")
        outcome = words if seal else "open"
        decided = not seal or (action["end"]["status"] == action["to"] if self.item else state == b"TERMINATE" and action["outcome"] == last.get("outcome"))
        hold(decided and action.get("length") == (self.length if seal else None), "outcome or length: not as decided, or not on the seal alone")
        self.heads.append((self.head, outcome))
        for name, need in tested_blob(event) if self.item else () if self.workflow else blob_names(event):  # what its steps name is in their own runs
            self.named.setdefault(name, {}).setdefault(need, self.line)

    def answer(self, answer, decision):  # a signature under a person's answer holds over this run, this call, these arguments
        written = "".join(f"{key} {blake3(answer[key].encode()).hexdigest() if key in answer else '-'}\n" for key in ("content", "proposal", "reason"))
        text = f"monolith/answer/1\nrun {self.first}\ncall {answer['call']}\narguments {answer['arguments_hash']}\n{decision}\n{written}"
        encoded, self.answers = answer["answerer"]["signature"], self.answers + 1
        signature = base64.b64decode(encoded, validate=True)
        hold(base64.b64encode(signature).decode() == encoded and not weak(signature[:32]), "answerer: no signature")
        public_key(answer["answerer"]["key"])[1].verify(signature, text.encode())  # raises InvalidSignature

    def blob(self, record, _):
        name, data = record["blob"], base64.b64decode(record["bytes"], validate=True)
        hold((name in self.named or self.item and not self.receipt) and name > self.blobs[-1], "named by no entry, or not in its place")
        hold((base64.b64encode(data).decode(), blake3(data).hexdigest()) == (record["bytes"], name), "bytes: not in canonical base64, or of another hash")
        self.blobs.append(name)
        if name not in self.named:  # no entry can name a receipt, for it names the last of them
            receipt, self.receipt = read_receipt(data), name
            ours = self.run_id, self.head.hex(), self.contract.hex(), self.last["to"]
            hold((receipt["work_id"], receipt["work_head"], bound_to(receipt), receipt["end"]["status"]) == ours, "receipt: of another item, or of another end of it")
        else:
            self.named[name]["here"] = None

    def note(self, note):  # the text of a signed note, and whether a given key has signed it
        (text, _, lines), known = note.rpartition("\n\n"), False
        hold(len(note.encode()) <= 2**16 and lines.count("\n") <= 64 and not re.search("[\0-\t\v-\x1f]", note), "no note")
        for line in lines.removesuffix("\n").split("\n"):
            name, encoded = re.fullmatch(r"— ([^\s+]+) ([A-Za-z0-9+/]+=*)", line).groups()
            signature = base64.b64decode(encoded, validate=True)
            hold(lines.endswith("\n") and base64.b64encode(signature).decode() == encoded and len(signature) > 4, "no signed note")
            if (name, signature[:4]) in self.keys:
                hold(not weak(signature[4:36]), "a signature of small order")
                known = self.keys[name, signature[:4]].verify(signature[4:], text.encode() + b"\n") is None  # raises InvalidSignature
            self.unknown += (name, signature[:4]) not in self.keys
        return text, known

    def tombstone(self, record, _):
        text, known = self.note(record["tombstone"])
        hold(known or not self.keys, "no key that was given has signed it")
        form = r'monolith tombstone v1\nrun (.+)\nblob ([0-9a-f]{64})\nreason (".*")\ntime (0|[1-9][0-9]*)'
        run_id, name, reason, time = re.fullmatch(form, text).groups()
        exact = dump(json.loads(reason)) == reason and len(json.loads(reason).encode()) <= 1024
        hold(exact and run_id == self.run_id and int(time) < 2**53, "not in its form, or of another run")
        hold(name in self.named and name > self.stones[1] and "here" not in self.named[name], "of no blob that is named and gone")
        self.named[name]["here"], self.vouched, self.stones = 0, self.vouched + known, (self.stones[0] + 1, name)

    def checkpoint(self, record, _):
        text, known = self.note(record["checkpoint"])
        size = int(text.split("\n")[1])
        hold(self.signed[0] < size <= self.length, f"states {size} entries: not more than the last, or the end of the file was cut off")
        head, outcome = base64.b64encode(self.heads[size - 1][0]).decode(), self.heads[size - 1][1]
        count, digest = self.earlier
        end = "" if outcome == "open" else f"\ncheckpoints {count} {digest.hex()}"
        hold(text == f"monolith/run/{self.run_id}\n{size}\n{head}\ncontract {self.contract.hex()}\noutcome {outcome}{end}",
             f"not what the chain gives, or not what the {count} checkpoints before it give: one was left out, added or changed")
        self.signed, self.earlier = [size, size if known else self.signed[1]], (count + 1, keyed("checkpoints", digest, text.encode() + b"\n"))

    def end_entries(self):
        if self.last["kind"] != "seal" and not (self.open_run and self.head and self.last["to"] != "TERMINATE"):
            self.line = self.length + 1
            hold(False, "incomplete: no seal behind this line")

    def finish(self):
        self.end_entries()
        last = self.line
        absent = [needs for needs in self.named.values() if "here" not in needs]
        self.line = min((needs["needed"] for needs in absent if "needed" in needs), default=0)
        hold(not self.line, "a blob that this entry names is missing")
        self.line = last
        hold(not self.item or self.receipt or self.last["kind"] != "seal", "the receipt of the item is missing")
        level = int(self.signed[1] == self.length and self.last["kind"] == "seal")
        hold(level or not self.keys or self.last["kind"] != "seal", "no key that was given has signed the seal")
        return [f"ok  run {self.run_id}, contract {self.contract.hex()}", f"ok  {self.length} entries, head {self.head.hex()}",
                f"ok  outcome {self.heads[-1][1] if self.heads else 'open'}", f"ok  {len(self.blobs) - 1} blobs, each hashed",
                f"    missing: {len(absent)} bodies of requests and withheld blobs, {sum('withheld' in needs for needs in absent)} of them withheld",
                f"    erased: {self.stones[0]} by design, {self.vouched} of them signed by a key that was given",
                f"    signed: the first {self.signed[1]} entries by a key that was given; {self.unknown} signatures by others",
                *([f"    answers: {self.answers} signed, each by the key that it names"] if self.answers else []), f"verified at level L{level}"]

def tested_blob(event):  # the kept output of the tests of a work item
    name = event["value"].get("output_blob") if event.get("kind") == "tested" and type(event.get("value")) is dict else None
    return [(name, "needed")] if type(name) is str and re.fullmatch("[0-9a-f]{64}", name) else []

def bound_to(value):  # the hash of the document that a work item is bound to, from its start or its receipt
    return blake3(dump({"contract_hash": value["contract_hash"], "format": "monolith-work/1", "item": value["item"]}).encode()).hexdigest()

def read_receipt(data):  # RECEIPT.json: canonical JSON
    receipt = json.loads(data)
    hold(isinstance(receipt, dict) and dump(receipt).encode() == data, "receipt: not an object in canonical form")
    hold(receipt["format"] == "monolith-work-receipt/1", f"receipt: unknown format or version: {receipt['format']}")
    return receipt

def receipt_id(data):  # a UUID of version 8 made of the first bits of its hash
    bits = int.from_bytes(blake3(data).digest()[:16], "big") & ~(0xf << 76) & ~(0x3 << 62) | 0x8 << 76 | 0x2 << 62
    return re.sub("(.{8})(.{4})(.{4})(.{4})(.{12})", r"\1-\2-\3-\4-\5", f"{bits:032x}")

def report_receipt(data, words):
    receipt, name = read_receipt(data), blake3(data).hexdigest()
    lines = [f"ok  receipt {receipt_id(data)} of work item {receipt['work_id']}: {receipt['end']['status']}", f"    tree before {receipt['before']}, after {receipt['after']}"]
    return (receipt["work_id"], name), [*lines, f"{words}receipt {name}"]

def read(data):  # JSON that every reader reads alike (RFC 7493): no key twice, no half of a surrogate pair, no number that changes in a double
    def once(pairs):
        hold(len(dict(pairs)) == len(pairs), "JSON: an object has a key twice")
        return dict(pairs)

    def number(text, kind=float):
        hold(abs(float(text)) < float("inf") and kind(text) == float(text), f"JSON: not every reader can hold {text}")
        return kind(text)

    value = json.loads(data, object_pairs_hook=once, parse_int=lambda text: number(text, int), parse_float=number, parse_constant=number)
    dump(value).encode()
    return value

def envelope(record, keys, kind, about):  # DSSE v1; a reader ignores the keys that it does not know
    decoded = lambda text: base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    payload, signatures, signers = decoded(record["payload"]), [decoded(line["sig"]) for line in record["signatures"]], []
    hold(record["payloadType"] == kind, f"payloadType: not {kind}: {record['payloadType']}")
    signed = f"DSSEv1 {len(kind.encode())} {kind} {len(payload)} ".encode() + payload
    for (name, short), key in keys.items():
        for signature in signatures:
            try:
                hold(not weak(signature[:32]), "a signature of small order")
                signers += [f"{name}+{short.hex()}"] if key.verify(signature, signed) is None else []
            except Exception:  # by another key
                pass
    hold(signers or not keys, "no key that was given has signed it")
    words = f"verified: signed by {', '.join(signers)}, " if signers else "verified, no key given: "
    if kind == STATEMENT:
        return statement(read(payload), about, words)
    hold(not about, "it is no statement, so it is about nothing")
    return None, [f"ok  {len(payload)} bytes of type {kind}", words + "its payload is not checked"]

def statement(value, about, words):  # an in-toto Statement v1
    hold(type(value) is dict and value.get("_type") == "https://in-toto.io/Statement/v1", "_type: not an in-toto Statement v1")
    listed, kind = value.get("subject"), value.get("predicateType")
    hold(FITS["objects"](listed) and listed, "subject: not a list of things")
    digests = [subject.get("digest") for subject in listed]
    hold(all(type(digest) is dict and digest and FITS["texts"](list(digest.values())) for digest in digests), "subject: a thing without its digests")
    hold(type(kind) is str and kind and type(value.get("predicate", {})) is dict, "predicateType or predicate: not of its type")
    for thing, hashes in about.items():
        alike = ([digest[name] == hashes[name] for name in digest.keys() & hashes.keys()] for digest in digests)
        hold(any(found and all(found) for found in alike), f"subject: none is {thing}")
    if kind != "urn:monolith:work-receipt:1":
        return None, [f"ok  statement {kind}", f"    about {', '.join(str(subject.get('name')) for subject in listed)}", words + "its predicate is not checked"]
    data = dump(value["predicate"]).encode()
    subjects = [{"digest": {"blake3": blake3(data).hexdigest(), "sha256": hashlib.sha256(data).hexdigest()}, "name": "RECEIPT.json"}]
    subjects += [{"digest": hashes, "name": "./" + path} for path, hashes in value["predicate"]["artifacts"].items()]
    in_order = [sorted(some, key=lambda subject: subject["name"]) for some in (listed[1:], subjects[1:])]
    hold(listed[:1] == subjects[:1] and in_order[0] == in_order[1], "subject: not the receipt and its artifacts")
    return report_receipt(data, words)

def proof(record, keys):  # that a leaf is in the log: RFC 9162, 2.1.3.2
    leaf, fn, sn = record["leaf"].encode(), record["index"], record["size"] - 1
    hold(0 <= fn <= sn and dump(json.loads(leaf)).encode() == leaf, "leaf: not in canonical form, or not in a tree of this size")
    root = hashlib.sha256(b"\0" + leaf).digest()
    for sibling in (base64.b64decode(text, validate=True) for text in record["proof"]):
        hold(sn and len(sibling) == 32, "proof: too long, or of another hash")
        last = fn & 1 or fn == sn
        root = hashlib.sha256(b"\1" + (sibling + root if last else root + sibling)).digest()
        while last and fn and not fn & 1:
            fn, sn = fn >> 1, sn >> 1
        fn, sn = fn >> 1, sn >> 1
    hold(sn == 0 and base64.b64encode(root).decode() == record["root"], "proof: it leads to another root")
    text, known = Transcript(False, keys).note(record["note"])
    hold(re.fullmatch(f"monolith/log/[0-9a-f]{{16}}\n{record['size']}\n{re.escape(record['root'])}", text), "note: not the head of a log of this size with this root")
    hold(known or not keys, "no key that was given has signed the head of the log")
    stated = json.loads(leaf)
    found = (stated["run_id"], stated["receipt"]) if "receipt" in stated else None
    return found, [f"ok  leaf {record['index']} of {record['size']}: {stated['run_id']}, head {stated['head']}", f"verified: in the log{', whose head a given key has signed' if known else ''}"]

def read_other(path, keys, kind, about):  # a file that is no transcript: the item and its receipt that it states, and the report
    data = open(path, "rb").read(2**27 + 1)
    hold(len(data) <= 2**27 and small(data), "too long, or of too many parts")
    record = read(data)
    hold(isinstance(record, dict), "not an object")
    if "payloadType" in record:
        return envelope(record, keys, kind, about)
    if "_type" in record:
        hold(not keys, "no key that was given has signed it")
        return statement(record, about, "verified, no signature: ")
    hold(not about, "it is no statement, so it is about nothing")
    hold("leaf" in record or "format" in record, "no receipt, statement, envelope or proof")
    return proof(record, keys) if "leaf" in record else report_receipt(data, "verified, no signature: ")

def weak(point, prime=2**255 - 19, eighth=0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7):  # of order 1, 2, 4 or 8
    return int.from_bytes(point, "little") % 2**255 % prime in (0, 1, prime - 1, eighth, prime - eighth)

def public_key(text):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    if re.fullmatch("[0-9a-f]{64}", text):  # a key of another program has no name
        typed = b"\1" + bytes.fromhex(text)
        name, short = "ed25519", hashlib.sha256(b"ed25519\n" + typed).hexdigest()[:8]
    else:
        name, short, typed = text.split("+", 2)
        typed = base64.b64decode(typed, validate=True)
    hold(typed[0] == 1 and not weak(typed[1:]) and hashlib.sha256(name.encode() + b"\n" + typed).hexdigest()[:8] == short, f"{text}: no Ed25519 key")
    return (name, bytes.fromhex(short)), Ed25519PublicKey.from_public_bytes(typed[1:])

def named(text):  # the digests of a file, or the one that the text is
    algorithm, colon, digest = text.partition(":")
    if colon and re.fullmatch("([0-9a-f]{2})+", digest):
        return {algorithm: digest}
    data = open(text, "rb").read()
    return {"blake3": blake3(data).hexdigest(), **{name: hashlib.new(name, data).hexdigest() for name in ("sha256", "sha384", "sha512")}}

def main(arguments):
    late, receipts = set(), {}  # the receipt of each work item, which every file must state alike
    given = lambda option: [text.removeprefix(option) for text in arguments if text.startswith(option)]
    code, paths = 0, [path for path in arguments if path != "--open" and not path.startswith(("--key=", "--type=", "--subject="))]
    try:
        keys = dict(public_key(text) for text in given("--key="))
    except Exception as fault:
        return f"--key: no public key as `monolith key show` prints it, nor one in hex: {fault!r}"
    try:
        about, kind = {text: named(text) for text in given("--subject=")}, [STATEMENT, *given("--type=")][-1]
    except OSError as fault:
        return f"--subject: no file that can be read, and no ALGORITHM:HEX: {fault}"
    for path in paths:
        transcript = Transcript("--open" in arguments, keys)
        try:
            hold(os.path.isfile(path), "it is no file")
            if not open(path, "rb").read(13).startswith(b'{"contract":') and path.endswith(".json"):
                found, report = read_other(path, keys, kind, about)
                if keys and found and "no signature" in report[-1] and found[0] not in receipts:  # another file may state it under a signature
                    hold(path not in late, "no key that was given has signed it, nor a file that states it")
                    late.add(path), paths.append(path)
                    continue
                hold(not found or receipts.setdefault(*found) == found[1], "another file states another receipt of this item")
                print("\n".join(report[:-1] + [f"{path}: {report[-1]}"]))
                continue
            hold(not about, "it is no statement, so it is about nothing")
            for raw in iter(lambda file=open(path, "rb"): file.readline(2**27 + 1), b""):
                transcript.take(raw)
            report = transcript.finish()
            hold(not transcript.receipt or receipts.setdefault(transcript.run_id, transcript.receipt) == transcript.receipt, "another file states another receipt of this item")
        except Exception as flaw:  # what cannot be computed does not hold
            report, code = [f"NOT VERIFIED at line {transcript.line}: {flaw if isinstance(flaw, ValueError) else repr(flaw)}"], 7
        print("\n".join(report[:-1] + [f"{path}: {report[-1]}"]))
    return code if paths else __doc__

sys.exit(main(sys.argv[1:]))
