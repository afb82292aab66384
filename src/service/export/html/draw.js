// The pictures of the page, as SVG: the machine, where the time went, what is left of the budgets.
// Builds elements and sets text; no markup is ever parsed from a transcript.
const make = (name, attributes = {}, ...inner) => {
  const svg = ["svg", "g", "rect", "path", "line", "polyline", "text", "title"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...inner.filter((node) => node !== null && node !== undefined && node !== ""));
  return element;
};

const draw = (() => {
  // The states one below the other, the edges that skip some beside them: forth on the right, back on the left.
  function machine(edges, entries) {
    const order = [];
    for (const edge of edges) for (const state of [edge.from, edge.to]) if (!order.includes(state)) order.push(state);
    const path = new Set(edges.map((edge) => edge.from));
    const ends = order.filter((state) => !path.has(state));
    const states = [...order.filter((state) => path.has(state)), ...ends];
    const main = ["PRECHECK", "INFER", "VALIDATE_CALLS", "EXECUTE", "OBSERVE", "COMMIT", "TERMINATE"];
    const rank = (state) => (main.includes(state) ? main.indexOf(state) : main.length + states.indexOf(state));
    states.sort((a, b) => rank(a) - rank(b));
    const times = new Map();
    const visited = new Set();
    for (const { action } of entries) {
      visited.add(action.to);
      if (action.kind !== "transition") continue;
      const key = `${action.from} ${action.to}`;
      times.set(key, (times.get(key) ?? 0) + 1);
    }
    const width = 240, gap = 44, tall = 22, left = 57, wide = 118, right = left + wide, middle = left + wide / 2;
    const y = (state) => 12 + states.indexOf(state) * gap;
    const svg = make("svg", { viewBox: `0 0 ${width} ${24 + (states.length - 1) * gap + 12}`, role: "img", "aria-label": "The machine and the path of the run" });
    const drawn = new Map();
    let lane = 0;
    const skipping = edges.filter((edge) => Math.abs(states.indexOf(edge.to) - states.indexOf(edge.from)) !== 1);
    skipping.sort((a, b) => Math.abs(y(a.to) - y(a.from)) - Math.abs(y(b.to) - y(b.from)));
    for (const edge of [...edges].sort((a, b) => skipping.indexOf(a) - skipping.indexOf(b))) {
      const from = y(edge.from), to = y(edge.to), back = to < from, key = `${edge.from} ${edge.to}`;
      const count = times.get(key), lit = count ? "lit" : "";
      let d, tip, label;
      if (!skipping.includes(edge)) {
        d = `M${middle} ${from + tall / 2}V${to - tall / 2 - 5}`;
        tip = `M${middle - 3.5} ${to - tall / 2 - 6}h7l-3.5 6z`;
        label = [middle + 6, (from + to) / 2 + 3, "start"];
      } else {
        const out = back ? left - 26 : right + 14 + 15 * lane++;
        const side = back ? left : right, turn = back ? -1 : 1, up = back ? -1 : 1;
        const begin = from + (back ? -4 : 5), end = to + (back ? 4 : -5);
        d = `M${side} ${begin}H${out - turn * 5}q${turn * 5} 0 ${turn * 5} ${up * 5}V${end - up * 5}q0 ${up * 5} ${-turn * 5} ${up * 5}H${side + turn * 5}`;
        tip = `M${side + turn * 6} ${end - 3.5}v7l${-turn * 6} -3.5z`;
        label = back ? [out - 4, (from + to) / 2, "end"] : [out + 3, to - 14, "start"];
      }
      const line = make("path", { class: `edge ${lit}`, d }, make("title", {}, `${edge.from} → ${edge.to}: ${edge.when}`));
      const arrow = make("path", { class: `tip ${lit}`, d: tip });
      svg.append(line, arrow);
      if (count) svg.append(make("text", { class: "soft", x: label[0], y: label[1], "text-anchor": label[2] }, `×${count < 1000 ? count : `${Math.round(count / 100) / 10}k`}`));
      drawn.set(key, [line, arrow]);
    }
    const nodes = new Map(states.map((state) => {
      const node = make("g", { class: `node ${visited.has(state) ? "lit" : ""}` },
        make("rect", { x: left, y: y(state) - tall / 2, width: wide, height: tall, rx: 4 }),
        make("text", { x: middle, y: y(state) + 3.5 }, state));
      svg.append(node);
      return [state, node];
    }));
    // Marks where the entry that is looked at stands.
    const point = (action) => {
      for (const element of svg.querySelectorAll(".now")) element.classList.remove("now");
      if (!action) return;
      nodes.get(action.to)?.classList.add("now");
      if (action.kind === "transition") for (const part of drawn.get(`${action.from} ${action.to}`) ?? []) part.classList.add("now");
    };
    return { svg, point };
  }

  const WIDE = 1000;

  // Model against tool time, and under it what is left of each budget, over the same time.
  function charts(run, pick) {
    const { time } = run, x = (ms) => (time.to(ms) / time.whole) * WIDE;
    const lanes = ["model", "tool", "wait"].filter((lane) => run.spans.some((span) => span.lane === lane));
    const laneTall = 15, burnTop = lanes.length * laneTall + 8, burnTall = 56, tall = burnTop + burnTall + 2;
    const svg = make("svg", { viewBox: `0 0 ${WIDE} ${tall}`, height: tall, preserveAspectRatio: "none", role: "img", "aria-label": "Model and tool time, and what is left of the budgets" });
    const sums = new Map();
    lanes.forEach((lane, row) => {
      let drawnTo = -1;
      const spans = run.spans.filter((span) => span.lane === lane).sort((a, b) => a.from - b.from);
      sums.set(lane, spans.reduce((sum, span) => sum + (span.to - span.from), 0));
      svg.append(make("line", { class: "axis", x1: 0, x2: WIDE, y1: row * laneTall + 13.5, y2: row * laneTall + 13.5 }));
      for (const span of spans) {
        const from = x(span.from), wide = Math.max(1.5, x(span.to) - from);
        // What would hide under the last bar is not drawn: a run has a thousand bars at most, however long it is.
        if (from + wide <= drawnTo + 0.5) continue;
        drawnTo = Math.max(drawnTo, from + wide);
        svg.append(make("rect", { class: lane, x: from.toFixed(1), y: row * laneTall + 2, width: wide.toFixed(1), height: laneTall - 4 },
          make("title", {}, `${safe(span.name)}: ${run.grouped(span.to - span.from)} ms`)));
      }
    });
    svg.append(make("line", { class: "axis", x1: 0, x2: WIDE, y1: tall - 1, y2: tall - 1 }));
    const burning = run.limits.filter((limit) => limit.limit > 0);
    const every = Math.max(1, Math.floor(run.entries.length / 400));
    burning.forEach((limit, row) => {
      const points = [`0,${burnTop}`];
      let last = burnTop;
      run.entries.forEach((entry, at) => {
        if (at % every !== 0 && at !== run.entries.length - 1) return;
        const left = Math.max(0, 1 - limit.at(entry) / limit.limit), y = burnTop + (1 - left) * burnTall;
        points.push(`${x(entry.at).toFixed(1)},${last.toFixed(1)}`, `${x(entry.at).toFixed(1)},${y.toFixed(1)}`);
        last = y;
      });
      svg.append(make("polyline", { class: `burn b${row % 6}`, points: points.join(" ") },
        make("title", {}, `what is left of ${limit.name}`)));
    });
    for (const { from, to } of time.pauses) {
      svg.append(make("rect", { class: "pause", x: x(from).toFixed(1), y: 0, width: (x(to) - x(from)).toFixed(1), height: tall },
        make("title", {}, `${parts.lasting(to - from)} without work, drawn short`)));
    }
    const cursor = make("line", { class: "cursor", x1: 0, x2: 0, y1: 0, y2: tall });
    cursor.style.vectorEffect = "non-scaling-stroke";
    svg.append(cursor);
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      pick(time.from(((event.clientX - box.left) / box.width) * time.whole));
    });
    const share = (lane) => `${run.lanes?.[lane] ?? lane} ${run.grouped(sums.get(lane))} ms`;
    const legend = make("div", { class: "legend" },
      ...lanes.map((lane) => make("span", {}, key(lane, "rect"), share(lane))),
      make("span", {}, "left of the budgets:"),
      ...burning.map((limit, row) => make("span", {}, key(`burn b${row % 6}`, "line"), limit.name)),
      time.pauses.length ? make("span", {}, key("pause", "rect"), `${run.counted(time.pauses.length, "pause")} of ${parts.lasting(time.idle)} in all, drawn short`) : null);
    const point = (ms) => {
      cursor.setAttribute("x1", x(ms));
      cursor.setAttribute("x2", x(ms));
    };
    return { svg, legend, point };
  }

  function key(name, shape) {
    const inner = shape === "rect"
      ? make("rect", { class: name, width: 11, height: 8 })
      : make("line", { class: name, x1: 0, x2: 11, y1: 4, y2: 4 });
    return make("svg", { viewBox: "0 0 11 8", "aria-hidden": "true" }, inner);
  }

  function bar(used, limit) {
    const part = Math.min(100, (100 * used) / limit), shown = used > 0 ? Math.max(1, part) : 0;
    return make("svg", { class: "bar", viewBox: "0 0 100 3", preserveAspectRatio: "none", "aria-hidden": "true" },
      make("rect", { class: "of", width: 100, height: 3 }),
      make("rect", { class: part >= 100 ? "full" : "used", width: shown, height: 3 }));
  }

  return { machine, charts, bar };
})();

// Foreign text with everything visible that would move, hide or reorder the text beside it; lines stay.
function safe(text) {
  const hidden = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
  return String(text ?? "").replace(hidden, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);
}
