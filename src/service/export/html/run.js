// What a transcript says, as the page shows it: entries, calls, spans of time, budgets. Shows nothing itself.
const readRun = (() => {
  const number = (value) => Number(value ?? 0);
  const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
  const counted = (count, noun) => `${grouped(count)} ${count === 1 ? noun : `${noun}s`.replace(/ys$/, "ies")}`;
  const words = (name) => String(name ?? "").replaceAll("_", " ");
  const brief = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);

  function tokens(counters) {
    return number(counters.tokens_in) + number(counters.tokens_out) + number(counters.tokens_cache_read);
  }

  // Whether an effect starts a call: of a tool, or of an agent, whose run it is.
  const isCall = (effect) => effect.kind === "execute" || effect.kind === "delegate";

  // The whole of the text of a tool's result, with what is no text named.
  function resultText(envelope) {
    return (envelope.content ?? []).map((block) => block.kind === "text"
      ? block.value
      : `[${block.value?.mime_type}, ${counted(block.value?.bytes, "byte")}, blob ${block.value?.blob?.slice(0, 8)}]`).join("\n");
  }

  // How a call ended: a line, and whether that is well.
  function ended(outcome) {
    const value = outcome.value ?? {};
    if (outcome.kind === "sampling_required") return { text: "waits: its server wants a model to be asked", tone: "warn" };
    if (outcome.kind === "input_required") return { text: `waits: its server asks ${value.question}`, tone: "warn" };
    if (outcome.kind !== "returned") {
      const said = value.detail ? `: ${value.detail}` : "";
      return { text: words(outcome.kind) + said, tone: "bad" };
    }
    const error = value.error ? `${value.error.code}: ${value.error.message}` : "";
    return value.status === "ok"
      ? { text: `ok, ${counted(value.bytes_out, "byte")}${value.full ? ", cut for the model" : ""}`, tone: value.full ? "warn" : "" }
      : { text: `error, ${error}`, tone: "bad" };
  }

  // How a run comes from the one above it, as its first entry says.
  const cameFrom = ({ call, run_id: id }) => (call === undefined ? `from ${id}` : `called by ${id} (call ${call})`);

  // What an event says, in one line, and the marks that it earns.
  function heard(event, calls) {
    const value = event.value ?? {};
    switch (event.kind) {
      case "run_started": return { text: `the run begins${value.parent ? `, ${cameFrom(value.parent)}` : ""}` };
      case "probed": {
        const silent = value.targets.filter((target) => !target.responsive).length;
        const all = counted(value.targets.length, "target");
        return silent ? { text: `${all} asked, ${silent} silent`, chip: "silent", tone: "bad" } : { text: `${all} answered` };
      }
      case "call_streamed": return { text: `the call of ${value.invocation.name} is whole before its message` };
      case "inference_returned": return answered(value.result);
      case "inference_failed": {
        const status = value.fault.status ? ` ${value.fault.status}` : "";
        return { text: `${words(value.fault.class)}${status}: ${value.fault.message}`, chip: "failed", tone: "bad" };
      }
      case "tool_returned": {
        const end = ended(value.outcome), name = calls.get(value.call)?.name ?? `call ${value.call}`;
        const denied = /denied: /.test(end.text) ? "denied" : end.tone === "bad" ? "failed" : "cut";
        const asked = (value.exchanges ?? []).map((one) => `, its server asked ${JSON.stringify(one.message)}${one.url ? ` at ${one.url}` : ""}` +
          (one.answer === "accept" ? ` and got ${one.content ?? ""}` : ", declined"));
        return { text: `${name} ${end.text}${asked.join("")}`, tone: end.tone, chip: end.tone ? denied : undefined };
      }
      case "approval_given": return { text: `call ${value.call} approved`, chip: "approved", tone: "good" };
      case "approval_denied": return { text: `call ${value.call} denied`, chip: "denied", tone: "bad" };
      case "interrupted": return { text: `ended by ${value}`, chip: "interrupted", tone: "bad" };
      case "effect_lost": return { text: `the ${value.kind} was lost with its process`, chip: "lost", tone: "warn" };
      case "resumed": return { text: "another process resumed the run", chip: "resumed", tone: "warn" };
      case "stop_requested": return { text: "somebody asked the run to stop", chip: "stop", tone: "warn" };
      case "suspended": return { text: "the process left the run, to be resumed", chip: "suspended", tone: "warn" };
      case "timer_fired": return { text: "a moment that was waited for came" };
      default: return { text: words(event.kind) };
    }
  }

  // A tag of the model that was ignored, or taken although it is not closed.
  const warned = ({ flaw, slot }) =>
    `tag ${slot ? `${slot} ` : ""}${flaw === "unclosed_report" ? "accepted" : "ignored"}: ${words(flaw)}`;

  function answered(result) {
    const warnings = (result.tag_warnings ?? []).map(warned);
    const warning = warnings.length ? `; warning: ${warnings.join(", ")}` : "";
    if (result.failure_code) {
      const place = result.pointer ? ` at ${result.pointer}` : "";
      return { text: `${words(result.failure_code)}${place}${warning}`, chip: "rejected", tone: "bad" };
    }
    const message = result.canonical_message ?? { content: "" };
    const said = [];
    const names = (message.tool_calls ?? []).map((call) => (call.fault ? `${call.name} (${call.fault})` : call.name));
    if (names.length) said.push(`${counted(names.length, "call")}: ${names.join(", ")}`);
    if (message.content?.trim()) said.push(`“${brief(message.content.trim(), 160)}”`);
    if (result.withheld && !result.withheld.blank) said.push(`${counted(result.withheld.bytes, "byte")} held back`);
    if (!said.length) said.push("an empty message");
    const recovered = result.repair ? { chip: "recovered", tone: "warn" } : warnings.length ? { chip: "warning", tone: "warn" } : {};
    const odd = ["length", "refusal", "content_filter"].includes(result.stop) ? { chip: words(result.stop), tone: "bad" } : {};
    return { text: said.join(", ") + warning, ...recovered, ...odd };
  }

  // What an entry decided, where it says more than its event.
  function decided(action, calls) {
    const said = [];
    let mark = {};
    const rule = action.predicate;
    if (rule) {
      said.push(rule.item === 0 ? words(rule.name) : `predicate ${rule.item}: ${words(rule.name)}`);
      if (["retry", "last_turn", "context"].includes(rule.name)) mark = { chip: rule.name === "retry" ? "retry" : "closing", tone: "warn" };
      const refused = ["contract_violation", "required_without_proof", "malformed_envelope", "check_failed"];
      if (refused.includes(rule.name)) mark = { chip: "refused", tone: "bad" };
    }
    const failed = (action.checks ?? []).find((check) => !check.ok);
    if (failed) said.push(`${failed.name}: ${failed.detail}`);
    if (action.note) said.push(action.note.replace(": : ", ": "));
    for (const effect of action.effects ?? []) {
      const value = effect.value ?? {};
      if (effect.kind === "infer") said.push(`asks the model, inference ${value.inference}`);
      if (effect.kind === "sample") said.push(`asks for the server of call ${value.call}, inference ${value.inference}`);
      if (effect.kind === "summarise") said.push(`asks for a summary of call ${value.call}, inference ${value.inference}`);
      if (isCall(effect)) said.push(`${value.name} ${brief(calls.get(value.call)?.arguments ?? "", 120)}`);
      if (effect.kind === "await_approval") said.push("waits for an approval");
      if (effect.kind === "wait") said.push(`waits until ${(value.until_ms / 1000).toFixed(3)} s`);
    }
    if (action.context?.projected > action.context?.limit) mark = { chip: "context", tone: "warn" };
    if (action.kind === "ignored") mark = { chip: "too late", tone: "warn" };
    if (action.to === "TERMINATE" && action.outcome) {
      said.push(`${action.outcome.class} (${action.outcome.code})`);
      mark = { tone: action.outcome.class.startsWith("COMPLETED") ? "good" : "bad" };
    }
    return { said, mark };
  }

  // What an entry came to that says nothing else, in the words of the terminal.
  function passed({ from, to }, asked) {
    const isTool = ({ name }) => !["agent__final_report", "agent__progress_report"].includes(name);
    if (from === "VALIDATE_CALLS" && to === "COMMIT") return [...asked.values()].some(isTool) ? "no call is started" : "nothing to execute";
    return from === "OBSERVE" ? "observed" : "";
  }

  // Whether an entry ends the wait for an approval: neither what came too late does, nor a process that leaves the run or resumes it.
  const settles = (action, event) => event && action.kind !== "ignored" && !["suspended", "resumed"].includes(event.kind);

  // What the run answered: its accepted report, else the last message of the model. A run that failed has no answer.
  function answerOf({ outcome, talk }) {
    if (!outcome?.class.startsWith("COMPLETED")) return undefined;
    const last = talk.findLast((message) => message.role === "assistant" && message.name === undefined);
    if (outcome.code !== "final_report") return last?.content.trim() || undefined;
    const report = last?.tool_calls?.findLast((call) => call.name === "agent__final_report");
    let given = {};
    try {
      given = JSON.parse(report?.arguments ?? "{}");
    } catch {
      // What the machine accepted is JSON; a transcript that says otherwise does not verify.
    }
    return given.report_content ?? (given.content_json && JSON.stringify(given.content_json, null, 2)) ?? last?.content;
  }

  // The limits of a run, by the codes of the outcomes that they lead to.
  const LIMITS = { max_turns_exhausted: "turns", max_inferences: "inferences", max_tokens: "tokens", max_calls: "calls", max_cost: "micro-usd", total_timeout: "ms" };

  // Why a run failed, in the words of its entries: what decided its end, else the last that went wrong in its last turn. Empty if nothing says more than the outcome.
  function causeOf({ calls, entries, limits, outcome }) {
    if (!outcome || outcome.class.startsWith("COMPLETED")) return "";
    const at = entries.findIndex(({ action }) => action.kind === "transition" && action.to === "TERMINATE"), end = entries[at];
    if (!end) return "";
    const check = (end.action.checks ?? []).find((check) => !check.ok);
    if (check) return `${check.name}: ${check.detail}`;
    if (end.action.note) return end.action.note;
    const limit = limits.find(({ name }) => name === LIMITS[outcome.code]);
    if (limit?.limit) return `${grouped(limit.used)} of ${grouped(limit.limit)} ${limit.name} used`;
    const before = entries.slice(0, at), asks = ({ action }) => (action.effects ?? []).some(({ kind }) => kind === "infer");
    const turn = before.slice(before.findLastIndex(asks) + 1);
    // Where no call has proven anything, the one that failed is of an earlier turn.
    const where = ["proof_not_succeeded", "synthesis_without_tools"].includes(outcome.code) ? before : turn;
    const unreturned = [...calls.values()].filter(({ to }) => to === undefined).map(({ name }) => name);
    return where.findLast(({ event, tone }) => event && tone === "bad")?.said ?? turn.findLast(({ action }) => action.note)?.action.note ??
      (unreturned.length ? `${unreturned.join(", ")} did not return` : turn.findLast(({ event }) => event?.event.kind === "inference_returned")?.said ?? "");
  }

  // Milliseconds without work from which on a pause is drawn short, and the part of the picture that it then has.
  const LONG = 30_000, SHORT = 0.03;

  // The pauses of a run, in which neither a model nor a tool was at work: waits for a person, for a retry, for another process. A picture has them short.
  function collapsed({ spans, total }) {
    const busy = spans.filter(({ lane }) => lane !== "wait").sort((one, other) => one.from - other.from);
    const pauses = [];
    let at = 0;
    for (const { from, to } of [...busy, { from: total, to: total }]) {
      if (from - at >= LONG) pauses.push({ from: at, to: from });
      at = Math.max(at, to);
    }
    const idle = pauses.reduce((sum, { from, to }) => sum + to - from, 0), wide = Math.max(1, (total - idle) * SHORT);
    const within = (ms, { from, to }) => Math.min(Math.max(ms - from, 0), to - from);
    const to = (ms) => pauses.reduce((x, pause) => x - within(ms, pause) * (1 - wide / (pause.to - pause.from)), ms);
    const from = (x) => pauses.reduce((ms, pause) => (ms <= pause.from ? ms : pause.from + within(pause.from + ((ms - pause.from) * (pause.to - pause.from)) / wide, pause) +
      Math.max(0, ms - pause.from - wide)), x);
    return { pauses, idle, to, from, whole: Math.max(1, to(total)) };
  }

  // What it cost, as far as the contract's prices or the provider state it; empty if nothing was asked.
  function costOf(used, { prices, targets }) {
    if (!number(used.inferences)) return "";
    const micro = number(used.cost_micro_usd);
    const priced = micro > 0 || (targets ?? []).every(({ provider, model }) => prices?.models?.[provider]?.[model]);
    return priced ? `$${(micro / 1e6).toFixed(4)}` : "cost unknown";
  }

  // What the head and the terms of the page say of a run. Each is read when it is shown: what is no contract breaks nothing else.
  function heading(run) {
    const { contract } = run, models = () => (contract.targets ?? []).map((target) => `${target.provider}/${target.model}`).join(", ");
    return {
      name: "run", bound: "Contract", unfinished: "The run is in progress, or its process died; monolith resume continues it.",
      ending: ({ class: ended, code }) => `${words(ended).toLowerCase()}: ${words(code)}`,
      good: Boolean(run.outcome?.class.startsWith("COMPLETED")),
      task: () => [...(run.started.messages ?? [])].reverse().find((message) => message.role === "user")?.content ?? "",
      facts: () => {
        const count = (name, noun) => counted(number(run.used[name]), noun), tokens = run.entries.at(-1)?.total ?? 0, below = number(run.used.below_tokens);
        return [run.cost, spent(run), count("turns", "turn"), count("inferences", "request"), count("calls", "call"), counted(tokens, "token"),
          below ? `${counted(tokens + below, "token")} with the runs below` : "", models()];
      },
      terms: () => [
        ["id", contract.contract_id], ["hash", `${String(contract.contract_hash).slice(0, 16)}…`],
        ["tools", `${contract.tool_policy}, ${words(contract.policy_decision?.grounds)}`],
        ["exposed", contract.allowed_tools === null ? "all" : (contract.allowed_tools ?? []).join(", ") || "none"],
        ["ends with", words(contract.completion)], ["strict", contract.strict_mode ? "yes" : "no"],
        ["text before a call", contract.token_gate ? "held back" : "shown"],
        ["models", models()],
        ["comes from", run.started.parent && cameFrom(run.started.parent).replace(/^from /, "")],
      ],
    };
  }

  const spent = ({ total }) => `${(total / 1000).toFixed(3)}\u00a0s`;

  return function readRun(lines) {
    const run = { entries: [], calls: new Map(), spans: [], blobs: new Map(), stones: new Map(), talk: [], contract: {}, limits: [], started: {} };
    const open = new Map();
    let at = 0, usedTokens = 0, step = -1, asked = new Map(), waited = 0, since;
    const summaries = new Map();
    const close = (key, seq, tone) => {
      const span = open.get(key);
      if (span) Object.assign(span, { to: at, end: seq, tone });
      open.delete(key);
    };
    const begin = (key, lane, seq, name) => {
      const span = { lane, from: at, to: null, seq, name };
      open.set(key, span);
      run.spans.push(span);
    };
    const take = (line) => {
      const { record } = line;
      if (record === null || typeof record !== "object") return;
      if (record.contract && !run.runId) {
        Object.assign(run, { contract: record.contract, runId: String(record.run_id) });
        return;
      }
      if (record.blob) {
        run.blobs.set(record.blob, record.bytes);
        return;
      }
      if (record.tombstone) {
        const stone = transcript.readTombstone(record.tombstone);
        run.stones.set(stone.name, { ...stone, signers: stone.note.signatures.map(({ name, id }) => `${name}+${id}`) });
        return;
      }
      const action = record.action;
      if (!action?.counters) return;
      const event = record.event?.event;
      const before = at;
      at = number(record.event?.at_ms ?? at);
      const value = event?.value ?? {};
      if (settles(action, event) && since !== undefined) {
        waited += at - since;
        since = undefined;
      }
      if ((action.effects ?? []).some((effect) => effect.kind === "await_approval")) since ??= at;
      if (event?.kind === "run_started") {
        run.started = value;
        for (const message of value.messages ?? []) run.talk.push({ seq: action.seq, at, ...message });
      }
      if (event?.kind === "inference_returned" && summaries.has(value.inference)) {
        const content = value.result?.canonical_message?.content ?? "", call = run.calls.get(summaries.get(value.inference));
        if (!["input_required", "sampling_required"].includes(value.outcome?.kind)) run.talk.push({ seq: action.seq, at, role: "tool", name: `summary of ${call?.name}`, content });
      } else if (event?.kind === "inference_returned") {
        const message = value.result?.canonical_message;
        if (message) run.talk.push({ seq: action.seq, at, ...message });
        asked = new Map((message?.tool_calls ?? []).map((call) => [call.id, call]));
      }
      if (event?.kind === "call_streamed" && action.kind !== "ignored") asked = new Map([[value.invocation.id, value.invocation]]);
      for (const effect of action.effects ?? []) {
        if (!isCall(effect)) continue;
        const { call, id, name } = effect.value;
        run.calls.set(call, { call, name, seq: action.seq, from: at, arguments: asked.get(id)?.arguments ?? "", agent: effect.kind === "delegate" });
      }
      const said = event ? heard(event, run.calls) : { text: "" };
      if (event?.kind?.startsWith("inference_")) close(`infer ${value.inference}`, action.seq, said.tone);
      if (event?.kind === "tool_returned") {
        close(`call ${value.call}`, action.seq, said.tone);
        const call = run.calls.get(value.call), envelope = value.outcome?.value;
        if (call) Object.assign(call, { to: at, end: action.seq, outcome: value.outcome, ended: ended(value.outcome), child: value.child });
        run.talk.push({ seq: action.seq, at, role: "tool", name: call?.name, tool_call_id: envelope?.tool_call_id, cut: Boolean(envelope?.full),
          content: value.outcome?.kind === "returned" ? resultText(envelope) : said.text });
      }
      // What was lost with its process ended there; where it is done again, that begins again.
      if (event?.kind === "effect_lost") close({ inference: `infer ${value.value}`, call: `call ${value.value}` }[value.kind] ?? value.kind, action.seq, said.tone);
      if (["timer_fired", "interrupted", "stop_requested"].includes(event?.kind)) close("wait", action.seq);
      const { said: more, mark } = decided(action, run.calls);
      for (const effect of action.effects ?? []) {
        if (effect.kind === "infer") begin(`infer ${effect.value.inference}`, "model", action.seq, `inference ${effect.value.inference}`);
        if (effect.kind === "sample") begin(`infer ${effect.value.inference}`, "model", action.seq, `inference ${effect.value.inference}, for a tool server`);
        if (effect.kind === "summarise") {
          summaries.set(effect.value.inference, effect.value.call);
          begin(`infer ${effect.value.inference}`, "model", action.seq, `inference ${effect.value.inference}, a summary`);
        }
        if (isCall(effect)) begin(`call ${effect.value.call}`, "tool", action.seq, effect.value.name);
        if (effect.kind === "wait") begin("wait", "wait", action.seq, "wait");
        if (effect.kind === "cancel") for (const key of [...open.keys()]) close(key, action.seq, "bad");
      }
      const total = tokens(action.counters);
      const tone = said.tone ?? mark.tone ?? "";
      run.entries.push({
        seq: action.seq, line: line.number, action, event: record.event, hash: String(record.hash), at, text: line.text, said: said.text,
        // The timeouts stand still while a call waits for an approval.
        counted: at - waited - (since === undefined ? 0 : at - since),
        took: at - before, tokens: total - usedTokens, total,
        states: action.kind === "transition" ? `${action.from} → ${action.to}` : action.kind === "seal" ? "seal" : action.to,
        what: [said.text, ...more].filter(Boolean).join(" · ") || passed(action, asked),
        chip: said.chip ?? mark.chip, tone, quiet: !event && !action.predicate && !mark.chip && action.kind !== "seal",
        // A decision: where a rule fired, an answer was judged, a call ended, or somebody intervened.
        decision: Boolean(action.predicate || action.kind === "seal" || action.kind === "start" || said.chip ||
          event?.kind === "inference_returned"),
        trouble: ["bad", "warn"].includes(tone) || Boolean(said.chip || mark.chip),
        turn: action.step_id !== step,
      });
      step = action.step_id;
      usedTokens = total;
    };
    for (const line of lines) {
      try {
        take(line);
      } catch {
        // What has not the shape of an entry is not shown as one; the verifier names it.
      }
    }
    run.total = at;
    run.waited = at - (run.entries.at(-1)?.counted ?? at);
    for (const entry of run.stones.size ? run.entries : []) {
      entry.erased = [...transcript.blobNames(entry.event?.event ?? {})].some(([hash]) => run.stones.has(hash));
    }
    for (const span of open.values()) Object.assign(span, { to: at, tone: "warn" });
    const used = run.entries.at(-1)?.action.counters ?? {}, contract = run.contract;
    const limit = (name, key, most) => {
      run.limits.push({ name, used: key(run.entries.at(-1)), limit: most === null || most === undefined ? null : number(most), at: key });
    };
    if (run.entries.length) {
      limit("turns", (entry) => entry.action.counters.turns, contract.max_turns);
      limit("inferences", (entry) => entry.action.counters.inferences, contract.max_inferences);
      // What runs below used counts for the budget of the run above them.
      limit("tokens", (entry) => entry.total + number(entry.action.counters.below_tokens), contract.max_tokens_consumed);
      limit("calls", (entry) => entry.action.counters.calls, contract.max_calls?.run);
      if (used.cost_micro_usd || used.below_cost_micro_usd || contract.max_cost_micro_usd) limit("micro-usd", (entry) => entry.action.counters.cost_micro_usd + number(entry.action.counters.below_cost_micro_usd), contract.max_cost_micro_usd);
      limit("ms", (entry) => entry.counted, contract.total_timeout_ms);
    }
    run.outcome = run.entries.at(-1)?.action.outcome;
    run.used = used;
    run.answer = answerOf(run);
    run.cause = causeOf(run);
    run.time = collapsed(run);
    run.cost = costOf(used, contract);
    run.sealed = run.entries.at(-1)?.action.kind === "seal";
    return Object.assign(run, { cameFrom, collapsed, grouped, counted, spent, words }, heading(run));
  };
})();
