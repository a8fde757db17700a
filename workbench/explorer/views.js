/* What the page shows, as text of HTML and SVG: numbers, tables, the value chart, the grid. Nothing here changes anything. */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  const MARKS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  const escape = (text) => String(text).replace(/[&<>"']/g, (c) => MARKS[c]);

  /** A short fraction if the number is one, else some digits; a dash where it is undefined. */
  function shown(x, digits = 4) {
    if (Number.isNaN(x)) return "–";
    if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
    for (let q = 1; q <= 64; q++) {
      if (Math.abs(x * q - Math.round(x * q)) < 1e-9 * q) return `${Math.round(x * q)}${q === 1 ? "" : `/${q}`}`.replace("-", "−");
    }
    return String(Number(x.toPrecision(digits))).replace("-", "−");
  }

  /** A number in few characters, for the cells of tables. */
  function brief(x) {
    if (Number.isNaN(x)) return "–";
    const size = Math.abs(x);
    if (Math.abs(x - Math.round(x)) < 5e-10) return String(Math.round(x)).replace("-", "−");
    const text = size < 0.0005 ? x.toExponential(0) : size < 10 ? x.toFixed(3) : size < 100 ? x.toFixed(2) : x.toFixed(1);
    return text.replace("-", "−");
  }

  /** A probability: 0 and 1 only where it is exactly that. */
  function probability(x) {
    return x === 0 || x === 1 ? String(x) : x.toFixed(3);
  }

  /** Labels of a row: its memory state (null where there is none to show) and its observation (null if there is only one). */
  function rowLabels(P, o) {
    const hasMemory = P.memory.kind !== "none";
    const m = hasMemory ? P.memory.label(P.rowM[o]) : null;
    return { m, o: P.base.nO > 1 || !hasMemory ? P.base.O[P.rowO[o]] : null };
  }

  /** An action with its write, as a sentence would name it. */
  function actionLabel(P, a) {
    const { nW, W: writes } = P.memory, word = P.base.A[Math.floor(a / nW)];
    return nW === 1 ? word : `${word}, ${writes[a % nW]}`;
  }

  function head(P, rowHeads, last) {
    const { nW, W: writes } = P.memory, deep = nW > 1 ? 2 : 1;
    const corner = rowHeads.map((text) => `<th scope="col" rowspan="${deep}">${text}</th>`).join("");
    const actions = P.base.A.map((a) => `<th scope="col" colspan="${nW}" class="first">${escape(a)}</th>`).join("");
    const second = P.base.A.map(() => writes.map((w, i) => `<th scope="col"${i ? "" : ' class="first"'}>${escape(w)}</th>`).join("")).join("");
    const end = last ? `<th rowspan="${deep}"><span class="hidden">row</span></th>` : "";
    return `<thead><tr>${corner}${actions}${end}</tr>${deep > 1 ? `<tr>${second}</tr>` : ""}</thead>`;
  }

  /** A table with a row for each of some observations and a column for each action.
   *
   * options: rows, caption, reached, here (the row to point at), heat(o, a), cell(o, a) as HTML, mark(o, a) as a class,
   * last(o) as HTML of a last column.
   */
  function table(P, options) {
    const labels = options.rows.map((o) => rowLabels(P, o));
    const hasM = labels.some((label) => label.m !== null), hasO = labels.some((label) => label.o !== null);
    const heads = [...(hasM ? ["memory"] : []), ...(hasO ? ["sees"] : [])];
    const body = options.rows.map((o, i) => {
      const parts = [...(hasM ? [labels[i].m] : []), ...(hasO ? [labels[i].o] : [])];
      const pointer = o === options.here ? '<span class="pointer" title="the episode is here">▶</span>' : "";
      const rowHead = parts.map((text, j) => `<th scope="row">${j ? "" : pointer}${escape(text)}</th>`).join("");
      let cells = "";
      for (let a = 0; a < P.nA; a++) {
        const heat = options.heat(o, a), first = a % P.memory.nW === 0 ? " first" : "";
        const style = Number.isNaN(heat) ? "" : ` style="--heat:${heat.toFixed(3)}"`;
        cells += `<td class="${options.mark(o, a)}${first}"${style}>${options.cell(o, a)}</td>`;
      }
      const classes = `${options.reached[o] ? "" : "unvisited "}${o === options.here ? "here" : ""}`;
      return `<tr class="${classes}">${rowHead}${cells}${options.last ? `<td class="last">${options.last(o)}</td>` : ""}</tr>`;
    });
    return `<table><caption>${options.caption}</caption>${head(P, heads, options.last)}<tbody>${body.join("")}</tbody></table>`;
  }

  /** For a row of values, the function that says how dark each is: 0 for the lowest, 1 for the highest; NaN if undefined. */
  function rowHeat(P, values) {
    return (o, a) => {
      const row = values.subarray(o * P.nA, (o + 1) * P.nA).filter((x) => !Number.isNaN(x));
      const low = Math.min(...row), high = Math.max(...row), x = values[o * P.nA + a];
      return Number.isNaN(x) ? NaN : high - low < 1e-12 ? 0.5 : (x - low) / (high - low);
    };
  }

  const CHART = { width: 640, height: 250, left: 56, right: 14, top: 20, bottom: 46 };

  /** The value of each iterate as a line; `lines` are dashed levels [{value, text}]; `style` has color and dash.
   *  With `steps`, those that a learner had done at each value, these are the values of its greedy policy.
   *  Charts that share `scale`, a list of further values, can be compared. */
  function chart(values, lines, style, steps = null, scale = []) {
    const { width, height, left, right, top, bottom } = CHART;
    const finite = values.filter(Number.isFinite), levels = [...scale.filter(Number.isFinite), ...lines.map((line) => line.value)];
    let low = Math.min(...finite, ...levels), high = Math.max(...finite, ...levels);
    if (high - low < 1e-9) { low -= 0.5; high += 0.5; }
    const margin = 0.08 * (high - low);
    low -= margin;
    high += margin;
    const last = values.length - 1, places = steps || values.map((_, n) => n), count = steps ? steps[last] || 1 : Math.max(last, 10);
    const x = (n) => left + ((width - left - right) * n) / count;
    const y = (value) => top + ((height - top - bottom) * (high - value)) / (high - low);
    const points = values.map((value, n) => (Number.isFinite(value) ? `${x(places[n]).toFixed(1)},${y(value).toFixed(1)}` : "")).join(" ");
    const ticks = niceTicks(low, high).map((value) =>
      `<line class="grid" x1="${left}" x2="${width - right}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text x="${left - 6}" y="${y(value) + 4}" text-anchor="end">${String(Number(value.toPrecision(3))).replace("-", "−")}</text>`).join("");
    const below = [0, Math.round(count / 2), count].map((n) =>
      `<text x="${x(n)}" y="${height - bottom + 20}" text-anchor="${n === count ? "end" : "middle"}">${n.toLocaleString("en")}</text>`).join("");
    const marks = lines.map((line, i) =>
      `<line class="level" x1="${left}" x2="${width - right}" y1="${y(line.value)}" y2="${y(line.value)}"/>` +
      `<text class="level" x="${i % 2 ? left + 6 : width - right - 4}" y="${y(line.value) - 6}" text-anchor="${i % 2 ? "start" : "end"}">${escape(line.text)}</text>`).join("");
    const end = Number.isFinite(values[last]) ? `<circle cx="${x(places[last])}" cy="${y(values[last])}" r="4" fill="${style.color}"/>` : "";
    return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${steps ? "exact value of the greedy policy" : "value of the policy"} over ${places[last]} ${steps ? "steps" : "iterates"}, now ${shown(values[last])}">` +
      `${ticks}${marks}${below}<text x="${(left + width - right) / 2}" y="${height - 5}" text-anchor="middle">${steps ? "time steps" : "iterate"}</text>` +
      `<polyline points="${points}" fill="none" stroke="${style.color}" stroke-width="2.2" stroke-dasharray="${style.dash}"/>${end}</svg>`;
  }

  function niceTicks(low, high) {
    const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((k) => k >= rough);
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(Math.abs(value) < step / 1e6 ? 0 : value);
    return found;
  }

  const ARROWS = { up: "↑", down: "↓", left: "←", right: "→" };

  /** A grid with walls, marks, the agent, and in each cell the likeliest action of the policy for one memory state. */
  function grid(P, plan, pi, m, agent, words) {
    const size = 58, { width, height } = plan;
    const px = (x) => 6 + x * size, py = (y) => 6 + (height - 1 - y) * size;
    const at = new Map(P.base.O.map((label, o) => [label, o]));
    let text = "";
    for (let yy = 0; yy < height; yy++) {
      for (let xx = 0; xx < width; xx++) {
        text += `<rect class="cell" x="${px(xx)}" y="${py(yy)}" width="${size}" height="${size}"/>`;
        const o = at.get(`(${xx}, ${yy})`), row = P.rowM.findIndex((rowM, i) => rowM === m && P.rowO[i] === o);
        if (row < 0) continue;
        let best = 0;
        for (let a = 1; a < P.nA; a++) if (pi[row * P.nA + a] > pi[row * P.nA + best]) best = a;
        const share = pi[row * P.nA + best];
        if (share > 1.5 / P.nA) {
          const write = P.memory.nW > 1 ? P.memory.W[best % P.memory.nW] : "";
          text += `<text class="arrow" x="${px(xx) + 8}" y="${py(yy) + 20}" opacity="${(0.35 + 0.65 * share).toFixed(2)}">${ARROWS[P.base.A[Math.floor(best / P.memory.nW)]]}</text>`;
          text += `<text class="write" x="${px(xx) + size - 5}" y="${py(yy) + size - 6}" text-anchor="end">${escape(write)}</text>`;
        }
      }
    }
    for (const [x1, y1, x2, y2] of plan.walls) {
      text += `<line class="wall" x1="${6 + x1 * size}" y1="${6 + (height - y1) * size}" x2="${6 + x2 * size}" y2="${6 + (height - y2) * size}"/>`;
    }
    for (const [mark, name, [x, y]] of plan.marks) {
      text += `<text class="mark" x="${px(x) + size - 8}" y="${py(y) + 20}" text-anchor="end">${escape(mark)}<title>${escape(name)}</title></text>`;
    }
    const [x, y] = agent;
    text += `<circle class="agent" cx="${px(x) + size / 2}" cy="${py(y) + size / 2 + 4}" r="11"/>`;
    return `<svg class="plan" viewBox="0 0 ${width * size + 12} ${height * size + 12}" role="img" aria-label="${escape(words)}">${text}</svg>`;
  }

  Object.assign(W, { escape, shown, brief, probability, rowLabels, actionLabel, table, rowHeat, chart, niceTicks, grid });
})(Workbench);
