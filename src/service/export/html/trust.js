// Holds a verified transcript against what the reader brings: keys with their rotations, heads noted earlier, witnesses.
// Judges as `monolith verify` does (docs/audit/trust.md). Needs transcript.js; knows nothing of the page.
const trust = (() => {
  const { Flaw, encoder, fromBase64, hex, hold, readNote, toBase64 } = transcript;
  const ED25519 = 1, COSIGNATURE = 4;
  const NO_CRYPTO = "this browser's WebCrypto has no Ed25519, so no signature can be checked";

  // Whether these 32 bytes are a point of order 1, 2, 4 or 8 on edwards25519.
  function isSmallOrder(bytes) {
    const prime = 2n ** 255n - 19n;
    let y = 0n;
    for (let at = 31; at >= 0; at--) y = (y << 8n) | BigInt(at === 31 ? bytes[at] & 127 : bytes[at]);
    const eighth = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
    return [0n, 1n, prime - 1n, eighth, prime - eighth].includes(y % prime);
  }

  // A public key as `monolith key show` prints it, or that of a witness.
  async function readKey(text) {
    const found = /^([^\p{White_Space}+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/u.exec(text.trim());
    hold(found, `no public key: ${text.trim().slice(0, 80)}`);
    let typed = new Uint8Array();
    try {
      typed = fromBase64(found[3]);
    } catch {
      // Too short below.
    }
    hold(typed.length === 33 && toBase64(typed) === found[3], "the key is not base64 of 33 bytes");
    hold([ED25519, COSIGNATURE].includes(typed[0]), "the algorithm of the key is neither 1 (ed25519) nor 4 (cosignature)");
    const named = new Uint8Array([...encoder.encode(`${found[1]}\n`), ...typed]);
    const id = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", named)).subarray(0, 4));
    hold(id === found[2], `the id of the key is ${id}, not ${found[2]}`);
    hold(!isSmallOrder(typed.subarray(1)), "a key of small order signs anything");
    let key;
    try {
      key = await crypto.subtle.importKey("raw", typed.subarray(1), { name: "Ed25519" }, false, ["verify"]);
    } catch {
      throw new Flaw(NO_CRYPTO);
    }
    return { name: found[1], id, key, cosigns: typed[0] === COSIGNATURE, point: hex(typed.subarray(1)), text: text.trim(), called: `${found[1]}+${id}` };
  }

  async function accepts(key, bytes, signature) {
    let message = bytes, signed = signature;
    if (key.cosigns) {
      if (signature.length < 8) return false;
      const time = new DataView(signature.buffer, signature.byteOffset, 8).getBigUint64(0);
      message = new Uint8Array([...encoder.encode(`cosignature/v1\ntime ${time}\n`), ...bytes]);
      signed = signature.subarray(8);
    }
    if (signed.length !== 64 || isSmallOrder(signed.subarray(0, 32))) return false;
    return crypto.subtle.verify({ name: "Ed25519" }, key.key, signed, message);
  }

  // Which of these keys have signed a note. One signature in the name and id of a key that does not hold is a Flaw.
  async function signers(keys, note, place) {
    const found = [];
    for (const key of keys) {
      const own = note.signatures.filter((signature) => signature.name === key.name && signature.id === key.id);
      for (const signature of own) {
        const holds = await accepts(key, note.bytes, signature.bytes);
        if (!holds) throw Object.assign(new Flaw(`the signature of ${key.called} does not hold`), place);
      }
      if (own.length) found.push(key.called);
    }
    return found;
  }

  // Lines and notes one after the other, as [line number, text, note?]; a note begins with `monolith/` and ends with its
  // last signature.
  function* blocks(text) {
    const lines = text.replaceAll("\r", "").split("\n");
    for (let at = 0; at < lines.length; at++) {
      const first = at;
      if (!lines[at].trim() || lines[at].startsWith("#")) continue;
      if (!lines[at].startsWith("monolith/")) {
        yield [first + 1, lines[at].trim()];
        continue;
      }
      const signed = (line) => line?.startsWith("— ");
      while (at + 1 < lines.length && (!signed(lines[at]) || signed(lines[at + 1]))) at += 1;
      let note;
      try {
        note = readNote(`${lines.slice(first, at + 1).join("\n").trimEnd()}\n`);
      } catch (fault) {
        throw new Flaw(`line ${first + 1}: ${fault.message}`);
      }
      yield [first + 1, "", note];
    }
  }

  // Every key that a text of keys, rotations and revocations trusts.
  async function readKeys(text) {
    const named = [], revoked = new Set(), rotations = [];
    for (const [line, plain, note] of blocks(text)) {
      try {
        if (note === undefined) {
          const taken = /^revoked (.*)$/.exec(plain);
          if (taken) revoked.add((await readKey(taken[1])).text);
          else named.push(await readKey(plain));
          continue;
        }
        const form = /^monolith\/rotation\nfrom (.+)\nto (.+)\n$/.exec(note.text);
        hold(form, "a note among keys is a rotation: monolith/rotation, from, to");
        const pair = [await readKey(form[1]), await readKey(form[2])];
        for (const key of pair) hold((await signers([key], note)).length, "a rotation is signed by the old key and by the new one");
        rotations.push(pair);
      } catch (fault) {
        if (fault.message === NO_CRYPTO) throw fault;
        throw new Flaw(`line ${line}: ${fault.message}`);
      }
    }
    const trusted = new Map();
    for (let known = -1; known !== trusted.size;) {
      known = trusted.size;
      const followed = rotations.filter(([old]) => trusted.has(old.text)).map(([, next]) => next);
      for (const key of [...named, ...followed]) if (!revoked.has(key.text)) trusted.set(key.text, key);
    }
    return [...trusted.values()];
  }

  // Heads that were noted earlier: lines `RUN ENTRIES HEAD`, checkpoints of runs, and heads of logs.
  function readPins(text) {
    const pins = [];
    for (const [line, plain, note] of blocks(text)) {
      if (note === undefined) {
        const form = /^(\S+)\s+(\d+)\s+([0-9a-f]{64})$/.exec(plain);
        hold(form && Number.isSafeInteger(Number(form[2])), `line ${line}: a pin is RUN ENTRIES HEAD`);
        pins.push({ of: `run ${form[1]}`, runId: form[1], size: Number(form[2]), head: form[3] });
        continue;
      }
      const form = /^monolith\/(run|log)\/(.+)\n(0|[1-9]\d*)\n([A-Za-z0-9+/]{43}=)\n([^]*)$/.exec(note.text);
      const whole = form && (form[1] === "run" || form[5] === "") && Number.isSafeInteger(Number(form[3]));
      hold(whole, `line ${line}: a note among pins is a checkpoint or a tree head`);
      const pin = { of: `${form[1]} ${form[2]}`, size: Number(form[3]), head: hex(fromBase64(form[4])), note };
      pins.push(form[1] === "run" ? { ...pin, runId: form[2] } : pin);
    }
    return pins;
  }

  // All that the reader has pasted, read once.
  async function read({ keys = "", pins = "", witnesses = "" }) {
    if ((keys.trim() || witnesses.trim()) && !globalThis.crypto?.subtle) throw new Flaw(NO_CRYPTO);
    const inside = async (what, reading) => {
      try {
        return await reading();
      } catch (fault) {
        throw new Flaw(fault.message === NO_CRYPTO ? NO_CRYPTO : `${what}: ${fault.message}`);
      }
    };
    const brought = {
      keys: await inside("keys", () => readKeys(keys)),
      pins: await inside("pins", () => readPins(pins)),
      witnesses: await inside("witnesses", () => readKeys(witnesses)),
    };
    return Object.assign(brought, { required: keys.trim() !== "" });
  }

  // Who signed how many answers, by key; undefined if this browser cannot check that. A false one is a Flaw.
  async function answerers(answers) {
    const signed = new Map();
    for (const { line, key: text, signature, bytes } of answers) {
      let holds = false;
      try {
        if (!globalThis.crypto?.subtle) throw new Flaw(NO_CRYPTO);
        const key = await readKey(text);
        holds = text === key.text && !key.cosigns && (await accepts(key, bytes, signature));
      } catch (fault) {
        if (fault.message === NO_CRYPTO) return undefined;
      }
      if (!holds) throw Object.assign(new Flaw(`answerer: ${text} has not signed this answer`), { line });
      signed.set(text, (signed.get(text) ?? 0) + 1);
    }
    return signed;
  }

  // What a verified transcript is worth to a reader with these keys, pins and witnesses. Throws a Flaw with its place, as the verifier does.
  async function judge(verifier, { keys, pins, witnesses, required }) {
    const book = { level: "L0", signedTo: 0, signers: [], unknown: 0, unvouched: 0, stoneSigners: new Map(), pins: 0, logPins: 0, pinned: false, witnesses: [], answerers: await answerers(verifier.answers) };
    const length = verifier.heads.length, sealed = verifier.last.kind === "seal";
    const vouch = async (note, size, place) => {
      for (const called of await signers(witnesses, note, place)) if (size === length && !book.witnesses.includes(called)) book.witnesses.push(called);
    };
    pins.forEach((one, at) => {
      const other = pins.slice(at + 1).find((other) => other.of === one.of && other.size === one.size && other.head !== one.head);
      if (other) throw Object.assign(new Flaw(`two pins of ${one.of} at ${one.size} differ: ${one.head} and ${other.head}`, "split view"), { outside: true });
    });
    for (const pin of pins) {
      if (pin.runId === undefined) book.logPins += 1;
      if (pin.runId !== verifier.runId) continue;
      book.pins += 1;
      const seq = Math.min(Math.max(0, pin.size - 1), length - 1);
      const fail = (text, kind) => Object.assign(new Flaw(text, kind), { seq, outside: true });
      if (pin.size > length) throw fail(`${pin.size} entries were noted, the file has ${length}`, "rollback");
      const here = hex(pin.size === 0 ? verifier.genesis : verifier.heads[pin.size - 1][0]);
      if (here !== pin.head) throw fail(`the head after ${pin.size} entries was noted as ${pin.head}, here it is ${here}`);
      book.pinned ||= pin.size === length;
      if (pin.note) await vouch(pin.note, pin.size, { seq, outside: true });
    }
    for (const stone of verifier.stones) {
      const by = await signers(keys, stone.note, { line: stone.line });
      if (!by.length && required) throw Object.assign(new Flaw("no key that was given has signed the tombstone", "unsigned"), { line: stone.line });
      book.stoneSigners.set(stone.name, by);
      book.unvouched += by.length ? 0 : 1;
    }
    const known = new Set([...keys, ...witnesses].map((key) => key.called));
    for (const { note, size, line } of verifier.notes) {
      const by = await signers(keys, note, { line });
      if (by.length) Object.assign(book, { signedTo: size, signers: by });
      book.unknown += note.signatures.filter((signature) => !known.has(`${signature.name}+${signature.id}`)).length;
      await vouch(note, size, { line });
    }
    // No key vouches for itself: neither a key that was given, nor the plain key of a first line.
    const own = new Set(verifier.notes.map(({ note }) => `${note.signatures[0].name}+${note.signatures[0].id}`));
    const selves = witnesses.filter((one) => keys.some((key) => key.point === one.point) || (!one.cosigns && own.has(one.called)));
    book.witnesses = book.witnesses.filter((called) => !selves.some((one) => one.called === called));
    const signed = sealed && book.signedTo === length;
    if (required && sealed && !signed) {
      throw Object.assign(new Flaw("no key that was given has signed the seal", "unsigned"), { seq: length - 1, outside: true });
    }
    book.level = book.witnesses.length ? "L3" : book.pinned ? "L2" : signed ? "L1" : "L0";
    return book;
  }

  return { judge, read, readKeys };
})();
