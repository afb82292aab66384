// What the transcript of a work item says, as the page shows it: entries, the last attempt with its figures, and the receipt. Needs run.js.
const readItem = (() => {
  const number = (value) => Number(value ?? 0);
  const EFFECTS = { prepare: "makes the copy", run: "the agent works", compare: "compares the copy", test: "runs the tests", stop: "ends what is under way",
    publish: "publishes the changes", roll_back: "takes the changes back" };
  const ENDED = { success: "The changes are in the work tree.", failure: "The work tree is as it was.", denied: "Admission denied the changes: the work tree is as it was.",
    timeout: "The deadline passed: the work tree is as it was." };

  const isItem = (lines) => lines[0]?.record?.contract?.format === "monolith-work/1";

  // The reason of a denial, in the words of the terminal.
  function denied({ kind, value }) {
    const limit = { max_files: "files", max_tool_ops: "tool ops", max_delta_size: "delta size" }[kind];
    if (limit) return `Exceeded max ${limit}: ${value.count} > ${value.limit}`;
    return kind === "duplicate" ? `Duplicate run: receipt ${value.receipt_id}` : `External effect: ${value.tool}`;
  }

  const isFolder = ({ before, after }) => [before, after].every((node) => !node || node.kind === "folder");

  // Distinct files that an attempt touched: changed paths and those of calls. A folder is no file.
  const filesOf = (capsule) => new Set([...(capsule?.changes ?? []).filter((change) => !isFolder(change)).map(({ path }) => path), ...(capsule?.touched ?? [])]).size;

  // The sum of the counts of state changes.
  const sizeOf = (capsule) => ["lambda", "o", "pi", "q"].reduce((sum, name) => sum + number(capsule?.deltas?.[name]), 0);

  // What an event says, in one line, and the marks that it earns.
  function heard({ kind, value }, { counted, words }) {
    switch (kind) {
      case "started": return { text: `the item begins${value.dependencies?.length ? `, after ${value.dependencies.join(", ")}` : ""}` };
      case "dependency_ended": return { text: `${value.id} ended: ${value.status}`, tone: value.status === "success" ? "" : "bad" };
      case "prepared": return value.missing_inputs?.length ? { text: `missing: ${value.missing_inputs.join(", ")}`, chip: "missing", tone: "bad" } : { text: "the copy is made" };
      case "refused": return { text: denied(value), chip: "denied", tone: "bad" };
      case "already_done": return { text: `an equal item did this already: receipt ${value.receipt_id}`, tone: "good" };
      case "run_ended": {
        const calls = counted(number(value.calls?.count), "call");
        return value.failure ? { text: `${calls}; ${value.failure}`, chip: "failed", tone: "bad" } : { text: `the agent is done after ${calls}` };
      }
      case "run_suspended": return { text: "the agent's run waits for a person", chip: "suspended", tone: "warn" };
      case "compared": return { text: `${counted(filesOf(value), "file")} touched, ${counted(sizeOf(value), "state change")}` };
      case "tested": return { text: `the tests ended ${value.exit_code === undefined ? "without an exit code" : `with exit code ${value.exit_code}`}`, ...(value.exit_code === 0 ? { tone: "good" } : { chip: "failed", tone: "bad" }) };
      case "moved": return { text: "the work tree changed at other paths: the tests run again", tone: "warn" };
      case "conflict": return { text: `something else changed ${value.paths.join(", ")}`, chip: "conflict", tone: "bad" };
      case "published": return { text: "the changes are in the work tree", tone: "good" };
      case "publish_failed": return { text: value.reason, chip: "failed", tone: "bad" };
      case "rolled_back": return { text: "the work tree is as it was" };
      case "roll_back_failed": return { text: value.reason, chip: "rollback failed", tone: "bad" };
      case "host_failed": return { text: value.reason, chip: "failed", tone: "bad" };
      case "timer_fired": return { text: "the deadline passed", chip: "timeout", tone: "bad" };
      case "stop_requested": return { text: "somebody asked the item to stop", chip: "stop", tone: "warn" };
      case "resumed": return { text: "another process resumed the item", chip: "resumed", tone: "warn" };
      default: return { text: words(kind) };
    }
  }

  // Takes what an event says of the attempt under way.
  function settle(item, { kind, value }, seq) {
    if (kind === "prepared") item.before = value.before;
    if (kind === "run_ended") Object.assign(item, { agent: value, agentAt: seq });
    if (kind === "compared") Object.assign(item, { capsule: value, capsuleAt: seq });
    if (kind === "tested") Object.assign(item, { tests: value, testsAt: seq });
    if (kind === "published") item.published = value.after;
  }

  const figures = ({ agent, capsule }) => ({ files: filesOf(capsule), calls: number(agent?.calls?.count), changes: sizeOf(capsule) });

  function take(run, line, clock, tools) {
    const { record } = line, { item } = run;
    if (record === null || typeof record !== "object") return;
    if (record.contract && !run.runId) {
      Object.assign(run, { contract: record.contract, runId: String(record.run_id) });
      item.is = record.contract.item ?? {};
      return;
    }
    if (record.blob) {
      run.blobs.set(String(record.blob), record.bytes);
      return;
    }
    const { action } = record, event = record.event?.event, before = clock.at;
    if (!action?.to) return;
    clock.at = number(record.event?.at_ms ?? before);
    const { at } = clock;
    if (event?.kind === "started") run.started = event.value;
    const said = event ? heard(event, tools) : { text: "" };
    if (event && action.kind !== "ignored") {
      settle(item, event, action.seq);
      if (["run_ended", "run_suspended", "resumed"].includes(event.kind)) clock.close("model", action.seq, said.tone);
      if (["tested", "conflict", "host_failed", "resumed"].includes(event.kind)) clock.close("tool", action.seq, said.tone);
    }
    for (const [name] of transcript.testedBlob(event ?? {})) item.outputs.add(name);
    const { effect, end } = action;
    // An attempt begins with nothing of the one before.
    if (effect?.kind === "prepare") item.before = item.agent = item.capsule = item.tests = undefined;
    if (effect?.kind === "run") {
      clock.open("model", action.seq, `attempt ${effect.value.attempt}`);
      const runId = `${run.runId}.${effect.value.attempt}`;
      if (!item.runs.some((one) => one.runId === runId)) item.runs.push({ runId, attempt: effect.value.attempt, seq: action.seq });
    }
    if (effect?.kind === "test") clock.open("tool", action.seq, "tests");
    if (event?.kind === "run_ended") Object.assign(item.runs.find((one) => one.runId === event.value.run_id) ?? {}, { end: action.seq, head: event.value.head, failure: event.value.failure });
    if (end) item.end = end;
    const reason = end && (end.denial ? denied(end.denial) : end.error);
    const tone = end ? (end.status === "success" ? "good" : "bad") : said.tone ?? "", chip = action.kind === "ignored" ? "too late" : said.chip;
    const what = [said.text, effect ? EFFECTS[effect.kind] : "", end ? `${end.status}${reason && reason !== said.text ? `: ${reason}` : ""}` : ""];
    run.entries.push({
      seq: action.seq, line: line.number, action, event: record.event, hash: String(record.hash), at, text: line.text, said: said.text, counted: at, took: at - before, tokens: 0, total: 0,
      states: action.kind === "seal" ? `seal: ${action.to}` : action.from !== action.to ? `${action.from} → ${action.to}` : action.to, what: what.filter(Boolean).join(" · "), chip, tone,
      quiet: false, decision: action.kind !== "noted" && action.kind !== "ignored", trouble: ["bad", "warn"].includes(tone) || Boolean(chip), turn: effect?.kind === "prepare", figures: figures(item),
    });
  }

  const textOf = (bytes) => new TextDecoder().decode(transcript.fromBase64(bytes));

  // Takes the blobs: the output of the last tests, and the receipt, which no entry names.
  function takeBlobs({ blobs, item }) {
    const name = item.tests?.output_blob;
    if (blobs.has(name)) item.output = textOf(blobs.get(name));
    for (const [hash, bytes] of blobs) {
      if (!item.outputs.has(hash)) Object.assign(item, { receipt: JSON.parse(textOf(bytes)), receiptHash: hash, receiptId: receiptId(hash) });
    }
  }

  // The id of a receipt: a UUID of version 8 with the first bits of its hash.
  function receiptId(hash) {
    const variant = ((Number.parseInt(hash[16], 16) & 3) | 8).toString(16);
    return [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `${variant}${hash.slice(17, 20)}`, hash.slice(20, 32)].join("-");
  }

  function read(lines) {
    const { collapsed, counted, grouped, spent, words } = readRun([]), spans = [], open = new Map();
    const item = { runs: [], is: {}, outputs: new Set() };
    const run = { item, entries: [], calls: new Map(), spans, blobs: new Map(), stones: new Map(), talk: [], contract: {}, limits: [], started: {} };
    const clock = {
      at: 0,
      open: (lane, seq, name) => spans.push(open.set(lane, { lane, from: clock.at, to: null, seq, name }).get(lane)),
      close: (lane, end, tone) => Object.assign(open.get(lane) ?? {}, { to: clock.at, end, tone }) && open.delete(lane),
    };
    for (const line of lines) {
      try {
        take(run, line, clock, { counted, words });
      } catch {
        // What has not the shape of an entry is not shown as one; the verifier names it.
      }
    }
    try {
      takeBlobs(run);
    } catch {
      // The verifier names a receipt that is none.
    }
    for (const span of open.values()) Object.assign(span, { to: clock.at, tone: "warn" });
    const limits = item.is.constraints ?? {}, used = figures(item), { end } = item, calls = item.agent?.calls ?? {};
    if (run.entries.length) {
      for (const [name, key] of [["files", "max_files"], ["calls", "max_tool_ops"], ["changes", "max_delta_size"]]) {
        run.limits.push({ name, used: used[name], limit: number(limits[key]), at: (entry) => entry.figures[name] });
      }
      run.limits.push({ name: "ms", used: clock.at, limit: number(limits.timeout_ms), at: (entry) => entry.at });
    }
    // A run that its contract stopped at the limit wanted one call more.
    const isAdmitted = run.limits.slice(0, 3).every(({ used, limit }) => used <= limit) && calls.limit !== "calls" && !calls.external?.length;
    Object.assign(item, { figures: used, isAdmitted, reason: end?.denial ? denied(end.denial) : end?.error, state: run.entries.at(-1)?.action.to });
    return Object.assign(run, {
      name: "work item", bound: "Item", unfinished: "The item is in progress, or its process died; monolith work run FILE resumes it.",
      outcome: end && { class: end.status, code: end.status }, ending: ({ code }) => code, good: end?.status === "success", cause: item.reason ?? "",
      sentence: end && (end.rollback_failed ? "A part of the changes could not be taken back." : end.receipt_id ? "An equal item did this already." : ENDED[end.status]),
      task: () => String(item.is.description ?? ""),
      facts: () => [spent(run), counted(used.files, "file"), counted(used.calls, "call"), counted(used.changes, "state change"), item.receiptId ? `receipt ${item.receiptId}` : ""],
      terms: () => [["id", item.is.id], ["agent", item.is.agent_id], ["contract", `${String(run.contract.contract_hash).slice(0, 16)}…`],
        ["after", (item.is.dependencies ?? []).join(", ")], ["tests", item.is.test_command], ["conflict", item.is.on_conflict], ["failed call", item.is.tool_errors]],
      total: clock.at, time: collapsed({ spans, total: clock.at }), lanes: { model: "agent", tool: "tests" }, waited: 0, used, sealed: Boolean(end), grouped, counted, words,
    });
  }

  return { filesOf, isItem, read };
})();
