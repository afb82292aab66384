// The page: what the reader sees of the transcript inside it, and what the reader does. Needs the other scripts.
(() => {
  const $ = (id) => document.getElementById(id);
  const about = JSON.parse($("about").textContent);
  const { brief, dumpHex, fill, lasting, oneLine, pane, when } = parts;
  const CARDS = 200;
  const narrow = matchMedia("(max-width: 760px)");
  let run, bytes, shown = [], selected = -1, filter = "all", query = "", tab = "timeline", machine, charts, report;
  let chosen = false;
  // What the reader has pasted stays for the next transcript.
  const given = {};

  const own = transcript.fromBase64($("transcript").textContent.trim());

  function start(file) {
    bytes = file;
    const lines = [...transcript.lines(bytes)];
    run = readWorkflow.isWorkflow(lines) ? readWorkflow.read(lines) : readItem.isItem(lines) ? readItem.read(lines) : readRun(lines);
    machine = charts = undefined;
    chosen = location.hash !== "";
    report = { state: "checking" };
    document.title = `${run.runId ?? "no run"} · monolith`;
    // What cannot be shown keeps nothing from being checked.
    for (const tell of [tellTop, tellTerms, tellCharts, list, tellKin, () => openTab(TABS[location.hash] ?? first()),
      () => select(fromAddress() ?? (run.entries.at(-1)?.seq ?? -1), { quiet: true })]) {
      try {
        tell();
      } catch (fault) {
        console.warn("not shown:", fault.message);
      }
    }
    verify(lines);
  }

  // A reader begins with what was said, or with the entry that the address names.
  const first = () => (run.workflow ? "steps" : run.item ? "item" : run.talk.length && fromAddress() === undefined ? "talk" : "timeline");

  // --- the head of the page ---

  function tellTop() {
    const { outcome } = run;
    $("outcome").replaceChildren(outcome ? safe(run.ending(outcome)) : "unfinished",
      ...(run.cause ? [make("span", { id: "cause" }, ` · ${oneLine(run.cause)}`)] : []));
    $("outcome").className = !outcome ? "" : run.good ? "good" : "bad";
    $("reason").textContent = !outcome ? run.unfinished : run.sentence ?? about.sentences[outcome.code] ?? safe(`${outcome.class} (${outcome.code})`);
    fill($("task"), run.task(), 400);
    fill($("answer"), run.answer ?? "", 16000);
    $("answer").hidden = !run.answer;
    $("facts").textContent = safe(run.facts().filter(Boolean).join(" · "));
    $("origin").replaceChildren(`${run.name} `, make("code", {}, safe(run.runId)), ` · begun ${when(run.started.started_unix_ms)} · ${run.counted(run.entries.length, "entry")}`);
  }

  function tellTerms() {
    const stateless = Boolean(run.workflow || run.item);
    $("bound").textContent = run.bound;
    $("states").hidden = stateless;
    $("contract").replaceChildren(...run.terms().filter(([, value]) => value !== undefined && value !== "")
      .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, safe(value))]));
    $("budgets").replaceChildren(...run.limits.map(({ name, used, limit }) => make("div", { class: "budget" },
      make("div", {}, make("span", {}, name), make("span", {}, limit === null ? run.grouped(used) : `${run.grouped(used)} of ${run.grouped(limit)}`)),
      limit === null ? null : draw.bar(used, limit))),
    ...(run.waited ? [make("p", { class: "sub" }, `and ${run.grouped(run.waited)} ms of waiting for approvals, which no timeout counts`)] : []));
    if (stateless) return;
    machine = draw.machine(about.edges, run.entries);
    $("machine").replaceChildren(machine.svg);
  }

  // The steps of a workflow, the work item, and the runs above and below; a tab is there where there is something to show.
  function tellKin() {
    const beside = bytes === own ? about.tree ?? [] : [];
    const files = new Map(beside.map((one) => [one.run_id, one.file]));
    const link = (runId) => (files.get(runId) ? make("a", { href: files.get(runId) }, `run ${safe(runId)}`) : `run ${safe(runId)}`);
    const kin = familyOf(run, beside, jump);
    const isRun = !run.workflow && !run.item;
    const shows = { steps: Boolean(run.workflow), item: Boolean(run.item), calls: isRun, talk: isRun, family: Boolean(kin) };
    for (const [name, shown] of Object.entries(shows)) document.querySelector(`[data-tab="${name}"]`).hidden = !shown;
    $("steps").replaceChildren(...(run.workflow ? stepGraph(run, jump, link) : []));
    $("item").replaceChildren(...(run.item ? itemView.view(run, about.files ?? [], jump) : []));
    $("family").replaceChildren(...(kin ?? []));
  }

  function tellCharts() {
    $("charts").hidden = run.entries.length === 0;
    charts = draw.charts(run, (ms) => {
      const entry = run.entries.find((entry) => entry.at >= ms) ?? run.entries.at(-1);
      if (entry) select(entry.seq);
    });
    $("charts").replaceChildren(charts.svg, charts.legend);
  }

  // --- the timeline: only the rows in sight are elements ---

  const tall = () => (narrow.matches ? 42 : 24);

  function list() {
    const words = query.toLowerCase();
    shown = run.entries.filter((entry) => (filter === "all" || entry[filter === "trouble" ? "trouble" : "decision"])
      && (!words || `${entry.seq} ${entry.states} ${entry.what} ${entry.chip ?? ""} ${entry.hash}`.toLowerCase().includes(words)));
    for (const button of document.querySelectorAll("[data-filter]")) button.setAttribute("aria-pressed", String(button.dataset.filter === filter));
    $("room").style.height = `${shown.length * tall()}px`;
    widths();
    paint();
  }

  // The columns of figures are as wide as their widest figure: a figure that is cut is another figure.
  function widths() {
    const widest = (figure) => run.entries.reduce((most, entry) => Math.max(most, figure(entry).length), 0);
    for (const [name, figure] of [["at", at], ["took", (entry) => gain(entry.took)], ["used", (entry) => gain(entry.tokens)]]) {
      $("timeline").style.setProperty(`--${name}`, `${widest(figure) + 1}ch`);
    }
  }

  const at = (entry) => (entry.at / 1000).toFixed(3);
  const gain = (figure) => (figure ? `+${run.grouped(figure)}` : "");

  function paint() {
    const rows = $("rows"), high = tall();
    const first = Math.max(0, Math.floor(rows.scrollTop / high) - 8);
    const last = Math.min(shown.length, Math.ceil((rows.scrollTop + (rows.clientHeight || 600)) / high) + 8);
    $("room").replaceChildren(...shown.slice(first, last).map((entry, at) => row(entry, (first + at) * high)));
  }

  function row(entry, top) {
    const broken = report.flaw && report.seq === entry.seq;
    const after = report.flaw && !report.outside && entry.seq > (report.seq ?? Infinity);
    const cells = make("div", {
      class: `row ${entry.tone} ${entry.quiet ? "quiet" : ""} ${entry.turn ? "turn" : ""} ${broken ? "broken" : ""} ${after ? "after" : ""}`,
      role: "option", "aria-selected": String(entry.seq === selected), id: `row-${entry.seq}`,
      onclick: () => select(entry.seq),
    },
    make("span", {}, String(entry.seq)), make("span", {}, at(entry)), states(entry),
    make("span", { title: safe(entry.what) }, broken ? make("b", { class: "chip bad" }, report.kind) : null,
      entry.chip ? make("b", { class: `chip ${entry.tone}` }, safe(entry.chip)) : null, entry.erased ? make("b", { class: "chip" }, "erased") : null, oneLine(entry.what)),
    make("span", {}, gain(entry.took)), make("span", {}, gain(entry.tokens)),
    make("span", {}, safe(entry.hash.slice(0, 8))));
    cells.style.top = `${top}px`;
    return cells;
  }

  // Where it came from is where the row before went: it gives way where there is little room.
  function states({ states }) {
    const [from, to] = states.split(" → ");
    return to === undefined ? make("span", {}, safe(states)) : make("span", { title: safe(states) }, make("i", {}, safe(from), " "), `→ ${safe(to)}`);
  }

  function select(seq, { quiet = false } = {}) {
    const entry = run.entries.find((entry) => entry.seq === seq) ?? run.entries[0];
    if (!entry) return $("inspector").replaceChildren();
    selected = entry.seq;
    const at = shown.indexOf(entry), rows = $("rows"), high = tall();
    if (at >= 0 && at * high < rows.scrollTop) rows.scrollTop = at * high;
    if (at >= 0 && (at + 1) * high > rows.scrollTop + rows.clientHeight) rows.scrollTop = (at + 1) * high - rows.clientHeight;
    rows.setAttribute("aria-activedescendant", `row-${entry.seq}`);
    paint();
    machine?.point(entry.action);
    charts?.point(entry.at);
    inspect(entry);
    if (quiet) return;
    chosen = true;
    history.replaceState(null, "", `#entry-${entry.seq}`);
  }

  function move(by) {
    const at = shown.findIndex((entry) => entry.seq === selected);
    const next = shown[Math.max(0, Math.min(shown.length - 1, at < 0 ? 0 : at + by))];
    if (next) select(next.seq);
  }

  const TABS = { "#view=timeline": "timeline", "#view=calls": "calls", "#view=conversation": "talk", "#view=verification": "check", "#view=runs": "family", "#view=steps": "steps", "#view=item": "item" };
  const fromAddress = () => (/^#entry-\d+$/.test(location.hash) ? Number(location.hash.slice(7)) : undefined);

  // --- one entry ---

  function inspect(entry) {
    const { action, event } = entry, value = event?.event?.value;
    const facts = [
      ["turn, attempt", action.step_id === undefined ? "" : `${action.step_id}, ${action.attempt}`],
      ["rule", action.predicate && `${action.predicate.item}: ${run.words(action.predicate.name)}`],
      ["note", action.note], ["model", model(action.target)],
      ["context", action.context && `${run.grouped(action.context.projected)} of ${run.grouped(action.context.limit)} tokens`],
      ["request", value?.request_hash && `${value.request_hash.slice(0, 16)}… (replay makes its body again)`],
      ["hash", entry.hash],
    ];
    const inside = [
      make("h2", { class: "big" }, `Entry ${entry.seq}: ${safe(entry.states)}`),
      make("p", { class: "sub" }, oneLine(entry.what)),
      make("dl", {}, ...facts.filter(([, text]) => text).flatMap(([name, text]) => [make("dt", {}, name), make("dd", { class: name === "hash" ? "mono" : "" }, safe(text))])),
    ];
    if (report.flaw && report.seq === entry.seq) inside.unshift(make("p", { class: "flaw" }, make("b", {}, checking.verdict(run, report)), safe(report.flaw)));
    if (action.checks?.length) {
      inside.push(make("h3", {}, "Checks before the run"), make("dl", {}, ...action.checks.flatMap((check) => [
        make("dt", { class: check.ok ? "" : "odd" }, check.ok ? "ok" : "FAILED"), make("dd", {}, `${safe(check.name)}: ${safe(check.detail)}`)])));
    }
    for (const call of run.calls.values()) if (call.seq === entry.seq || call.end === entry.seq) inside.push(callCard(call, entry.seq));
    const panes = [];
    if (event) panes.push(pane("Event", "canonical, hashed", JSON.stringify(event, null, 2), { exact: JSON.stringify(event), json: true }));
    const named = run.item ? transcript.testedBlob : transcript.blobNames;
    for (const [hash, need, name] of event && !run.workflow ? named(event.event ?? {}) : []) {
      // What was erased is said first: it is what somebody looks for and does not find.
      if (need !== "request") panes[run.stones.has(hash) ? "unshift" : "push"](blob(hash, need, name));
    }
    panes.push(pane("Action", "canonical, hashed", JSON.stringify(action, null, 2), { exact: JSON.stringify(action), json: true }));
    inside.push(make("div", { class: "pair" }, ...panes));
    $("inspector").replaceChildren(...inside);
    $("inspector").scrollTop = 0;
  }

  function model(index) {
    const target = run.contract.targets?.[index];
    return target && `${target.provider}/${target.model}`;
  }

  // The text where bytes were erased.
  function erased({ name, reason, time, signers }) {
    const known = report.book?.stoneSigners.get(name) ?? [];
    const by = signers.map((signer) => `${signer}, a key that you ${known.includes(signer) ? "gave" : "did not give"}`).join("; ");
    return `erased on ${when(time)} because ${reason ? `“${reason}”` : "of a reason that was not said"} (tombstone signed by ${by})`;
  }

  // The bytes as they came, beside what was made of them.
  function blob(hash, need, name) {
    const encoded = run.blobs.get(hash), short = `${String(hash).slice(0, 12)}…`;
    const title = { raw_hash: "Raw bytes", full: "Whole result", blob: "Resource", withheld: "Text held back", output_blob: "Output of the tests" }[name];
    if (encoded === undefined) {
      const stone = run.stones.get(hash);
      if (stone) return pane(title, `erased, ${short}`, erased(stone), {});
      const why = need === "withheld" ? "withheld: no tool call was validated yet; export --withheld includes it" : "not in this file";
      return pane(title, short, why, {});
    }
    let data;
    try {
      data = transcript.fromBase64(encoded);
    } catch {
      return pane(title, short, "not base64", {});
    }
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
    } catch {
      text = dumpHex(data);
    }
    return pane(title, `${run.counted(data.length, "byte")}, ${short}`, text, {});
  }

  // --- the other views ---

  const jump = (seq, text = `entry ${seq}`) => make("button", { class: "go", type: "button", onclick: () => {
    openTab("timeline");
    select(seq);
  } }, text);

  function callCard(call, here) {
    const outcome = call.outcome?.value;
    const result = call.outcome?.kind === "returned" ? (outcome.content ?? []).map((block) => (block.kind === "text" ? block.value : `[${block.value?.mime_type}]`)).join("\n") : "";
    return make("div", { class: "card" },
      make("header", {}, make("b", {}, `${call.call}  ${safe(call.name)}`),
        make("span", {}, call.ended ? safe(call.ended.text) : "no result"),
        call.ended?.tone ? make("b", { class: `chip ${call.ended.tone}` }, outcome?.full ? "cut" : /denied: /.test(call.ended.text) ? "denied" : "failed") : null,
        make("span", {}, call.to === undefined ? "" : `${run.grouped(call.to - call.from)} ms`),
        here === call.seq ? call.end !== undefined && jump(call.end, "its result") : jump(call.seq)),
      fill(make("pre"), call.arguments, 4000),
      result ? fill(make("pre"), result, 4000) : null);
  }

  function cards(place, items, card, empty) {
    let to = CARDS;
    const show = () => {
      const more = items.length > to ? [make("button", { type: "button", onclick: () => {
        to += CARDS;
        show();
      } }, `${run.grouped(items.length - to)} more`)] : [];
      place.replaceChildren(...(items.length ? items.slice(0, to).map(card) : [make("p", {}, empty)]), ...more);
    };
    show();
  }

  function message(said) {
    if (said.idle) return make("p", { class: "idle" }, `${lasting(said.idle)} without work of a model or a tool`);
    const asked = (said.tool_calls ?? []).map((call) => fill(make("pre"), call.fault ? `${call.name} (${call.fault})` : `${call.name} ${call.arguments}`, 4000));
    return make("div", { class: "card" },
      make("header", {}, make("span", { class: "role" }, safe(said.role)), said.name ? make("b", {}, safe(said.name)) : null,
        ...(said.cut ? [make("b", { class: "chip warn" }, "cut for the model"), jump(said.seq, `whole in entry ${said.seq}`)] : [jump(said.seq)])),
      said.reasoning ? fill(make("pre", { class: "sub" }), said.reasoning, 8000) : null,
      said.content ? fill(make("pre", { class: said.role === "tool" ? "" : "said" }), said.content, 16000) : null, ...asked);
  }

  // What was said, with each long pause in one line.
  function talk() {
    const items = [], pauses = [...run.time.pauses];
    const pass = (until) => {
      while (pauses.length && pauses[0].to <= until) {
        const { from, to } = pauses.shift();
        items.push({ idle: to - from });
      }
    };
    for (const said of run.talk) {
      pass(said.at);
      items.push(said);
    }
    pass(Infinity);
    return items;
  }

  function openTab(asked) {
    const name = document.querySelector(`[data-tab="${asked}"]`).hidden ? "timeline" : asked;
    tab = name;
    for (const button of document.querySelectorAll("[data-tab]")) {
      button.setAttribute("aria-selected", String(button.dataset.tab === name));
      button.tabIndex = button.dataset.tab === name ? 0 : -1;
      $(button.dataset.tab).hidden = button.dataset.tab !== name;
    }
    $("tools").hidden = name !== "timeline";
    if (name === "calls") cards($("calls"), [...run.calls.values()], (call) => callCard(call), "No call was started.");
    if (name === "talk") cards($("talk"), talk(), message, "Nothing was said.");
    if (name === "check") tellCheck();
    if (name === "timeline") paint();
  }

  // --- verification ---

  async function verify(lines) {
    const mine = bytes, verifier = new transcript.Verifier({ open: true });
    const began = performance.now();
    let pause = began;
    try {
      for (const line of lines) {
        verifier.take(line);
        if (performance.now() - pause < 24) continue;
        $("verdict").textContent = `checking… ${Math.floor((100 * line.number) / lines.length)} %`;
        await new Promise((resolve) => setTimeout(resolve));
        if (bytes !== mine) return; // another transcript was opened meanwhile
        pause = performance.now();
      }
      verifier.finish();
    } catch (flaw) {
      report = broken(verifier, flaw);
      return settled();
    }
    // What verifies may still not be what the machine decided.
    const agreement = agreeing(run, bytes === own ? about.states : undefined, about.edges);
    report = { state: "checking", verifier, agreement, took: performance.now() - began };
    await judge();
    if (bytes === mine) settled();
  }

  // Holds the whole chain against what the reader has pasted.
  async function judge() {
    const mine = bytes, { verifier, took, agreement } = report;
    const good = { state: verifier.last.kind === "seal" ? "verified" : "unfinished", verifier, took, agreement, whole: true };
    let brought = await trust.read({}), fault;
    try {
      brought = await trust.read(given);
    } catch (flaw) {
      fault = flaw.message;
    }
    let judged;
    try {
      judged = { ...good, fault, book: await trust.judge(verifier, brought) };
    } catch (flaw) {
      judged = { ...broken(verifier, flaw), took, agreement, whole: true };
    }
    if (bytes === mine) report = judged;
  }

  function broken(verifier, flaw) {
    const line = flaw.line ?? verifier.line, entries = run.entries;
    const kind = flaw instanceof transcript.Flaw ? flaw.kind : "tampered";
    const found = { state: "broken", verifier, flaw: flaw.message, line, kind, outside: flaw.outside === true };
    if (found.outside) return { ...found, seq: flaw.seq };
    // A line of an entry names it; a blob is named by the first entry that needs it; the header and the rest have none.
    const name = entries.length && line > 1 ? entries.find((entry) => entry.line === line)?.seq ?? blobAt(verifier, line) : undefined;
    const next = line > 1 && line <= verifier.heads.length + 2 && verifier.blobs.length === 0 && verifier.last.kind !== "seal" ? line - 2 : undefined;
    return { ...found, seq: name ?? next };
  }

  function blobAt(verifier, line) {
    const text = [...transcript.lines(bytes)].find((found) => found.number === line)?.text ?? "";
    const hash = /^\{"blob":"([0-9a-f]{64})"/.exec(text)?.[1];
    return verifier.named.get(hash)?.seq;
  }

  function settled() {
    const root = document.documentElement;
    tellTop();
    $("verdict").textContent = checking.verdict(run, report);
    Object.assign(root.dataset, { verdict: report.flaw ? report.kind.replaceAll(" ", "-") : report.state, state: report.state,
      entry: report.seq ?? "", agrees: report.agreement?.state ?? "", departure: report.agreement?.seq ?? "", entries: run.entries.length, took: Math.round(report.took ?? 0), level: report.book?.level ?? "" });
    // The flaw is what the reader must see first, unless the address or the reader asks for something else.
    const departed = !report.flaw && report.agreement?.state === "departs" && run.entries.find((entry) => entry.seq === report.agreement.seq);
    const flawed = departed || report.flaw && (run.entries.find((entry) => entry.seq === report.seq) ?? run.entries.findLast((entry) => entry.line <= report.line));
    if ((report.flaw || departed) && !chosen && ["item", "talk"].includes(tab)) openTab("timeline");
    if (flawed && !chosen) select(flawed.seq, { quiet: true });
    else if (selected >= 0) select(selected, { quiet: true });
    if (report.flaw) $("reason").textContent = report.outside
      ? `The file holds together, but not with what you gave: ${safe(report.flaw)}.`
      : "Not verified: from the flaw on, nothing that is shown here has a ground.";
    else if (report.agreement?.state === "departs") $("reason").textContent =
      `The file holds together, but this page does not show what the machine decided: ${safe(report.agreement.text)}.`;
    if (tab === "check") tellCheck();
  }

  function tellCheck() {
    $("check").replaceChildren(...checking.view(run, report, given, {
      judge: async () => {
        // A chain that is broken is not repaired by keys.
        if (!report.whole) return;
        await judge();
        settled();
      },
      save: () => {
        const link = make("a", { download: `${run.runId ?? "run"}.jsonl`, href: URL.createObjectURL(new Blob([bytes])) });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      },
      open: async (file) => {
        if (file) start(new Uint8Array(await file.arrayBuffer()));
      },
    }));
  }

  // --- what the reader does ---

  $("rows").addEventListener("scroll", paint, { passive: true });
  new ResizeObserver(() => list()).observe($("rows"));
  $("verdict").addEventListener("click", () => openTab("check"));
  $("help").addEventListener("click", () => $("keys").showModal());
  $("find").addEventListener("input", (event) => {
    query = event.target.value;
    $("rows").scrollTop = 0;
    list();
  });
  const tabs = [...document.querySelectorAll("[data-tab]")];
  tabs.forEach((button, at) => {
    button.addEventListener("click", () => openTab(button.dataset.tab));
    button.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      const there = tabs.filter((tab) => !tab.hidden);
      const next = there[(there.indexOf(tabs[at]) + by + there.length) % there.length];
      openTab(next.dataset.tab);
      next.focus();
    });
  });
  for (const button of document.querySelectorAll("[data-filter]")) {
    button.addEventListener("click", () => {
      filter = button.dataset.filter;
      list();
    });
  }
  addEventListener("hashchange", () => {
    const seq = fromAddress();
    if (seq !== undefined) select(seq);
    else if (TABS[location.hash]) openTab(TABS[location.hash]);
  });

  const KEYS = {
    j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
    g: () => move(-Infinity), G: () => move(Infinity),
    Enter: () => $("inspector").focus(), Escape: () => $("rows").focus(),
    "/": () => { openTab("timeline"); $("find").focus(); }, "?": () => $("keys").showModal(),
    f: () => { filter = { all: "decisions", decisions: "trouble", trouble: "all" }[filter]; list(); },
    1: () => openTab("talk"), 2: () => openTab("timeline"), 3: () => openTab("calls"), 4: () => openTab("check"),
    5: () => openTab("family"), 6: () => openTab("steps"), 7: () => openTab("item"),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
    const writes = ["INPUT", "TEXTAREA"].includes(event.target.tagName);
    if (writes && event.key !== "Escape") return;
    // Where the reader stands in a text or on a button, its own keys come first.
    if (event.target.closest("#inspector, button") && ["Enter", "ArrowDown", "ArrowUp"].includes(event.key)) return;
    if (!KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  start(own);
})();
