// The view of a work item: state, admission, changed files with their diffs, tests, receipt. Needs item.js, parts.js, draw.js.
//
// A diff is drawn only if the contents that it leads from and to have the hashes that the entries state. The contents are no part of a
// transcript.
const itemView = (() => {
  const { Flaw, encoder, hex, hold } = transcript;
  const MOST_LINES = 400;

  const pieces = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

  // The text that hunks lead to. Throws a Flaw where they do not fit the text that they lead from.
  function applied(before, hunks) {
    const lines = pieces(before), out = [];
    let at = 0;
    for (const { old_offset: from, lines: changed } of hunks) {
      hold(Number.isSafeInteger(from) && from >= at && from <= lines.length, "a hunk is not in its place");
      while (at < from) out.push(lines[at++]);
      for (const line of changed) {
        const sign = line[0], text = line.slice(1);
        hold([" ", "+", "-"].includes(sign) && (sign === "+" || lines[at] === text), "a hunk does not fit the text before");
        if (sign !== "+") at++;
        if (sign !== "-") out.push(text);
      }
    }
    while (at < lines.length) out.push(lines[at++]);
    return out.join("");
  }

  // The digest of a file's content or of a link's target; undefined where there is neither.
  const digestOf = (node) => (node?.kind === "file" ? node.value.content : node?.kind === "link" ? node.value.target : undefined);

  function holds(text, node) {
    const stated = digestOf(node);
    return stated === undefined ? text === "" : hex(blake3.hash(encoder.encode(text))) === stated;
  }

  // Whether the hunks lead from the content before a change to the content after it, as the entries state both by their hashes.
  function isBound(change, { before, hunks }) {
    try {
      return holds(before, change.before) && holds(applied(before, hunks), change.after);
    } catch (fault) {
      if (fault instanceof Flaw || fault instanceof TypeError) return false;
      throw fault;
    }
  }

  const octal = (mode) => Number(mode).toString(8).padStart(3, "0");
  const wordOf = ({ before, after }) => (!before ? (after?.kind === "folder" ? "new folder" : "created") : after ? "modified" : "deleted");

  // What of a path changed besides its content: kind, mode, size.
  function facts(run, { before, after }) {
    const both = (from, to) => (from === undefined ? to : to === undefined || from === to ? from : `${from} → ${to}`);
    const mode = (node) => (node?.value.mode === undefined ? undefined : octal(node.value.mode));
    const size = (node) => (node?.kind === "file" ? run.counted(node.value.size, "byte") : undefined);
    const shown = [both(before?.kind, after?.kind), mode(before) !== mode(after) || !before ? `mode ${both(mode(before), mode(after))}` : "", both(size(before), size(after))];
    return shown.filter((text) => text && !text.includes("undefined")).join(" · ");
  }

  function header({ old_offset: from, new_offset: to, lines }) {
    const count = (sign) => lines.filter((line) => line[0] !== sign).length;
    const range = (offset, length) => (length === 1 ? `${offset + 1}` : `${length ? offset + 1 : offset},${length}`);
    return `@@ -${range(from, count("+"))} +${range(to, count("-"))} @@`;
  }

  function drawn(run, hunks) {
    const lines = hunks.flatMap((hunk) => [["hunk", header(hunk)], ...hunk.lines.flatMap((line) => {
      const tone = { "+": "add", "-": "del" }[line[0]] ?? "";
      return line.endsWith("\n") ? [[tone, line.slice(0, -1)]] : [[tone, line], ["hunk", "\\ no line feed at the end"]];
    })]);
    const body = make("pre", { class: "diff", tabindex: "0" });
    const show = (most) => {
      body.replaceChildren(...lines.slice(0, most).map(([tone, text]) => make("span", { class: tone }, `${safe(text)}\n`)));
      if (lines.length > most) body.append(make("button", { class: "clipped", type: "button", onclick: () => show(Infinity) }, `${run.counted(lines.length - most, "more line")}; show all`));
    };
    show(MOST_LINES);
    return body;
  }

  // A changed path. Its diff stands below it where it is bound to the hashes of the entries.
  function card(run, change, files) {
    const file = files.find(({ path }) => path === change.path), digests = [change.before, change.after].map(digestOf);
    const hashes = digests.map((digest) => digest?.slice(0, 12) ?? "none").join(" → ");
    const body = [], header = [make("b", {}, safe(change.path)), make("span", {}, wordOf(change)), make("span", {}, safe(facts(run, change)))];
    if (digests[0] === digests[1]) return make("div", { class: "card" }, make("header", {}, ...header));
    if (!file?.hunks) {
      body.push(make("p", { class: "sub" }, `${file?.reason ? `${safe(file.reason)}: no diff` : "No diff"}. Contents are no part of the transcript, which states their hashes: ${hashes}.`));
    } else if (isBound(change, file)) {
      const count = (sign) => file.hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line[0] === sign).length, 0);
      header.push(make("span", { class: "bound" }, `+${count("+")} −${count("-")} · BLAKE3 ${hashes}, computed again`));
      body.push(drawn(run, file.hunks));
    } else {
      header.push(make("b", { class: "chip bad" }, "other contents"));
      body.push(make("p", { class: "flaw" }, `The diff of this page does not lead to the contents that the entries state (${hashes}). It is not shown.`));
    }
    return make("div", { class: "card" }, make("header", {}, ...header), ...body);
  }

  const rows = (...rows) => make("dl", {}, ...rows.filter(([, text]) => text !== undefined && text !== "").flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, ...[text].flat().map((part) => (typeof part === "string" ? safe(part) : part)))]));

  function admission(run, { agent, capsule, end, figures, is, isAdmitted }) {
    const limits = is.constraints ?? {}, deltas = capsule?.deltas ?? {}, of = (used, limit) => `${run.grouped(used)} of ${run.grouped(limit ?? 0)}`;
    const counts = capsule ? ` (edits ${deltas.o}, modes ${deltas.pi}, links and folders ${deltas.lambda}, outside and queued ${deltas.q})` : "";
    const outside = agent?.calls?.external?.join(", ");
    return rows(["verdict", end?.denial ? "denied" : !capsule ? "not judged" : isAdmitted ? "admitted" : "over a limit"],
      ["files touched", of(figures.files, limits.max_files)], ["tool calls", of(figures.calls, limits.max_tool_ops)],
      ["state changes", `${of(figures.changes, limits.max_delta_size)}${counts}`], ["calls outside, not allowed", outside]);
  }

  function tested(run, { is, output, tests, testsAt }, go) {
    if (!tests) return [make("p", {}, is.test_command ? "The tests did not run." : "The item has no tests.")];
    const figure = (count) => (count === undefined ? undefined : run.grouped(count));
    return [rows(["command", is.test_command], ["exit code", tests.exit_code === undefined ? "none: a signal ended it, or it did not begin" : String(tests.exit_code)],
      ["passed", figure(tests.passed)], ["failed", figure(tests.failed)], ["entry", go(testsAt)]), parts.pane("Output", output === undefined ? "its end" : "as it was kept", String(output ?? tests.output ?? ""), {})];
  }

  function receipt(run, { receipt: stated, receiptHash, receiptId }) {
    if (!stated) return [make("p", {}, run.outcome ? "The receipt is missing." : "The item has not ended.")];
    return [rows(["id", receiptId], ["hash", receiptHash], ["number", run.grouped(stated.count)], ["receipt before", stated.previous], ["written by", stated.toolchain],
      ["ended", parts.when(stated.finished_unix_ms)]), parts.pane("RECEIPT.json", "canonical, hashed", JSON.stringify(stated, null, 2), { exact: JSON.stringify(stated), json: true })];
  }

  // Draws the view. `files` are the contents that the page brings, `go` makes a button to an entry.
  function view(run, files, go) {
    const { item } = run, { agent, capsule, is } = item, changes = capsule?.changes ?? [];
    const section = (title, ...inner) => make("section", { "aria-label": title }, make("h2", {}, title), ...inner);
    const none = make("p", {}, capsule ? "Nothing was changed." : "No attempt came so far.");
    return [
      section("State", rows(["item", is.id], ["state", item.state], ["reason", item.reason], ["agent", is.agent_id], ["run", agent && [`${agent.run_id} `, go(item.agentAt)]],
        ["tree before", item.before], ["tree with the changes", capsule?.output_hash], ["work tree afterwards", item.published],
        ["conflicts", item.end?.conflicts?.join(", ")])),
      section("Admission", admission(run, item)),
      section(`Changed paths (${run.grouped(changes.length)})`, ...(changes.length ? [make("p", { class: "sub" }, "Stated in ", go(item.capsuleAt), item.published ? ", published." : ", not published."), ...changes.map((change) => card(run, change, files))] : [none]),
        ...(capsule?.discarded?.length ? [make("p", { class: "sub" }, safe(`Thrown away, because ignored files are not published: ${capsule.discarded.join(", ")}`))] : [])),
      section("Tests", ...tested(run, item, go)),
      section("Receipt", ...receipt(run, item)),
    ];
  }

  return { isBound, view };
})();
