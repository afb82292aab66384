// The bytes and texts of a transcript: hex, base64, canonical JSON, signed notes. Needs blake3.js; knows no entry.
const notes = (() => {
  const encoder = new TextEncoder();
  const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const toBase64 = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    return btoa(text);
  };
  const fromBase64 = (text) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const packed = atob(text), bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
    return bytes;
  };

  class Flaw extends Error {
    constructor(text, kind = "tampered") {
      super(text);
      this.kind = kind;
    }
  }
  function hold(condition, text, kind) {
    if (!condition) throw new Flaw(typeof text === "function" ? text() : text, kind);
  }

  // The canonical text of RFC 8785, which is JavaScript's own but for the order of keys.
  function dump(value, depth = 1) {
    if (typeof value === "string") {
      hold(!/\p{Surrogate}/u.test(value), "half a character in a string");
      return JSON.stringify(value);
    }
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    hold(depth <= 128, "nested too deep");
    if (Array.isArray(value)) return `[${value.map((item) => dump(item, depth + 1)).join(",")}]`;
    const members = Object.keys(value).sort().map((key) => `${dump(key)}:${dump(value[key], depth + 1)}`);
    return `{${members.join(",")}}`;
  }

  // A signed note: its text, and the signatures below it.
  function readNote(whole, what = "note") {
    const cut = whole.lastIndexOf("\n\n"), below = whole.slice(cut + 2);
    hold(cut >= 0 && below.endsWith("\n"), `${what}: no signed note`);
    hold(encoder.encode(whole).length <= 65536 && !/[\0-\x09\x0b-\x1f]/.test(whole), `${what}: too long, or a control character in it`);
    const signatures = below.slice(0, -1).split("\n").map((line) => {
      const found = /^— ([^\p{White_Space}+]+) ([A-Za-z0-9+/]+=*)$/u.exec(line);
      hold(found, `${what}: no signed note`);
      let signature = new Uint8Array();
      try {
        signature = fromBase64(found[2]);
      } catch {
        // Too short below.
      }
      hold(signature.length > 4 && toBase64(signature) === found[2], `${what}: no signature`);
      return { name: found[1], id: hex(signature.subarray(0, 4)), bytes: signature.slice(4) };
    });
    hold(signatures.length <= 64, `${what}: more than 64 signatures`);
    return { text: whole.slice(0, cut + 1), bytes: encoder.encode(whole.slice(0, cut + 1)), signatures };
  }

  // What a tombstone states, and who signed it.
  function readTombstone(whole) {
    const note = readNote(whole, "tombstone");
    const form = /^monolith tombstone v1\nrun ([^\n]+)\nblob ([0-9a-f]{64})\nreason ("[^\n]*")\ntime (0|[1-9][0-9]*)\n$/.exec(note.text);
    hold(form, "tombstone: not in its form");
    const [, runId, name, stated, time] = form;
    let reason;
    try {
      reason = JSON.parse(stated);
    } catch {
      throw new Flaw("tombstone: its reason is no text");
    }
    const exact = typeof reason === "string" && dump(reason) === stated && encoder.encode(reason).length <= 1024;
    hold(exact && Number.isSafeInteger(Number(time)), "tombstone: not in its form");
    return { runId, name, reason, time: Number(time), note };
  }

  // What a person's answer that is signed says: the text under the signature, and by which key.
  function readAnswer(answer, allowed, first) {
    const hash = (key) => (Object.hasOwn(answer, key) ? hex(blake3.hash(encoder.encode(answer[key]))) : "-");
    const written = ["content", "proposal", "reason"].map((key) => `${key} ${hash(key)}\n`).join("");
    const decision = allowed ? "allowed" : "denied";
    const text = `monolith/answer/1\nrun ${first}\ncall ${answer.call}\narguments ${answer.arguments_hash}\n${decision}\n${written}`;
    const { key, signature: encoded } = answer.answerer;
    let signature = new Uint8Array();
    try {
      signature = fromBase64(encoded);
    } catch {
      // Too short below.
    }
    hold(signature.length === 64 && toBase64(signature) === encoded, "answerer: no signature");
    return { key, signature, bytes: encoder.encode(text) };
  }

  return { Flaw, dump, encoder, fromBase64, hex, hold, readAnswer, readNote, readTombstone, toBase64 };
})();
