// The page: what the reader sees of the transcript inside it, and what the reader does. Needs the other scripts.
(() => {
  const $ = (id) => document.getElementById(id);
  const about = JSON.parse($("about").textContent);
  const MOST_TEXT = 64 * 1024, CARDS = 200;
  const narrow = matchMedia("(max-width: 760px)");
  let run, bytes, shown = [], selected = -1, filter = "all", query = "", tab = "timeline", machine, charts, report;

  function start(given) {
    bytes = given;
    const lines = [...transcript.lines(bytes)];
    run = readRun(lines);
    machine = charts = undefined;
    report = { state: "checking" };
    document.title = `${run.runId ?? "no run"} · monolith`;
    // What cannot be shown keeps nothing from being checked.
    for (const tell of [tellTop, tellTerms, tellCharts, list, () => openTab(TABS[location.hash] ?? "timeline"),
      () => select(fromAddress() ?? (run.entries.at(-1)?.seq ?? -1), { quiet: true })]) {
      try {
        tell();
      } catch (fault) {
        console.warn("not shown:", fault.message);
      }
    }
    verify(lines);
  }

  // --- the head of the page ---

  function tellTop() {
    const { outcome } = run;
    const good = outcome?.class.startsWith("COMPLETED");
    $("outcome").textContent = outcome ? `${safe(run.words(outcome.class).toLowerCase())}: ${safe(run.words(outcome.code))}` : "no end yet";
    $("outcome").className = !outcome ? "" : good ? "good" : "bad";
    $("reason").textContent = !outcome ? "The run is in progress, or its process was cut off."
      : about.sentences[outcome.code] ?? safe(`${outcome.class} (${outcome.code})`);
    const began = run.started.started_unix_ms;
    const when = began === undefined ? "" : new Date(began).toISOString().replace("T", " ").slice(0, 19);
    $("facts").replaceChildren("run ", make("code", {}, safe(run.runId)), ` · begun ${when} UTC · ${run.counted(run.entries.length, "entry").replace("entrys", "entries")} · ${(run.total / 1000).toFixed(3)} s`);
  }

  function tellTerms() {
    const { contract } = run;
    const rows = [
      ["id", contract.contract_id], ["hash", `${String(contract.contract_hash).slice(0, 16)}…`],
      ["task", brief([...(run.started.messages ?? [])].reverse().find((message) => message.role === "user")?.content ?? "", 240)],
      ["tools", `${contract.tool_policy}, ${run.words(contract.policy_decision?.grounds)}`],
      ["exposed", contract.allowed_tools === null ? "all" : (contract.allowed_tools ?? []).join(", ") || "none"],
      ["ends with", run.words(contract.completion)], ["strict", contract.strict_mode ? "yes" : "no"],
      ["token gate", contract.token_gate ? "yes" : "no"],
      ["models", (contract.targets ?? []).map((target) => `${target.provider}/${target.model}`).join(", ")],
      ["parent", run.started.parent?.run_id],
    ];
    $("contract").replaceChildren(...rows.filter(([, value]) => value !== undefined && value !== "")
      .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, safe(value))]));
    $("budgets").replaceChildren(...run.limits.map(({ name, used, limit }) => make("div", { class: "budget" },
      make("div", {}, make("span", {}, name), make("span", {}, limit === null ? run.grouped(used) : `${run.grouped(used)} of ${run.grouped(limit)}`)),
      limit === null ? null : draw.bar(used, limit))));
    machine = draw.machine(about.edges, run.entries);
    $("machine").replaceChildren(machine.svg);
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
    paint();
  }

  function paint() {
    const rows = $("rows"), high = tall();
    const first = Math.max(0, Math.floor(rows.scrollTop / high) - 8);
    const last = Math.min(shown.length, Math.ceil((rows.scrollTop + (rows.clientHeight || 600)) / high) + 8);
    $("room").replaceChildren(...shown.slice(first, last).map((entry, at) => row(entry, (first + at) * high)));
  }

  function row(entry, top) {
    const broken = report.flaw && report.seq === entry.seq;
    const cells = make("div", {
      class: `row ${entry.tone} ${entry.quiet ? "quiet" : ""} ${entry.turn ? "turn" : ""} ${broken ? "broken" : ""}`,
      role: "option", "aria-selected": String(entry.seq === selected), id: `row-${entry.seq}`,
      onclick: () => select(entry.seq),
    },
    make("span", {}, String(entry.seq)), make("span", {}, (entry.at / 1000).toFixed(3)), make("span", {}, safe(entry.states)),
    make("span", { title: safe(entry.what) }, broken ? make("b", { class: "chip bad" }, "tampered") : null,
      entry.chip ? make("b", { class: `chip ${entry.tone}` }, safe(entry.chip)) : null, oneLine(entry.what)),
    make("span", {}, entry.took ? `+${run.grouped(entry.took)}` : ""), make("span", {}, entry.tokens ? `+${run.grouped(entry.tokens)}` : ""),
    make("span", {}, safe(entry.hash.slice(0, 8))));
    cells.style.top = `${top}px`;
    return cells;
  }

  const oneLine = (text) => safe(brief(text, 400)).replaceAll("\n", " ⏎ ").replaceAll("\t", " ");
  function brief(text, most) {
    const cut = text.slice(0, most);
    return cut.length < text.length ? `${cut.replace(/[\ud800-\udbff]$/, "")}…` : text;
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
    if (!quiet) history.replaceState(null, "", `#entry-${entry.seq}`);
  }

  function move(by) {
    const at = shown.findIndex((entry) => entry.seq === selected);
    const next = shown[Math.max(0, Math.min(shown.length - 1, at < 0 ? 0 : at + by))];
    if (next) select(next.seq);
  }

  const TABS = { "#view=calls": "calls", "#view=conversation": "talk", "#view=verification": "check" };
  const fromAddress = () => (/^#entry-\d+$/.test(location.hash) ? Number(location.hash.slice(7)) : undefined);

  // --- one entry ---

  function inspect(entry) {
    const { action, event } = entry, value = event?.event?.value;
    const facts = [
      ["turn, attempt", `${action.step_id}, ${action.attempt}`],
      ["rule", action.predicate && `${action.predicate.item}: ${run.words(action.predicate.name)}`],
      ["note", action.note], ["model", model(action.target)],
      ["context", action.context && `${run.grouped(action.context.projected)} of ${run.grouped(action.context.limit)} tokens`],
      ["request", value?.request_hash && `${value.request_hash.slice(0, 16)}… (replay makes its body again)`],
      ["hash", entry.hash],
    ];
    const parts = [
      make("h2", { class: "big" }, `Entry ${entry.seq}: ${safe(entry.states)}`),
      make("p", { class: "sub" }, oneLine(entry.what)),
      make("dl", {}, ...facts.filter(([, text]) => text).flatMap(([name, text]) => [make("dt", {}, name), make("dd", { class: name === "hash" ? "mono" : "" }, safe(text))])),
    ];
    if (report.flaw && report.seq === entry.seq) parts.unshift(make("p", { class: "flaw" }, `TAMPERED at entry ${entry.seq}: ${safe(report.flaw)}`));
    if (action.checks?.length) {
      parts.push(make("h3", {}, "Checks before the run"), make("dl", {}, ...action.checks.flatMap((check) => [
        make("dt", { class: check.ok ? "" : "odd" }, check.ok ? "ok" : "FAILED"), make("dd", {}, `${safe(check.name)}: ${safe(check.detail)}`)])));
    }
    for (const call of run.calls.values()) if (call.seq === entry.seq || call.end === entry.seq) parts.push(callCard(call, entry.seq));
    const panes = [];
    if (event) panes.push(pane("Event", "canonical, hashed", JSON.stringify(event, null, 2), { exact: JSON.stringify(event), json: true }));
    for (const [hash, need, name] of event ? transcript.blobNames(event.event ?? {}) : []) {
      if (need !== "request") panes.push(blob(hash, need, name));
    }
    panes.push(pane("Action", "canonical, hashed", JSON.stringify(action, null, 2), { exact: JSON.stringify(action), json: true }));
    parts.push(make("div", { class: "pair" }, ...panes));
    $("inspector").replaceChildren(...parts);
    $("inspector").scrollTop = 0;
  }

  function model(index) {
    const target = run.contract.targets?.[index];
    return target && `${target.provider}/${target.model}`;
  }

  // The bytes as they came, beside what was made of them.
  function blob(hash, need, name) {
    const encoded = run.blobs.get(hash), short = `${String(hash).slice(0, 12)}…`;
    const title = { raw_hash: "Raw bytes", full: "Whole result", blob: "Resource", withheld: "Text held back" }[name];
    if (encoded === undefined) {
      const why = need === "withheld" ? "held back by the token gate; export --withheld includes it" : "not in this file";
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

  function dumpHex(data) {
    const lines = [];
    for (let at = 0; at < Math.min(data.length, 4096); at += 16) {
      const part = [...data.subarray(at, at + 16)];
      const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(48);
      lines.push(`${at.toString(16).padStart(6, "0")}  ${hex} ${part.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : ".")).join("")}`);
    }
    return lines.join("\n") + (data.length > 4096 ? "\n…" : "");
  }

  function pane(title, note, text, { exact, json }) {
    const body = make("pre", { tabindex: "0" });
    const fill = (whole, most) => {
      const cut = brief(whole, most);
      body.replaceChildren(...(json && whole !== exact && cut === whole ? coloured(safe(cut)) : [safe(cut)]));
      if (cut !== whole) body.append(make("button", { type: "button", onclick: () => fill(whole, Infinity) }, `all ${run.grouped(whole.length)} characters`));
    };
    fill(text, MOST_TEXT);
    let pretty = true;
    const button = exact && make("button", { type: "button", onclick: () => {
      pretty = !pretty;
      fill(pretty ? text : exact, MOST_TEXT);
      button.textContent = pretty ? "exact" : "spaced";
    } }, "exact");
    return make("div", { class: "pane" }, make("header", {}, make("h3", {}, title), make("span", {}, note), button || null), body);
  }

  function coloured(text) {
    const out = [], token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:-?\d+|true|false|null)\b/g;
    let at = 0;
    for (const found of text.matchAll(token)) {
      out.push(text.slice(at, found.index), make("span", { class: found[2] ? "k" : found[1] ? "s" : "n" }, found[1] ?? found[0]), found[2] ?? "");
      at = found.index + found[0].length;
    }
    out.push(text.slice(at));
    return out;
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
      make("pre", {}, safe(brief(call.arguments, 4000))),
      result ? make("pre", {}, safe(brief(result, 4000))) : null);
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
    const asked = (said.tool_calls ?? []).map((call) => make("pre", {}, safe(`${call.name} ${brief(call.arguments, 4000)}`)));
    return make("div", { class: "card" },
      make("header", {}, make("span", { class: "role" }, safe(said.role)), said.name ? make("b", {}, safe(said.name)) : null, jump(said.seq)),
      said.reasoning ? make("pre", { class: "sub" }, safe(brief(said.reasoning, 8000))) : null,
      said.content ? make("pre", { class: said.role === "tool" ? "" : "said" }, safe(brief(said.content, 16000))) : null, ...asked);
  }

  function openTab(name) {
    tab = name;
    for (const button of document.querySelectorAll("[data-tab]")) {
      button.setAttribute("aria-selected", String(button.dataset.tab === name));
      $(button.dataset.tab).hidden = button.dataset.tab !== name;
    }
    $("tools").hidden = name !== "timeline";
    if (name === "calls") cards($("calls"), [...run.calls.values()], (call) => callCard(call), "No call was started.");
    if (name === "talk") cards($("talk"), run.talk, message, "Nothing was said.");
    if (name === "check") tellCheck();
    if (name === "timeline") paint();
  }

  // --- verification ---

  async function verify(lines) {
    const mine = bytes, verifier = new transcript.Verifier();
    const began = performance.now();
    let pause = began;
    try {
      for (const line of lines) {
        verifier.take(line);
        if (performance.now() - pause < 24) continue;
        verdict("checking", `checking… ${Math.floor((100 * line.number) / lines.length)} %`);
        await new Promise((resolve) => setTimeout(resolve));
        if (bytes !== mine) return; // another transcript was opened meanwhile
        pause = performance.now();
      }
      verifier.finish();
      report = { state: "verified", verifier, took: performance.now() - began };
      await withKeys();
    } catch (flaw) {
      broken(verifier, flaw);
    }
    settled();
  }

  function broken(verifier, flaw) {
    const line = flaw.line ?? verifier.line, entries = run.entries;
    // A line of an entry names it; a blob is named by the first entry that needs it; the header and the rest have none.
    const name = run.entries.length && line > 1 ? entries.find((entry) => entry.line === line)?.seq ?? blobAt(verifier, line) : undefined;
    const seq = name ?? (line > 1 && line <= verifier.heads.length + 2 && verifier.blobs.length === 0 && verifier.last.kind !== "seal" ? line - 2 : undefined);
    const kind = flaw instanceof transcript.Flaw ? flaw.kind : "tampered";
    report = { state: "tampered", verifier, flaw: flaw.message, line, seq, kind };
  }

  function blobAt(verifier, line) {
    const text = [...transcript.lines(bytes)].find((found) => found.number === line)?.text ?? "";
    const hash = /^\{"blob":"([0-9a-f]{64})"/.exec(text)?.[1];
    return verifier.named.get(hash)?.seq;
  }

  function settled() {
    const entries = run.entries.length;
    if (report.flaw) {
      const place = report.seq === undefined ? `line ${report.line}` : `entry ${report.seq}`;
      const word = report.kind === "tampered" ? "TAMPERED" : report.kind.toUpperCase();
      verdict("tampered", `${word} at ${place}`);
      document.documentElement.dataset.entry = report.seq ?? "";
      $("reason").textContent = "Not verified: from the flaw on, nothing that is shown here has a ground.";
    } else {
      verdict("verified", `verified, ${report.signed === report.verifier.heads.length ? "L1" : "L0"}: ${run.grouped(entries)} entries`);
    }
    document.documentElement.dataset.verdict = report.state;
    document.documentElement.dataset.entries = entries;
    document.documentElement.dataset.took = Math.round(report.took ?? 0);
    paint();
    const entry = run.entries.find((entry) => entry.seq === selected);
    if (entry && report.seq === entry.seq) inspect(entry);
    if (tab === "check") tellCheck();
  }

  function verdict(state, text) {
    document.documentElement.classList.toggle("verified", state === "verified");
    document.documentElement.classList.toggle("tampered", state === "tampered");
    $("verdict").textContent = text;
  }

  // Holds the checkpoints against the keys that the reader has pasted.
  let given = "";
  async function withKeys() {
    const { verifier } = report;
    Object.assign(report, { signed: 0, unknown: 0, keyFault: "" });
    if (!globalThis.crypto?.subtle) {
      report.keyFault = "this browser gives a page from a file no WebCrypto, so no signature was checked";
      return;
    }
    const keys = [];
    for (const text of given.split("\n").map((text) => text.trim()).filter((text) => text && !text.startsWith("#"))) {
      try {
        keys.push(await transcript.readKey(text));
      } catch (fault) {
        report.keyFault = fault instanceof transcript.Flaw ? fault.message : "this browser's WebCrypto has no Ed25519, so no signature was checked";
        return;
      }
    }
    Object.assign(report, { keys: keys.length }, await transcript.signatures(verifier, keys));
  }

  function checks() {
    const { verifier, missing = verifier?.missing } = report, items = [];
    const ok = (text) => items.push(["ok", text]), not = (text) => items.push(["", text]), no = (text) => items.push(["no", text]);
    if (!verifier) return items;
    if (verifier.head) {
      ok(`contract: hash ${verifier.contractHash} and id ${verifier.contractId}, computed anew`);
      ok(`chain: ${run.grouped(verifier.heads.length)} entries, each canonical and chained to the one before${report.flaw ? " (up to the flaw)" : ""}`);
    }
    if (verifier.last.kind === "seal") ok(`seal: ${verifier.heads.at(-1)[1]}, ${run.grouped(verifier.heads.length)} entries, head ${transcript.hex(verifier.heads.at(-1)[0])}`);
    if (verifier.blobs.length) ok(`blobs: ${run.grouped(verifier.blobs.length)}, each hashed`);
    if (verifier.notes.length) ok(`checkpoints: ${verifier.notes.length}, each is what the chain gives there`);
    if (report.flaw) {
      no(`line ${report.line}: ${report.flaw}`);
      not("what stands behind that line: there is no ground to judge it on");
      return items;
    }
    if (report.signed) ok(`signatures: a key that you gave has signed the first ${run.grouped(report.signed)} entries`);
    else if (report.keys) not("signatures: no checkpoint is signed by a key that you gave");
    else if (report.keyFault) not(`signatures: ${report.keyFault}`);
    else if (verifier.notes.length) not(`signatures: ${report.unknown}, by keys that you did not give; paste them below`);
    else not("who wrote it: no checkpoint is signed");
    if (missing?.request) not(`bodies of ${run.counted(missing.request, "request")}: not kept; monolith replay makes them again`);
    const stones = verifier.stones.length;
    if (stones) ok(`erased by design: ${run.counted(stones, "blob")}, ${report.vouched ?? 0} of the tombstones signed by a key that you gave`);
    if (missing?.withheld) not(`${run.counted(missing.withheld, "text")} held back by the token gate: left out of this file`);
    not("pins and witnesses (L2, L3): monolith verify --pin, --witness");
    not("whether the machine decided rightly: monolith replay derives every decision again");
    not("that the recorder was honest, when it happened, and that a provider or a tool said the truth");
    return items;
  }

  function tellCheck() {
    const field = make("textarea", { id: "given", spellcheck: "false", "aria-label": "Public keys", placeholder: "name+1a2b3c4d+A… , one a line, as monolith key show prints them" });
    field.value = given;
    const hold = make("button", { type: "button", onclick: async () => {
      given = field.value;
      if (!report.verifier || report.state !== "verified") return;
      try {
        await withKeys();
      } catch (flaw) {
        broken(report.verifier, flaw);
      }
      settled();
    } }, "Hold the signatures against these keys");
    const save = make("button", { type: "button", onclick: () => {
      const link = make("a", { download: `${run.runId ?? "run"}.jsonl`, href: URL.createObjectURL(new Blob([bytes])) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    } }, "Save the transcript");
    const other = make("input", { type: "file", "aria-label": "Another transcript", onchange: async () => {
      const file = other.files[0];
      if (file) start(new Uint8Array(await file.arrayBuffer()));
    } });
    $("check").replaceChildren(
      make("h2", {}, report.flaw ? "Not verified" : report.state === "checking" ? "Checking" : report.signed === report.verifier.heads.length ? "Verified at level L1" : "Verified at level L0"),
      ...(report.flaw ? [make("p", { class: "flaw" }, `${report.kind === "tampered" ? "TAMPERED" : report.kind} at ${report.seq === undefined ? `line ${report.line}` : `entry ${report.seq}`}: ${safe(report.flaw)}`)] : []),
      make("ul", {}, ...checks().map(([state, text]) => make("li", { class: state }, safe(text)))),
      make("h2", {}, "Keys"), make("p", {}, "Paste public keys that you have over a way that you trust, never from whoever gave you this page."), field, hold,
      make("h2", {}, "Do not take this page's word"),
      make("p", {}, "The page computed all of the above from the bytes inside it. But a forged page can say what it likes. Save the transcript and check it with a program that you have from elsewhere (monolith verify FILE, or verifier/verify.py), or open it in a copy of this page that you trust:"),
      make("p", {}, save, " ", other));
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
  for (const button of document.querySelectorAll("[data-tab]")) button.addEventListener("click", () => openTab(button.dataset.tab));
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
    1: () => openTab("timeline"), 2: () => openTab("calls"), 3: () => openTab("talk"), 4: () => openTab("check"),
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

  start(transcript.fromBase64($("transcript").textContent.trim()));
})();
