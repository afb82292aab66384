// What the transcript of a workflow says, as the page shows it: entries, steps and their states, spans of time, limits.
const readWorkflow = (() => {
  const number = (value) => Number(value ?? 0);

  // Whether the transcript is that of a workflow, as its first line says.
  const isWorkflow = (lines) => lines[0]?.record?.contract?.format === "monolith-workflow/1";

  // What an event says, in one line, and the marks that it earns.
  function heard(event, steps, words) {
    const value = event.value ?? {}, step = steps.get(value.number);
    switch (event.kind) {
      case "started": return { text: `the workflow begins${value.parent ? `, from ${value.parent.run_id}` : ""}` };
      case "step_ended": {
        const place = step?.place ?? `step ${value.number}`, { kind, value: result } = value.result;
        if (kind !== "run") return { text: `${place} could not begin: ${result}`, chip: "not begun", tone: "bad" };
        const said = `${place} ended: ${result.outcome.class} (${result.outcome.code})`;
        if (step?.state === "ended") return { text: said, chip: "ended", tone: "warn" };
        return result.failure ? { text: `${said}, failed: ${words(result.failure)}`, chip: "failed", tone: "bad" } : { text: said };
      }
      case "timer_fired": return { text: "the time of the workflow is over", chip: "timeout", tone: "bad" };
      case "stop_requested": return { text: "somebody asked the workflow to stop", chip: "stop", tone: "warn" };
      case "interrupted": return { text: "it is to end at once", chip: "stop", tone: "warn" };
      case "suspended": return { text: "the process left the workflow, to be resumed", chip: "suspended", tone: "warn" };
      case "resumed": return { text: "another process resumed the workflow", chip: "resumed", tone: "warn" };
      default: return { text: words(event.kind) };
    }
  }

  // A step run has ended: where it stands now, and the step that it undoes.
  function settle(steps, { number: key, result }, at, seq) {
    const step = steps.get(key);
    if (!step) return;
    const run = result.kind === "run" ? result.value : undefined, ok = run !== undefined && !run.failure;
    Object.assign(step, { to: at, end: seq, state: ok ? "done" : step.asked ? "ended" : "failed", text: run ? run.output : result.value });
    if (run) Object.assign(step, { runId: String(run.run_id), head: run.head, outcome: run.outcome, failure: run.failure });
    const undone = steps.get(step.compensates);
    if (undone) undone.state = ok ? "compensated" : "compensation failed";
  }

  function read(lines) {
    const { collapsed, ending, grouped, counted, spent, words } = readRun([]);
    const run = { workflow: true, entries: [], calls: new Map(), spans: [], blobs: new Map(), stones: new Map(), talk: [], contract: {}, limits: [], started: {}, steps: new Map() };
    let at = 0;
    const take = (line) => {
      const { record } = line;
      if (record === null || typeof record !== "object") return;
      if (record.contract && !run.runId) {
        Object.assign(run, { contract: record.contract, runId: String(record.run_id) });
        return;
      }
      const { action } = record, event = record.event?.event, before = at;
      if (!action?.counters) return;
      at = number(record.event?.at_ms ?? at);
      if (event?.kind === "started") run.started = event.value;
      if (event?.kind === "step_ended") settle(run.steps, event.value, at, action.seq);
      for (const key of action.ending ?? []) Object.assign(run.steps.get(key) ?? {}, { asked: true });
      const said = event ? heard(event, run.steps, words) : { text: "" };
      const begun = [];
      for (const step of action.begun ?? []) {
        begun.push(step.place);
        if (run.steps.has(step.number)) continue;
        const { number: key, place, step: id, compensates } = step;
        run.steps.set(key, { number: key, place: String(place), id, compensates, state: "running", from: at, seq: action.seq });
      }
      const ended = action.to === "TERMINATE" && action.outcome;
      const more = [begun.length ? `begins ${begun.join(", ")}` : "", action.note, ended ? `${action.outcome.class} (${action.outcome.code})` : ""];
      const tone = said.tone ?? (ended ? (action.outcome.class === "COMPLETED" ? "good" : "bad") : "");
      run.entries.push({
        seq: action.seq, line: line.number, action, event: record.event, hash: String(record.hash), at, text: line.text, said: said.text, counted: at, took: at - before, tokens: 0, total: 0,
        states: action.from !== action.to ? `${action.from} → ${action.to}` : action.kind === "seal" ? "seal" : action.to,
        what: [said.text, ...more].filter(Boolean).join(" · "), chip: said.chip, tone, quiet: !event && !begun.length && action.kind !== "seal",
        decision: Boolean(begun.length || said.chip || ended || ["start", "seal"].includes(action.kind) || event?.kind === "step_ended"),
        trouble: ["bad", "warn"].includes(tone) || Boolean(said.chip), turn: false,
      });
    };
    for (const line of lines) {
      try {
        take(line);
      } catch {
        // What has not the shape of an entry is not shown as one; the verifier names it.
      }
    }
    const { contract } = run, last = run.entries.at(-1), used = last?.action.counters ?? {};
    const kinds = new Map(all([...(contract.steps ?? []), ...(contract.compensations ?? [])]).map((step) => [step.id, step.work.kind]));
    for (const step of run.steps.values()) {
      step.kind = kinds.get(step.id) ?? "";
      run.spans.push({ lane: step.kind === "tool" ? "tool" : "model", from: step.from, to: step.to ?? at, seq: step.seq, name: step.place });
    }
    if (last) {
      run.limits.push({ name: "steps", used: number(used.steps), limit: number(contract.max_steps), at: (entry) => number(entry.action.counters.steps) });
      run.limits.push({ name: "ms", used: at, limit: number(contract.total_timeout_ms), at: (entry) => entry.at });
    }
    const ends = contract.steps?.at(-1), answers = [...run.steps.values()].findLast((step) => step.place === ends?.id);
    const outcome = last?.action.outcome;
    const failed = outcome && outcome.class !== "COMPLETED" && run.entries.find(({ event, tone }) => event && tone === "bad");
    const count = (name, noun) => counted(number(used[name]), noun);
    return Object.assign(run, {
      name: "workflow", bound: "Workflow", unfinished: "The workflow is in progress, or its process died; monolith resume continues it.",
      ending, good: Boolean(outcome?.class.startsWith("COMPLETED")), task: () => run.started.input ?? "",
      facts: () => [spent(run), count("steps", "step"), `${count("completed", "step")} completed`, used.failed ? `${grouped(used.failed)} failed` : "",
        used.compensated ? `${grouped(used.compensated)} compensated` : ""],
      terms: () => [["id", contract.id], ["file", `${String(contract.file_digest).slice(0, 16)}…`], ["steps at the top", String((contract.steps ?? []).length)],
        ["on failure", contract.on_failure], ["comes from", run.started.parent?.run_id]],
      cause: failed ? failed.said : "", time: collapsed({ spans: run.spans, total: at }),
      lanes: { model: "prompts and agents", tool: "tools" }, outcome, used, total: at, waited: 0, sealed: last?.action.kind === "seal", grouped, counted, words,
      answer: outcome?.class === "COMPLETED" && answers?.state === "done" ? answers.text : undefined,
      cameFrom: ({ run_id: id }) => `from ${id}`,
    });
  }

  // The steps of a list and all that stand in them.
  function all(steps) {
    return steps.flatMap((step) => [step, ...inside(step).flatMap(([, held]) => all(held))]);
  }

  // The lists of steps that a step holds, each with the key that holds it.
  function inside({ work: { kind, value } }) {
    if (kind === "if") return [["then", value.then], ["else", value.else ?? []]].filter(([, steps]) => steps.length);
    return ["for_each", "while", "parallel"].includes(kind) ? [["steps", value.steps]] : [];
  }

  return { inside, isWorkflow, read };
})();
