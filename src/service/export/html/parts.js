// Parts of the page that know nothing of the run: one line of foreign text, a pane with bytes, JSON in colours.
const parts = (() => {
  const MOST_TEXT = 64 * 1024;

  const oneLine = (text) => safe(brief(text, 400)).replaceAll("\n", " ⏎ ").replaceAll("\t", " ");
  function brief(text, most) {
    const cut = text.slice(0, most);
    return cut.length < text.length ? `${cut.replace(/[\ud800-\udbff]$/, "")}…` : text;
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

  // What is left out of a text that is shown up to so many characters; empty if nothing is.
  function clipping(whole, most) {
    const grouped = (figure) => String(figure).replace(/\B(?=(\d{3})+$)/g, ",");
    return whole.length > most ? `the first ${grouped(most)} of ${grouped(whole.length)} characters; show all` : "";
  }

  // Fills an element with a text. Where the text is clipped, a button says so and brings all of it.
  function fill(body, whole, most, shown = (text) => [safe(text)]) {
    const clipped = clipping(whole, most);
    body.replaceChildren(...shown(brief(whole, most)));
    if (clipped) body.append(make("button", { class: "clipped", type: "button", onclick: () => fill(body, whole, Infinity, shown) }, clipped));
    return body;
  }

  // Milliseconds in the two largest units that they have.
  function lasting(ms) {
    const units = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000]];
    const at = Math.max(0, units.findIndex(([, size]) => ms >= size));
    const [[unit, size], smaller] = [units.at(ms < 1000 ? -1 : at), units[at + 1]];
    const rest = smaller && ms >= 1000 ? Math.floor((ms % size) / smaller[1]) : 0;
    return `${Math.floor(ms / size)} ${unit}${rest ? ` ${rest} ${smaller[0]}` : ""}`;
  }

  function pane(title, note, text, { exact, json }) {
    const body = make("pre", { tabindex: "0" });
    const tell = (whole) => fill(body, whole, MOST_TEXT, (part) => (json && whole !== exact && part === whole ? coloured(safe(part)) : [safe(part)]));
    tell(text);
    let pretty = true;
    const button = exact && make("button", { type: "button", onclick: () => {
      pretty = !pretty;
      tell(pretty ? text : exact);
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

  const when = (ms) => (Number.isFinite(ms) && Math.abs(ms) < 8.64e15 ? `${new Date(ms).toISOString().replace("T", " ").slice(0, 19)} UTC` : "");

  return { brief, clipping, dumpHex, fill, lasting, oneLine, pane, when };
})();
