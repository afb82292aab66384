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

  function pane(title, note, text, { exact, json }) {
    const body = make("pre", { tabindex: "0" });
    const fill = (whole, most) => {
      const cut = brief(whole, most);
      body.replaceChildren(...(json && whole !== exact && cut === whole ? coloured(safe(cut)) : [safe(cut)]));
      if (cut !== whole) body.append(make("button", { type: "button", onclick: () => fill(whole, Infinity) }, `all ${String(whole.length).replace(/\B(?=(\d{3})+$)/g, ",")} characters`));
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

  const when = (ms) => (Number.isFinite(ms) && Math.abs(ms) < 8.64e15 ? `${new Date(ms).toISOString().replace("T", " ").slice(0, 19)} UTC` : "");

  return { brief, dumpHex, oneLine, pane, when };
})();
