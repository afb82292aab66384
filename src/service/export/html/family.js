// The runs above and below this one: what the bytes of this page say of them, and what is exported beside it. Needs draw.js.
const familyOf = (() => {
  const isFile = (name) => typeof name === "string" && /^[a-z0-9][a-z0-9._-]*\.html$/.test(name);

  // What the entries of this run state of the run above it and of those that it began.
  function stated(run) {
    const above = run.started?.parent, below = [];
    for (const call of run.calls.values()) {
      if (!call.agent) continue;
      const { child } = call;
      below.push({ runId: child ? String(child.run_id) : `${run.runId}.${call.call}`, link: `call ${call.call}, ${call.name}`, seq: call.seq,
        outcome: child && `${child.outcome.class} (${child.outcome.code})`, entries: child?.entries, head: child?.head, open: call.end === undefined, none: call.end !== undefined && !child });
    }
    for (const step of run.steps?.values() ?? []) {
      const undoes = step.compensates === undefined ? "" : `, undoes ${step.compensates}`;
      below.push({ runId: step.runId ?? `${run.runId}.${step.number}`, link: `step ${step.number} ${step.place}${undoes}: ${step.state}`, seq: step.seq,
        outcome: step.outcome && `${step.outcome.class} (${step.outcome.code})`, head: step.head, open: step.state === "running", none: step.end !== undefined && !step.runId });
    }
    for (const { attempt, end, failure, head, runId, seq } of run.item?.runs ?? []) {
      below.push({ runId, link: `attempt ${attempt}`, seq, outcome: end === undefined ? undefined : failure ?? "done", head, open: end === undefined });
    }
    return { above, below };
  }

  // The tree, each run with those below it: {runId, link, outcome, entries, file, here, stated, differs, below}.
  function tree(run, beside) {
    const { above, below } = stated(run);
    const known = new Map(beside.map((one) => [one.run_id, one]));
    const node = (runId, more) => {
      const one = known.get(runId);
      return { runId, file: one?.file, entries: one?.entries, outcome: one?.outcome, link: one?.link, below: [], ...more };
    };
    // What this page proves of the runs that it began: it has their ends, and the hash of their last entry.
    const proven = (found) => {
      const one = known.get(found.runId), differs = found.head !== undefined && one !== undefined && one.head !== found.head;
      return { link: found.link, ...(found.outcome ? { outcome: found.outcome } : {}), ...(found.entries ? { entries: found.entries } : {}), open: found.open, none: found.none, seq: found.seq, stated: found.head !== undefined, differs };
    };
    const listed = new Set(), roots = [], stack = [];
    for (const one of beside) {
      const mine = below.find((found) => found.runId === one.run_id);
      const here = one.run_id === run.runId;
      const made = node(one.run_id, mine ? proven(mine) : here ? { here } : {});
      stack.length = one.depth;
      (one.depth > 0 ? stack[one.depth - 1]?.below ?? roots : roots).push(made);
      stack[one.depth] = made;
      listed.add(one.run_id);
    }
    const find = (nodes) => nodes.reduce((found, one) => found ?? (one.runId === run.runId ? one : find(one.below)), undefined);
    let own = find(roots);
    if (!own) {
      own = node(run.runId, { here: true });
      roots.push(own);
    }
    own.outcome = run.outcome ? `${run.outcome.class} (${run.outcome.code})` : undefined;
    own.entries = run.entries.length;
    for (const found of below) if (!listed.has(found.runId)) own.below.push(node(found.runId, proven(found)));
    // The run above is known by its name alone, where it is not exported, too.
    if (above && !listed.has(String(above.run_id))) return [{ runId: String(above.run_id), below: roots, elsewhere: true }];
    return roots;
  }

  const count = (nodes) => nodes.reduce((sum, one) => sum + 1 + count(one.below), 0);

  function drawn(nodes, run, go) {
    return make("ul", { class: "family" }, ...nodes.map((one) => make("li", {},
      make("div", { class: `kin ${one.here ? "here" : ""}` },
        isFile(one.file) && !one.here ? make("a", { href: one.file }, safe(one.runId)) : make("b", {}, safe(one.runId)),
        one.here ? make("span", { class: "chip" }, "this page") : "",
        one.differs ? make("span", { class: "chip bad" }, "another run than was recorded") : "",
        make("span", {}, safe([one.link, one.elsewhere ? "not in this file" : one.none ? "not begun" : one.outcome ?? (one.open || one.here ? "no end yet" : ""), one.entries ? run.counted(one.entries, "entry") : ""].filter(Boolean).join(" · "))),
        one.seq === undefined ? "" : go(one.seq)),
      one.below.length ? drawn(one.below, run, go) : null)));
  }

  // The view of the tree; nothing where no run is above or below. `go` makes a button to an entry.
  return function familyOf(run, beside, go) {
    const nodes = tree(run, beside);
    if (count(nodes) < 2) return undefined;
    const proof = make("p", { class: "sub" }, "How the runs directly below this one ended is recorded here, with the hash of their last entries. What stands further down, or above, each run's own page proves; monolith verify RUN --tree holds all of them against each other.");
    return [drawn(nodes, run, go), proof];
  };
})();
