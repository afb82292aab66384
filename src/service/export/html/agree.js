// Whether what the page shows is the state of the machine: opens the state digests of the entries, or holds the receipt of a work item
// against them. Needs the transcript's script.
const agreeing = (() => {
  const encoder = new TextEncoder();
  const bytesOf = (hex) => Uint8Array.from(String(hex).match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const same = (one, other) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

  // The event of an entry as it is stored; nothing where it has none.
  function eventOf({ text }) {
    const middle = text.indexOf(',"event":'), end = text.lastIndexOf(',"hash":"');
    const event = text.slice(middle + ',"event":'.length, end);
    return event === "null" ? undefined : event;
  }

  // What the page itself counts of an entry, beside what the entry states.
  function count(counted, { action, event }) {
    const value = event?.event?.value, usage = value?.usage;
    if (event?.event?.kind?.startsWith("inference_") && usage) {
      counted.tokens_in += usage.input;
      counted.tokens_out += usage.output;
      counted.tokens_cache_read += usage.cache_read;
    }
    counted.inferences += (action.effects ?? []).filter(({ kind }) => ["infer", "summarise", "sample"].includes(kind)).length;
  }

  // Whether the receipt of an item states what its entries state. The machine of items has no digests of its states.
  function agreesWithReceipt({ entries, item }) {
    const { agent: run, before, capsule, end, is, published, receipt, tests } = item;
    if (!receipt) return { state: "item" };
    const shown = { capsule, end, item: is, published, run, tests, ...(before && { before }) };
    const other = Object.keys(shown).find((name) => transcript.dump(shown[name] ?? null) !== transcript.dump(receipt[name] ?? null));
    return other ? { state: "departs", seq: entries.at(-1).seq, text: `the receipt has another ${other} than the entries` } : { state: "item", receipt: true };
  }

  // `states` are the states of the machine by the number of their entry, as the program that made the page got them from the events. One
  // is believed where the state digest of its entry names it, and nowhere else. None for a file that the page was not made of.
  return function agreeing(run, states, edges) {
    if (run.workflow) return { state: "workflow" };
    if (run.item) return agreesWithReceipt(run);
    const departs = (seq, text) => ({ state: "departs", seq, text });
    const elsewhere = (seq) => departs(seq, `from entry ${seq} on the events lead the machine elsewhere`);
    const counted = { inferences: 0, tokens_in: 0, tokens_out: 0, tokens_cache_read: 0 };
    let events = new Uint8Array(32), before = "PRECHECK", opened = 0, next = 0;
    for (const [due, entry] of run.entries.entries()) {
      const { seq, action } = entry;
      if (seq !== due) return departs(seq, `entry ${seq} came where ${due} was due`);
      if (action.from !== before) return departs(seq, `entry ${seq} does not follow ${before}`);
      before = action.to;
      const edge = ({ from, to }) => from === action.from && to === action.to;
      if (action.kind === "transition" && !edges.some(edge)) return departs(seq, `the machine has no edge ${action.from} → ${action.to}`);
      const event = eventOf(entry);
      // A step begins: the one before ended in a state.
      if (event !== undefined && states !== undefined && due > next) return elsewhere(next);
      if (event !== undefined) events = transcript.keyed("monolith events v1", events, encoder.encode(event));
      count(counted, entry);
      for (const [name, number] of Object.entries(counted)) {
        if (action.counters[name] !== number) return departs(seq, `after entry ${seq} ${run.words(name)} are ${number}, and the machine counts ${action.counters[name]}`);
      }
      const text = states?.[seq];
      if (text === undefined) continue;
      const digest = transcript.hex(transcript.keyed("monolith state v1", encoder.encode(text), events, bytesOf(action.conversation_digest)));
      if (digest !== action.state_digest) return departs(seq, `entry ${seq} has the state digest ${action.state_digest.slice(0, 16)}, and the machine's is ${digest.slice(0, 16)}`);
      const state = JSON.parse(text);
      const shown = { state: action.to, counters: action.counters, at_ms: entry.at, outcome: action.outcome };
      for (const [name, value] of Object.entries(shown)) {
        if (!same(state[name], value)) return departs(seq, `after entry ${seq} ${run.words(name)} is not that of the machine`);
      }
      opened++;
      next = seq + 1;
    }
    if (states === undefined) return { state: "unknown" };
    if (next < run.entries.length) return elsewhere(next);
    return { state: "agrees", opened };
  };
})();
