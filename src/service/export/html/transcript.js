// Reads a transcript and verifies it, after docs/audit/transcript-format.md alone. Needs notes.js; knows nothing of the page.
const transcript = (() => {
  const { Flaw, dump, encoder, fromBase64, hex, hold, readAnswer, readNote, readTombstone, toBase64 } = notes;
  // Where the tools of a server come from, and the prefix of their own names, by the kind of the server.
  const OFFERS = {
    agents: () => ["agent", "agent__"], builtin: () => ["builtin", ""], mcp: (name) => [`mcp:${name}`, `${name}__`],
    openapi: (name) => [`openapi:${name.replace(/^rest__/, "")}`, `${name}_`], rest: (name) => [`rest:${name.replace(/^rest__/, "")}`, "rest__"],
  };
  const STATES = ["PRECHECK", "INFER", "VALIDATE_CALLS", "EXECUTE", "OBSERVE", "COMMIT", "TERMINATE"];
  const ITEM_ENDS = ["success", "failure", "denied", "timeout"];
  const ITEM_STATES = ["blocked", "queued", "running", "testing", "publishing", "rolled_back", ...ITEM_ENDS];
  // The machines, by the format of the document that a transcript is bound to.
  const MACHINES = new Map([["monolith-contract/1", "run"], ["monolith-workflow/1", "workflow"], ["monolith-work/1", "item"]]);

  // The keys of every object, `?` for those that may be left out; a row is named by the key that its object stands
  // under, or by its kind.
  const ROWS = new Map(`
    header: contract format run_id; entry: action event hash seq; blob_line: blob bytes; checkpoint: checkpoint;
    tombstone: tombstone;
    action: adapter_version attempt blocked? checks? closing? context? conversation_digest counters discarded? dropped_targets? effects? flow? from kind length?
      model_fingerprint model_profile_id note? outcome? policy? predicate? report? seq state_digest step_id target to;
    counters: agents_ok? below_cost_micro_usd? below_tokens? below_tools_ok? calls cost_micro_usd executed executed_ok format_retries inferences resumes tokens_cache_read tokens_in
      tokens_out turns;
    checks: detail name ok; context: ctx expected limit pending projected remaining schema;
    policy: decision matched; decision: grounds policy rules_hash rules_version; predicate: item name;
    outcome: class code;
    probe cancel finish inference call text interrupted effect_lost timer_fired stop_requested suspended timed_out cancelled
      restart_in_progress:;
    infer: attempt inference left_out? notices target tools; sample summarise: call inference target; execute: arguments_hash call id name; delegate: arguments_hash call grant id labels? name; grant: max_cost_micro_usd? max_tokens total_timeout_ms; child: cost_micro_usd entries head labels? outcome run_id tokens tools_ok;
    await_approval: arguments_hash asked_by? call; asked_by: approval? flow?; answerer: key signature;
    approval_denied: answerer? arguments_hash call proposal? reason?; approval_given: answerer? arguments_hash call content? reason?;
    input_required: question resume?; sampling_required: bytes max_tokens prompt resume?; wait: until_ms;
    event: at_ms event;
    inherited: labels messages; run_started: addresses? bring_up confinement? contract_hash inherited? intent_words messages parent? provider_states? run_id started_unix_ms tokenizer_fault? tool_servers? workspace?;
    bring_up: cause? detail scopes? server; parent: call? head run_id; probed: targets; targets: detail properties? responsive server_headers?;
    messages canonical_message: content observed? reasoning? role tokens tool_call_id? tool_calls;
    invocation tool_calls: arguments fault? id name raw_payload? source_model; call_streamed: index inference invocation;
    provider_state: left_out? members target; members: bytes length? name? place; target: adapter_version model provider; provider_states: message provider_state;
    inference_returned: gate_breached gated? inference provider_state? redacted? request_hash result server_headers? usage;
    result: adapter_version canonical_message excerpt? failure_code pointer? raw_hash repair? served_by? status stop stop_word? tag_warnings? usage? withheld?;
    tag_warnings: flaw slot?; served_by: model? system_fingerprint?; server_headers properties: name value;
    tool_servers: instructions? name? protocol server version?;
    repair: original repaired steps; usage: cache_read cache_write? cost_fault? cost_micro_usd? estimated input output;
    withheld: blank bytes hash report_bytes?; inference_failed: fault gated? inference redacted? request_hash? usage?;
    fault: class message parameters? permanent? raw_hash? retry_after_ms? status? unknown_model?; tool_returned: call child? exchanges? outcome; exchanges: answer content? message method requested_schema? url?;
    changes: files incomplete?; files: after? before? lines_added lines_removed path; returned: bytes_in bytes_out changes? content duration_ms error? full? started_at_ms status tokens tool tool_call_id;
    error: code message; resource: blob bytes mime_type; malformed: detail raw_hash; connection_lost restart_failed tool_changed: detail;
    blocked: dropped? limit projected reason remaining target; dropped: original replacement; dropped_targets: limit? projected? reason target;
    report: bytes format hash source warnings?; observed: duration_ms status; flow: action call rule seen tool; seen: entry label tool;
    resumed: addresses? bring_up? confinement? contract_hash elapsed_ms? tool_servers? tools_changed; addresses: address provider proxy?;
    confinement: is server; confined: landlock memory?; unavailable off:`
    .split(";").flatMap((row) => {
      const [names, keys] = row.split(":");
      return names.trim().split(/\s+/).map((name) => [name, keys.trim().split(/\s+/).filter(Boolean)]);
    }));

  // The types of values by key: that of `row.key` comes before that of `key`, and what is not named is text. `wait` has a
  // value as an effect alone.
  const TYPES = new Map(`
    number: agents_ok at_ms attempt bytes bytes_in bytes_out below_cost_micro_usd below_tokens below_tools_ok cache_read cache_write call call.value calls cost_micro_usd ctx duration_ms elapsed_ms entries executed executed_ok expected
    format_retries index inference inference.value inferences input item landlock length limit lines_added lines_removed max_cost_micro_usd max_tokens original output pending projected remaining replacement report_bytes resumes retry_after_ms
    rule asked_by.flow rules_version schema inherited.messages provider_states.message seen.entry seq started_at_ms started_unix_ms fault.status step_id target tokens tokens_cache_read tokens_in tokens_out tools_ok total_timeout_ms turns until_ms approval; truth: blank cost_fault
    estimated gate_breached gated incomplete ok permanent redacted responsive tools unknown_model; hash: after arguments_hash before blob contract_hash conversation_digest full hash head prompt raw_hash request_hash
    rules_hash state_digest workspace; object: action answerer asked_by changes child context counters decision dropped error event fault grant inherited invocation is observed outcome parent policy predicate
    provider_state provider_state.target repair report result returned.error served_by usage value withheld; objects: addresses blocked bring_up checks confinement returned.content dropped_targets effects exchanges files flow members messages properties provider_states seen
    server_headers tag_warnings targets tool_calls tool_servers; texts: intent_words labels left_out matched notices parameters scopes steps tools_changed warnings; numbers: discarded; text: blob_line.bytes members.bytes flow.action flow.call invocation.fault tool_calls.fault repair.original decision.policy blocked.target
    dropped_targets.target properties.value server_headers.value text.value interrupted.value unavailable.value; object?: entry.event canonical_message; text?: failure_code; hash?: malformed.raw_hash;
    nothing: cancel.value cancelled.value finish.value off.value probe.value stop_requested.value suspended.value timed_out.value timer_fired.value restart_in_progress.value wait.value`
    .split(";").flatMap((row) => {
      const [type, keys] = row.split(":");
      return keys.trim().split(/\s+/).map((key) => [key, type.trim()]);
    }));
  const isText = (value) => typeof value === "string";
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const FITS = {
    text: isText,
    hash: (value) => isText(value) && /^[0-9a-f]{64}$/.test(value),
    number: (value) => typeof value === "number",
    numbers: (value) => Array.isArray(value) && value.every((one) => typeof one === "number"),
    truth: (value) => typeof value === "boolean",
    object: isObject,
    objects: (value) => Array.isArray(value) && value.every(isObject),
    texts: (value) => Array.isArray(value) && value.every(isText),
    nothing: () => false,
  };
  // Where a {kind, value} stands.
  const KINDS = new Set(["action.effects", "event.event", "returned.content", "tool_returned.outcome", "confinement.is", "effect_lost.value"]);

  // The keys that may have no value.
  const NULLABLE = new Set(["event", "raw_hash", "canonical_message", "failure_code"]);

  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  function without(object, ...left) {
    return Object.fromEntries(Object.entries(object).filter(([key]) => !left.includes(key)));
  }

  function checkKeys(value, name, place = "") {
    if (Array.isArray(value)) {
      for (const item of value) checkKeys(item, name, place);
    } else if (value !== null && typeof value === "object") {
      const kind = KINDS.has(place) ? value.kind : undefined;
      const known = KINDS.has(place) ? ROWS.has(kind) : ROWS.has(name);
      hold(known, () => `${name}: not an object, or of an unknown kind: ${JSON.stringify(kind)}`);
      const timed = kind === "wait" && place === "action.effects";
      const empty = TYPES.get(`${kind}.value`) === "nothing" && !timed;
      const row = kind ? (empty ? ["kind"] : ["kind", "value"]) : ROWS.get(name);
      for (const [key, inner] of Object.entries(value)) {
        const optional = row.includes(`${key}?`) && inner !== false && !(Array.isArray(inner) && inner.length === 0);
        hold(row.includes(key) || optional, () => `${name}: ${JSON.stringify(key)} may not stand here`);
        const here = `${kind ?? name}.${key}`;
        const type = timed && key === "value" ? "object" : TYPES.get(here) ?? TYPES.get(key) ?? "text";
        const left = type.endsWith("?") && inner === null;
        hold(left || FITS[type.replace("?", "")](inner), () => `${name}: ${key}: not of its type`);
        checkKeys(inner, key === "value" ? kind : key, here);
      }
      for (const key of row) hold(key.endsWith("?") || Object.hasOwn(value, key), () => `${name}: no ${key}`);
      const either = (value.canonical_message === null) !== (value.failure_code === null);
      hold(name !== "result" || either, () => `${name}: a message or a failure code, and not both`);
    } else if (typeof value === "number") {
      hold(Number.isSafeInteger(value) && value >= 0, () => `${name}: not a whole number from 0 to 2^53 - 1`);
    }
    hold(value !== null || NULLABLE.has(name), () => `${name}: null`);
  }

  // BLAKE3 in derive-key mode over fields, each behind its length.
  function keyed(context, ...fields) {
    const total = fields.reduce((sum, field) => sum + 8 + field.length, 0);
    const material = new Uint8Array(total), view = new DataView(material.buffer);
    let at = 0;
    for (const field of fields) {
      view.setBigUint64(at, BigInt(field.length), true);
      material.set(field, at + 8);
      at += 8 + field.length;
    }
    return blake3.deriveKey(context, material);
  }

  const derive = (what, ...fields) => keyed(`monolith transcript v1 ${what}`, ...fields);

  // The blobs that an event names: [hash, "needed" | "withheld" | "request", key].
  function* blobNames(value, gated = false, redacted = false) {
    if (value === null || typeof value !== "object") return;
    const closed = gated || value.gated === true, lost = redacted || value.redacted === true;
    for (const [key, inner] of Object.entries(value)) {
      if (["raw_hash", "full", "blob"].includes(key) && inner) {
        // The bytes of a redacted answer were never kept.
        if (!lost) yield [inner, closed ? "withheld" : "needed", key];
      }
      else if (key === "request_hash") yield [inner, "request", key];
      else if (key === "withheld" && inner) yield [inner.hash, "withheld", key];
      else yield* blobNames(inner, closed, lost);
    }
  }

  // The same of an event of a work item: the output of its tests.
  function* testedBlob({ kind, value }) {
    const name = kind === "tested" ? value?.output_blob : undefined;
    if (FITS.hash(name)) yield [name, "needed", "output_blob"];
  }

  // The limit that a line passes, if it does; found before anything is built from it.
  function tooLarge(raw) {
    if (raw.length > 2 ** 27) return "longer than 128 MiB";
    const start = String.fromCharCode(...raw.subarray(0, 12));
    if (start === '{"contract":' && raw.length > 2 ** 25) return "a header longer than 32 MiB";
    let values = 0, depth = 0, deepest = 0, opened = false, quoted = false;
    for (let at = 0; at < raw.length; at++) {
      const byte = raw[at];
      if (quoted) {
        if (byte === 0x5c) at++;
        else if (byte === 0x22) quoted = false;
        continue;
      }
      const closes = byte === 0x7d || byte === 0x5d, opens = byte === 0x7b || byte === 0x5b;
      if (byte === 0x2c || (opened && !closes)) values++;
      opened = opens;
      depth += opens ? 1 : closes ? -1 : 0;
      deepest = Math.max(deepest, depth);
      quoted = byte === 0x22;
    }
    if (values > 2 ** 18) return "more than 262144 members and items";
    return deepest > 128 ? "nested too deep" : "";
  }

  // The lines of a file as {number, raw, text?, record?}; what cannot be read has no record.
  function* lines(bytes) {
    for (let from = 0, number = 1; from < bytes.length; number++) {
      const feed = bytes.indexOf(10, from);
      const to = feed < 0 ? bytes.length : feed;
      const line = { number, raw: bytes.subarray(from, feed < 0 ? to : to + 1), ended: feed >= 0 };
      try {
        line.large = tooLarge(line.raw);
        if (line.large) throw new Flaw(line.large);
        line.text = decoder.decode(bytes.subarray(from, to));
        line.record = JSON.parse(line.text);
      } catch {
        // The verifier says so at its line.
      }
      yield line;
      from = to + 1;
    }
  }

  // The hash of the document that a work item is bound to, from its start or its receipt.
  const boundTo = ({ contract_hash, item }) => hex(blake3.hash(encoder.encode(dump({ contract_hash, format: "monolith-work/1", item }))));

  // Takes lines in order; throws a Flaw at the first that does not hold. With `open`, a run may lack its seal.
  class Verifier {
    constructor({ open = false } = {}) {
      this.open = open;
      this.line = 0;
      this.head = null;
      this.heads = [];
      this.last = { kind: "", to: "PRECHECK", step_id: 0 };
      this.named = new Map();
      this.blobs = [];
      this.stones = [];
      this.notes = [];
      this.answers = [];
      this.earlier = derive("checkpoints");
      this.signedTo = 0;
    }

    take(line) {
      this.line = line.number;
      hold(line.ended, "no line feed at its end");
      hold(!line.large, line.large);
      const { text, record } = line;
      hold(record !== null && typeof record === "object" && !Array.isArray(record), "not a JSON object in UTF-8");
      hold(dump(record) === text, "not in canonical form");
      if (this.head === null) this.header(record);
      else if (Object.hasOwn(record, "blob")) this.blob(record);
      else if (Object.hasOwn(record, "tombstone")) this.tombstone(record);
      else if (Object.hasOwn(record, "checkpoint")) this.checkpoint(record);
      else this.entry(record, text);
    }

    header(record) {
      const { contract } = record;
      const formats = `${record.format}, ${contract?.format}`;
      const machine = MACHINES.get(contract?.format);
      hold(record.format === "monolith-transcript/1" && machine, `unknown format: ${formats}`, "unknown version");
      Object.assign(this, { item: machine === "item", workflow: machine !== "run" });
      checkKeys({ ...record, contract: "" }, "header");
      hold(/^[a-z0-9][a-z0-9._-]{0,63}$/.test(record.run_id), "run_id: not one");
      this.runId = record.run_id;
      if (this.workflow) {
        const keys = Object.keys(contract).sort().join();
        hold(!this.item || keys === "contract_hash,format,item", "contract: its keys are contract_hash, format, item");
        // A workflow is bound to its definition, an item to itself with its contract; neither states its hash.
        this.contract = blake3.hash(encoder.encode(dump(contract)));
        Object.assign(this, { contractHash: hex(this.contract), contractId: String((contract.item ?? contract).id), last: { kind: "", to: "RUNNING" } });
        this.head = this.genesis = derive("genesis", this.contract, encoder.encode(this.runId));
        return;
      }
      this.contract = blake3.hash(encoder.encode(dump(without(contract, "contract_hash"))));
      this.contractHash = hex(this.contract);
      hold(contract.contract_hash === this.contractHash, `contract_hash: computed ${this.contractHash}`);
      const id = hex(blake3.hash(encoder.encode(dump(without(contract, "contract_hash", "contract_id")))));
      this.contractId = `c-${id.slice(0, 16)}`;
      hold(contract.contract_id === this.contractId, `contract_id: computed ${this.contractId}`);
      this.pins(contract);
      this.head = this.genesis = derive("genesis", this.contract, encoder.encode(this.runId));
    }

    // Every pin is the one of what the contract says of the tool, and of the tools of a server.
    pins(contract) {
      const hash = (text) => hex(blake3.hash(encoder.encode(text)));
      for (const [name, server] of Object.entries(contract.servers)) {
        const [origin, prefix] = (OFFERS[server.kind] ?? OFFERS.mcp)(name), pins = [];
        for (const tool of contract.tools) {
          if (tool.origin !== origin) continue;
          const { annotations, description, input_schema: inputSchema } = tool;
          const own = tool.name.startsWith(prefix) ? tool.name.slice(prefix.length) : tool.name;
          const pin = hash(dump({ annotations, description, inputSchema, name: own, origin }));
          hold(tool.pin === pin, `contract: the pin of ${tool.name} is not ${pin}`);
          pins.push(pin);
        }
        const pin = hash(pins.sort().join("\n"));
        hold(!server.available || server.pin === pin, `contract: the pin of the server ${name} is not ${pin}`);
      }
    }

    entry(record, text) {
      if (this.workflow) hold(Object.keys(record).join() === "action,event,hash,seq" && isObject(record.action), "entry: its keys are action, event, hash, seq");
      else checkKeys(record, "entry");
      const { action } = record, length = this.heads.length;
      // The dependencies of an item decide in which state it begins.
      if (this.item && length === 0) this.last = { kind: "", to: action.to };
      const last = this.last;
      const event = record.event?.event ?? {};
      hold(this.blobs.length + this.stones.length + this.notes.length === 0, "an entry behind the entries");
      hold(record.seq === length && action.seq === length, `seq: expected ${length}`);
      const middle = text.indexOf(',"event":'), end = text.lastIndexOf(',"hash":"');
      const link = [
        this.contract,
        encoder.encode(action.to),
        blake3.hash(encoder.encode(text.slice('{"action":'.length, middle))),
        blake3.hash(encoder.encode(text.slice(middle + ',"event":'.length, end))),
        // A workflow asks no model itself.
        ...[action.adapter_version, action.model_profile_id, action.model_fingerprint].map((field) => encoder.encode(this.workflow ? "" : field)),
      ];
      this.head = derive("entry", this.head, ...link);
      if (length === 0) {
        const begins = this.workflow ? "started" : "run_started";
        hold(event.kind === begins, `event: not ${begins}`);
        const runId = event.value[this.item ? "work_id" : "run_id"];
        const contractHash = this.item ? boundTo(event.value) : event.value[this.workflow ? "definition_hash" : "contract_hash"];
        if (runId !== this.runId) {
          const genesis = derive("genesis", this.contract, encoder.encode(runId));
          // The chain holds under that name: it is the header that is wrong.
          if (hex(derive("entry", genesis, ...link)) === record.hash) this.line = 1;
        }
        hold(runId === this.runId && contractHash === this.contractHash, "header and event differ in run_id or contract_hash");
      }
      hold(record.hash === hex(this.head), () => `hash: computed ${hex(this.head)}, stated ${record.hash}`);
      const allowed = event.kind === "approval_given";
      if ((allowed || event.kind === "approval_denied") && event.value.answerer) {
        // Whether it holds is asked of the browser, which answers later.
        this.answers.push({ line: this.line, ...readAnswer(event.value, allowed, hex(this.heads[0][0])) });
      }
      const seal = action.kind === "seal";
      hold((action.kind === "start") === (length === 0), "kind: entry 0 is the start, and no other");
      hold(this.item ? ITEM_STATES.includes(action.to) : this.workflow || STATES.includes(action.to), "to: no state");
      const ends = this.item ? ITEM_ENDS.includes(action.to) : last.to === "TERMINATE";
      hold(last.kind !== "seal" && seal === ends, "kind: one seal follows TERMINATE, or ends a work item, and nothing else does");
      hold(action.from === last.to && (this.workflow || action.step_id >= last.step_id), "from or step_id: not after the entry before");
      hold(action.length === (seal ? length + 1 : undefined), "length: the number of entries, on the seal alone");
      const outcome = this.item ? seal && { class: action.end?.status, code: action.from } : action.outcome;
      const words = outcome ? `${outcome.class} ${outcome.code}` : "open";
      hold(!outcome || (this.item ? /^[a-z]+ [a-z_]+$/ : /^[A-Z_]+ [a-z_]+$/).test(words), "outcome: no class and code");
      const decided = last.outcome && action.outcome && dump(last.outcome) === dump(action.outcome);
      hold(!seal || (this.item ? outcome.class === action.to : action.to === "TERMINATE" && decided), "outcome: not as decided");
      this.last = action;
      this.heads.push([this.head, seal ? words : "open"]);
      // What the steps of a workflow and the run of an item name is in their own runs.
      for (const [name, need] of this.item ? testedBlob(event) : this.workflow ? [] : blobNames(event)) {
        const needs = this.named.get(name) ?? this.named.set(name, { seq: length }).get(name);
        needs[need] ??= this.line;
      }
    }

    blob(record) {
      checkKeys(record, "blob_line");
      this.endEntries();
      const { blob: name, bytes } = record;
      const before = this.blobs.at(-1) ?? "";
      const needs = this.named.get(name);
      // No entry can name the receipt of an item, which names the last entry.
      const isReceipt = !needs && this.item && this.last.kind === "seal" && this.receipt === undefined;
      hold((needs || isReceipt) && name > before && this.stones.length + this.notes.length === 0, "blob: named by no entry, or not in its place");
      let data;
      try {
        data = fromBase64(bytes);
      } catch {
        throw new Flaw("bytes: not base64");
      }
      hold(toBase64(data) === bytes, "bytes: not in canonical base64");
      const found = hex(blake3.hash(data));
      hold(found === name, () => `bytes: their hash is ${found}, not ${name}`);
      if (needs) needs.here = true;
      else this.takeReceipt(data);
      this.blobs.push(name);
    }

    takeReceipt(data) {
      let text, receipt;
      try {
        text = decoder.decode(data);
        receipt = JSON.parse(text);
      } catch {
        throw new Flaw("receipt: no JSON in UTF-8");
      }
      hold(isObject(receipt) && dump(receipt) === text, "receipt: not an object in canonical form");
      hold(receipt.format === "monolith-work-receipt/1", () => `receipt: unknown format: ${receipt.format}`, "unknown version");
      const stated = [receipt.work_id, receipt.work_head, boundTo(receipt), receipt.end?.status];
      const ours = [this.runId, hex(this.head), this.contractHash, this.last.to];
      hold(dump(stated.map(String)) === dump(ours), "receipt: of another item, or of another end of it");
      this.receipt = receipt;
    }

    tombstone(record) {
      checkKeys(record, "tombstone");
      this.endEntries();
      const stone = readTombstone(record.tombstone);
      hold(stone.runId === this.runId, "tombstone: of another run");
      const gone = this.named.has(stone.name) && !this.named.get(stone.name).here;
      hold(gone && stone.name > (this.stones.at(-1)?.name ?? "") && this.notes.length === 0, "tombstone: of no blob that is named and gone");
      this.named.get(stone.name).here = true;
      this.stones.push({ ...stone, line: this.line });
    }

    checkpoint(record) {
      checkKeys(record, "checkpoint");
      this.endEntries();
      const note = record.checkpoint;
      const size = Number(note.split("\n")[1]);
      hold(Number.isSafeInteger(size) && size > this.signedTo, "checkpoint: not behind the one before");
      hold(size <= this.heads.length, `checkpoint: states ${size} entries, the file has ${this.heads.length}`, "truncated");
      const [head, outcome] = this.heads[size - 1];
      const start = `monolith/run/${this.runId}\n${size}\n${toBase64(head)}\ncontract ${this.contractHash}\noutcome ${outcome}\n`;
      const end = outcome === "open" ? "" : `checkpoints ${this.notes.length} ${hex(this.earlier)}\n`;
      const stated = readNote(note, "checkpoint");
      const counted = end && stated.text.startsWith(start) && /^checkpoints ([1-9]\d*) [0-9a-f]{64}\n/.exec(stated.text.slice(start.length));
      const short = counted && Number(counted[1]) > this.notes.length;
      hold(!short, () => `checkpoint: that of the seal counts ${counted[1]} earlier ones, the file has ${this.notes.length}`, "truncated");
      hold(stated.text === start + end, "checkpoint: not what the chain and the earlier ones give");
      this.earlier = derive("checkpoints", this.earlier, stated.bytes);
      this.signedTo = size;
      this.notes.push({ size, line: this.line, note: stated });
    }

    endEntries() {
      if (this.last.kind === "seal") return;
      // What ends a run is written together with its seal, so an end without one was cut.
      if (this.open && this.last.to !== "TERMINATE") return;
      this.line = Math.max(1, this.heads.length + 1);
      const cut = this.last.to === "TERMINATE" ? "the end was cut off behind this line" : "no seal behind this line";
      throw new Flaw(cut, "incomplete");
    }

    finish() {
      hold(this.head !== null, "no line at all", "incomplete");
      this.endEntries();
      this.missing = { request: 0, withheld: 0 };
      let first = null;
      for (const needs of this.named.values()) {
        if (needs.here) continue;
        if (needs.needed !== undefined) first = first === null ? needs.needed : Math.min(first, needs.needed);
        else this.missing[needs.withheld === undefined ? "request" : "withheld"] += 1;
      }
      if (first !== null) {
        this.line = first;
        throw new Flaw("a blob that this entry names is missing", "incomplete");
      }
      hold(!this.item || this.receipt || this.last.kind !== "seal", "the receipt of the item is missing", "incomplete");
    }
  }

  return { Flaw, Verifier, blobNames, dump, encoder, fromBase64, hex, hold, keyed, lines, readNote, readTombstone, testedBlob, toBase64 };
})();
