// The graph of a workflow: its steps in the order of the definition, groups side by side, with where each stands. Needs workflow.js, draw.js.
const stepGraph = (() => {
  const MOST_ITERATIONS = 50;
  const FAILURES = { outcome: "its run did not end well", tool: "its tool reported an error", output_size: "it came to too many bytes" };
  const TONES = { done: "good", failed: "bad", "compensation failed": "bad", compensated: "warn", ended: "warn", running: "now", skipped: "", "not begun": "" };

  // The graph. `go` makes a button to an entry, `link` a link to the page of a run, where there is one.
  return function stepGraph(run, go, link) {
    const at = (place) => [...run.steps.values()].find((step) => step.place === place && step.compensates === undefined);
    const begun = (around) => [...run.steps.values()].some((step) => step.place.startsWith(around));
    const never = run.outcome ? "skipped" : "not begun";
    const seconds = (step) => `${(((step.to ?? run.total) - step.from) / 1000).toFixed(3)} s`;

    const state = (word) => make("b", { class: `state ${TONES[word] ?? ""}` }, word);

    // What a step is, which steps it waits for, and where it stands.
    function box(step, kind, found, more = []) {
      const word = found?.state ?? never, waits = step.depends_on ?? [];
      const undoing = found && [...run.steps.values()].find((other) => other.compensates === found.number);
      return make("div", { class: `box ${TONES[word] ?? ""} ${found ? "" : "never"}` },
        make("header", {}, make("b", { class: "mono" }, safe(step.id)), make("span", {}, kind), state(word)),
        ...(waits.length ? [make("p", { class: "sub" }, `after ${safe(waits.join(", "))}`)] : []),
        ...more,
        ...(found ? [make("p", { class: "sub" }, found.runId ? link(found.runId) : `step ${found.number}`,
          found.outcome ? ` · ${safe(found.outcome.class)} (${safe(found.outcome.code)})` : "", ` · ${seconds(found)}`, " · ", go(found.seq))] : []),
        ...(found?.failure || (found?.state === "failed" && !found.runId) ? [make("p", { class: "why" }, safe(parts.brief(found.runId ? `${FAILURES[found.failure] ?? run.words(found.failure)}: ${found.text}` : found.text, 300)))] : []),
        ...(undoing ? [make("div", { class: "undone" }, make("p", {}, "undone by ", make("b", { class: "mono" }, safe(undoing.id)), " ", state(undoing.state)),
          make("p", { class: "sub" }, undoing.runId ? link(undoing.runId) : `step ${undoing.number}`, ` · ${seconds(undoing)}`, " · ", go(undoing.seq)))] : []));
    }

    function said({ kind, value }) {
      const asks = ({ step, test }) => `${step} ${run.words(test.kind)}${test.kind === "succeeded" && test.value ? "" : ` ${JSON.stringify(test.value)}`}`;
      if (kind === "parallel") return `at most ${value.max_concurrency} at a time, ${value.on_failure}`;
      if (kind === "if") return asks(value.condition);
      if (kind === "while") return `${asks(value.condition)}, at most ${value.max_iterations} times`;
      return kind === "for_each" ? `over ${value.items}, at most ${value.max_iterations}` : "";
    }

    // The steps of a group in layers: each below those that it waits for.
    function layers(steps) {
      const depth = new Map();
      const of = (step, seen = new Set()) => {
        if (depth.has(step.id) || seen.has(step.id)) return depth.get(step.id) ?? 0;
        seen.add(step.id);
        const above = (step.depends_on ?? []).map((id) => steps.find((other) => other.id === id)).filter(Boolean);
        depth.set(step.id, above.length ? 1 + Math.max(...above.map((other) => of(other, seen))) : 0);
        return depth.get(step.id);
      };
      const rows = [];
      for (const step of steps) (rows[of(step)] ??= []).push(step);
      return rows;
    }

    function group(step, place) {
      const { kind, value } = step.work, waits = step.depends_on ?? [];
      const body = [];
      if (kind === "parallel") {
        for (const row of layers(value.steps)) body.push(make("ul", { class: "layer" }, ...row.map((inner) => make("li", {}, one(inner, `${place}/`)))));
      } else if (kind === "if") {
        body.push(make("div", { class: "ways" }, ...readWorkflow.inside(step).map(([key, steps]) => make("section", { "aria-label": key }, make("h3", {}, key), list(steps, `${place}/`)))));
      } else {
        let n = 1;
        for (; n <= MOST_ITERATIONS && begun(`${place}.${n}/`); n++) body.push(make("section", {}, make("h3", {}, `iteration ${n}`), list(value.steps, `${place}.${n}/`)));
        if (n === 1) body.push(list(value.steps, `${place}.1/`));
        else if (begun(`${place}.${n}/`)) body.push(make("p", { class: "sub" }, `iterations from ${n} on are in the timeline`));
      }
      return make("section", { class: "group", "aria-label": safe(step.id) },
        make("header", {}, make("b", { class: "mono" }, safe(step.id)), make("span", {}, `${run.words(kind)}: ${safe(said(step.work))}${waits.length ? ` · after ${safe(waits.join(", "))}` : ""}`)), ...body);
    }

    const one = (step, around) => {
      const place = `${around}${step.id}`, { kind } = step.work;
      return ["prompt", "tool", "delegate"].includes(kind) ? box(step, kind, at(place)) : group(step, place);
    };
    const list = (steps, around) => make("ol", { class: "flow" }, ...steps.map((step) => make("li", {}, one(step, around))));

    const graph = list(run.contract.steps ?? [], ""), counts = new Map();
    for (const step of run.steps.values()) if (step.compensates === undefined) counts.set(step.state, (counts.get(step.state) ?? 0) + 1);
    // Those that were never begun are counted as they are drawn.
    const left = graph.querySelectorAll(".never").length;
    if (left) counts.set(never, left);
    const legend = make("p", { class: "counts" }, ...[...counts].map(([word, count]) => make("span", {}, state(word), ` ${run.grouped(count)}`)));
    return [legend, graph];
  };
})();
