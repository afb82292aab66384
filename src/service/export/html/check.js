// The view of the verification: what was checked, what was not, and what the reader may hold the run against.
const checking = (() => {
  // The verdict in two or three words, as the button at the top has it.
  function verdict(run, report) {
    if (report.flaw) return `${report.kind.toUpperCase()}${place(report)}`;
    if (report.state === "checking") return "checking…";
    if (report.agreement?.state === "departs") return `NOT THE STATE OF THE RUN at entry ${report.agreement.seq}`;
    const entries = run.counted(run.entries.length, "entry");
    return report.state === "unfinished" ? `not ended yet · ${entries} hold` : `verified, ${report.book.level}${keyless(report) ? " (no key given)" : ""}: ${entries}`;
  }

  // The page cannot know which keys its reader trusts: of a signed run it says L0 where monolith verify, which has keys, says L1.
  const keyless = (report) => report.book.level === "L0" && report.verifier.notes.length > 0;

  function place(report) {
    if (report.outside) return "";
    return report.seq === undefined ? ` at line ${report.line}` : ` at entry ${report.seq}`;
  }

  function heading(report) {
    if (report.flaw) return "Not verified";
    if (report.state === "checking") return "Checking";
    return report.state === "unfinished" ? "Not ended yet" : `Verified at level ${report.book.level}`;
  }

  // What was checked and what was not, as [state, text].
  function list(run, report) {
    const { verifier, book } = report, missing = verifier?.missing, items = [];
    const ok = (text) => items.push(["ok", text]), not = (text) => items.push(["", text]), no = (text) => items.push(["no", text]);
    if (!verifier) return items;
    const { counted, grouped } = run, length = verifier.heads.length, sealed = verifier.last.kind === "seal";
    if (verifier.head) {
      ok(run.workflow || run.item ? `${run.item ? "item with the hash of its contract" : "definition"}: hash ${verifier.contractHash}, computed again` : `contract: hash ${verifier.contractHash} and id ${verifier.contractId}, computed again`);
      ok(`chain: ${grouped(length)} entries, each canonical and chained to the one before${report.flaw && !report.outside ? " (up to the flaw)" : ""}`);
    }
    if (sealed) ok(`seal: ${verifier.heads.at(-1)[1]}, ${grouped(length)} entries, head ${transcript.hex(verifier.heads.at(-1)[0])}`);
    if (verifier.receipt) ok(`receipt: ${run.item.receiptId}, of this item, its last entry and its end`);
    else if (verifier.blobs.length) ok(`blobs: ${grouped(verifier.blobs.length)}, each hashed`);
    if (verifier.notes.length) ok(`checkpoints: ${verifier.notes.length}, each is what the chain gives there`);
    const { agreement } = report;
    if (agreement?.state === "agrees") ok(`display: the digests of ${counted(agreement.opened, "state")} of the machine, opened; states, counters, times and outcome shown are theirs`);
    if (agreement?.state === "departs") no(`display: ${agreement.text}`);
    if (agreement?.state === "workflow") not("display: steps, states and outcome shown are what the entries state; monolith replay derives every entry of a workflow again");
    if (agreement?.receipt) ok("display: the receipt has the item, the run, the changes, the tests and the end of the entries");
    if (agreement?.state === "item") not("display: states, figures and admission shown are what the entries state; monolith replay derives every entry of an item again");
    if (agreement?.state === "unknown") not("display: the states of the machine are in no transcript, and this page was made of another file: it shows what the entries state");
    if (report.flaw) {
      no(`${report.outside ? report.kind : `line ${report.line}`}: ${report.flaw}`);
      if (!report.outside) not("what stands behind that line: there is no ground to judge it on");
      return items;
    }
    if (!sealed) not("end: there is none, so nothing tells a run in progress from one whose end was cut off");
    if (!book) return items;
    const answers = counted(verifier.answers.length, "answer");
    for (const [key, signed] of book.answerers ?? []) ok(`answers: ${signed} signed by ${key}`);
    if (!book.answerers) not(`answers: ${answers} signed, which this browser cannot check`);
    if (book.signedTo) ok(`signature: the first ${grouped(book.signedTo)} entries, by ${book.signers.join(", ")}`);
    if (book.pins) ok(`pins: ${counted(book.pins, "head")} that you noted earlier${book.pinned ? ", one of every entry" : ", none of every entry"}`);
    if (book.witnesses.length) ok(`witness: signed by ${book.witnesses.join(", ")}`);
    if (book.stoneSigners.size) {
      ok(`erased by design: ${counted(book.stoneSigners.size, "blob")}`);
      const by = [...new Set([...book.stoneSigners.values()].flat())];
      if (by.length) ok(`tombstones: signed by ${by.join(", ")}`);
    }
    if (book.unvouched) not(`tombstones: ${book.unvouched} signed by keys that you did not give, so anyone who can write this can have removed those blobs`);
    if (!book.signedTo) not(verifier.notes.length ? "signature: no checkpoint is signed by a key that you gave; paste keys below" : "who wrote it: no checkpoint is signed");
    else if (book.signedTo < length) not(`signature: entries after the first ${grouped(book.signedTo)}`);
    if (book.unknown) not(`${counted(book.unknown, "signature")} by keys that you did not give`);
    if (!book.pins) not("pins (L2): no head that was noted earlier was given to compare with");
    if (book.logPins) not(`pins: ${counted(book.logPins, "head")} of a log of runs, which a file does not hold (monolith verify RUN --pin FILE, at its store)`);
    if (!book.witnesses.length) not("witness (L3): no other key vouches for the head");
    if (missing?.request) not(`bodies of ${counted(missing.request, "request")}: not kept; monolith replay makes them again`);
    if (missing?.withheld) not(`${counted(missing.withheld, "text")} held back, left out of this file`);
    not("whether the machine decided rightly: monolith replay derives every decision again");
    not("that the recorder was honest, when it happened, and that a provider or a tool said the truth");
    return items;
  }

  const FIELDS = [
    ["keys", "Public keys, their rotations and revocations", "NAME+ID+BASE64, one a line, as monolith key show prints them"],
    ["pins", "Heads that you noted earlier (L2)", "RUN ENTRIES HEAD, or a signed checkpoint"],
    ["witnesses", "Keys of witnesses (L3)", "NAME+ID+BASE64"],
  ];

  // The view. `given` holds what the reader has pasted; `act` does what the buttons say.
  function view(run, report, given, act) {
    const fields = FIELDS.map(([name, label, placeholder]) => {
      const field = make("textarea", { id: `given-${name}`, spellcheck: "false", placeholder, oninput: () => { given[name] = field.value; } });
      field.value = given[name] ?? "";
      return [make("label", { for: `given-${name}` }, label), field];
    });
    const other = make("input", { type: "file", "aria-label": "Another transcript", onchange: () => act.open(other.files[0]) });
    const button = (text, onclick) => make("button", { type: "button", onclick }, text);
    return [
      make("h2", {}, heading(report)),
      report.flaw ? make("p", { class: "flaw" }, make("b", {}, verdict(run, report)), safe(report.flaw)) : null,
      report.state === "unfinished" ? make("p", {}, "What is here holds together. The run is in progress, or its process died (monolith resume continues it), or somebody cut its end off: without a seal, nobody can tell from this file.") : null,
      make("ul", {}, ...list(run, report).map(([state, text]) => make("li", { class: state }, safe(text)))),
      make("h2", {}, "Hold it against what you have"),
      make("p", {}, "Paste what you got over a way that you trust, never from the person who gave you this page. The judgement is that of monolith verify with --key, --pin and --witness."),
      report.fault ? make("p", { class: "flaw", role: "alert" }, safe(report.fault)) : null,
      ...fields.flat(),
      button("Judge again", act.judge),
      make("h2", {}, "Do not take this page's word"),
      make("p", {}, "The page computed all of the above from the bytes inside it. But a forged page can say what it likes. Save the transcript and check it with a program that you have from elsewhere (monolith verify FILE, or verifier/verify.py), or open it in a copy of this page that you trust:"),
      make("p", {}, button("Save the transcript", act.save), " ", other),
    ].filter((part) => part !== null);
  }

  return { place, verdict, view };
})();
