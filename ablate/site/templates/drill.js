// From an effect to its seeds, from a seed to its curves and to the sentences that its two runs translate
// most differently; runs and sentences are loaded when they are asked for.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const section = document.querySelector("[data-script]");
  if (!section) return;
  const { script, name, sentences } = section.dataset;
  const loading = {};

  // A page that is opened from disk may load a script, and nothing else.
  function load(file = script, key = name) {
    loading[file] ||= new Promise((done, failed) => {
      const tag = document.createElement("script");
      tag.src = file;
      tag.onload = () => done(window.ablate[key]);
      tag.onerror = failed;
      document.head.append(tag);
    });
    return loading[file];
  }

  function make(tag, text, given = {}) {
    const element = document.createElement(tag);
    Object.assign(element, given);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function draw(tag, given, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(given)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  for (const drill of document.querySelectorAll(".drill"))
    drill.addEventListener("toggle", () => drill.open && seeds(drill), { once: true });
  document.querySelector("details.all")?.addEventListener("toggle", runs, { once: true });

  async function seeds(drill) {
    const data = await load();
    const box = drill.querySelector(".seeds");
    const curves = drill.querySelector(".curves");
    const found = data.claims[Number(drill.dataset.claim)].seeds.toSorted((a, b) => b.value - a.value);
    box.replaceChildren(
      ...found.map((one) => {
        const button = make("button", `seed ${one.seed} `, { type: "button" });
        button.append(make("b", one.said));
        button.addEventListener("click", () => {
          press(button, box);
          show(curves, one.runs.flat().map((number) => data.runs[number]), data);
          if (sentences) offer(curves, drill.dataset.claim, one.seed);
        });
        return button;
      })
    );
    box.querySelector("button")?.click();
  }

  function press(button, box) {
    for (const other of box.querySelectorAll("button")) other.setAttribute("aria-pressed", other === button);
  }

  // The curves of some runs, and what made each.
  function show(box, found, data) {
    const metrics = [...new Set(found.flatMap((run) => run.curves.flatMap(Object.keys)))].filter((key) => key !== "step");
    const parts = metrics.map((metric) => chart(box, metric, found, data.metrics[metric] || metric));
    const commands = found.map((run) => {
      const part = make("div", undefined, { className: "again" });
      const line = make("p");
      line.append(make("b", `${run.arm}, seed ${run.seed}`), ` ${run.status}, ${run.seconds} s`);
      part.append(line, window.ablateCopy(run.command));
      return part;
    });
    box.replaceChildren(...(parts.length ? parts : [make("p", "These runs have no curve: nothing was trained.", { className: "soft" })]), ...commands);
  }

  async function offer(box, claim, seed) {
    const found = (await load(sentences, `${name} sentences`)).claims[claim][seed];
    if (!found) return;
    const open = (title, parts) => {
      const details = make("details", undefined, { className: "sentences" });
      details.append(make("summary", title), ...parts);
      if (parts.length) box.append(details);
    };
    open("Sentences that they translate most differently", found.rows.map((row) => sentence(row, found.arms)));
    open("What they attend to, in a sentence of validation", found.attention.map((one) => looks(one, found.arms)));
  }

  // One kind of attention of both runs, side by side.
  function looks(one, arms) {
    const pair = make("div", undefined, { className: "looks" });
    one.files.forEach((file, i) => {
      const figure = make("figure");
      const alt = `${one.kind} attention of ${arms[i]}, last layer, a picture per head`;
      figure.append(make("img", undefined, { src: `../data/${file}`, alt, loading: "lazy" }), make("figcaption", `${arms[i]}, ${one.kind}`));
      pair.append(figure);
    });
    return pair;
  }

  // A sentence with both translations; words that the other one lacks are marked.
  function sentence(row, arms) {
    const list = make("dl");
    const add = (term, value) => list.append(make("dt", term), value);
    if (row.source !== undefined) {
      add(`line ${row.line}`, make("dd", row.source));
      add("reference", make("dd", row.reference));
    } else add("line", make("dd", row.line));
    row.said.forEach((said, i) => add(row.better === i ? `${arms[i]}, better` : arms[i], marked(said, row.said[1 - i])));
    return list;
  }

  function marked(said, other) {
    const there = new Set(other.split(" "));
    const line = make("dd");
    for (const word of said.split(" ")) line.append(there.has(word) ? word : make("mark", word), " ");
    return line;
  }

  function chart(box, metric, found, axis) {
    const room = box.clientWidth - 40;
    const width = (room > 900 ? room / 2 - 12 : Math.min(room, 736)) || 600;
    const [beside, widest] = [24, Math.max(...found.map((run) => run.arm.length)) * 7.5];
    const above = widest > width / 2; // no room beside the ends of lines: names stand over them
    const [left, right, top, bottom] = [48, above ? 12 : widest + beside, 26 + (above ? found.length * 16 : 0), 34];
    const height = 196 + top + bottom;
    const points = found.map((run) => line(run, metric));
    const every = points.flat();
    const svg = draw("svg", { class: "curve", role: "img", "aria-label": `${axis} by optimiser step`, viewBox: `0 0 ${width} ${height}`, height });
    if (!every.length) return svg;
    const x = scale(every.map((p) => p[0]), left, width - right);
    const y = scale(every.map((p) => p[1]), height - bottom, top);
    svg.append(draw("text", { x: left, y: 12 }, axis), draw("text", { x: width - right, y: height - 4, "text-anchor": "end" }, "optimiser step"));
    for (const tick of y.ticks)
      svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }), draw("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, tick));
    for (const tick of x.ticks) svg.append(draw("text", { x: x(tick), y: height - bottom + 16, "text-anchor": "middle" }, tick));
    const names = spread(points.map((one) => (one.length ? y(one.at(-1)[1]) : -1)), 14);
    points.forEach((one, number) => {
      const group = draw("g", { class: `arm-${number % 4}` });
      group.append(draw("path", { d: one.map(([a, b], i) => `${i ? "L" : "M"}${x(a)} ${y(b)}`).join("") }));
      for (const [a, b] of one) group.append(draw("circle", { class: "dot", cx: x(a), cy: y(b), r: 3 }));
      if (one.length) group.append(...(above ? key(found[number].arm, 0, 28 + number * 16) : [named(found[number].arm, x(one.at(-1)[0]) + 8, names[number] + 4)]));
      svg.append(group);
    });
    return svg;
  }

  function named(arm, x, y) {
    return draw("text", { class: "name", x, y }, arm);
  }

  // The name of a line after a piece of it.
  function key(arm, x, y) {
    return [draw("path", { d: `M${x} ${y - 4}h20` }), named(arm, x + 26, y)];
  }

  function line(run, metric) {
    const curve = run.curves.find((one) => metric in one);
    if (!curve) return [];
    return curve[metric].map((value, i) => [curve.step[i], value]).filter(([a, b]) => a !== null && b !== null);
  }

  // A linear scale from the values to pixels, with round ticks.
  function scale(values, from, to) {
    const [low, high] = [Math.min(0, ...values), Math.max(...values)];
    const span = high - low || 1;
    const rough = span / 4;
    const size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((s) => s * size).find((s) => s >= rough);
    const place = (value) => from + ((value - low) / span) * (to - from);
    place.ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high * 1.0001; i++) place.ticks.push(Number((i * step).toPrecision(12)));
    return place;
  }

  // Names beside the ends of lines, moved apart until none lies on another.
  function spread(places, gap) {
    const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
    const found = [...places];
    order.forEach((index, i) => {
      if (i) found[index] = Math.max(found[index], found[order[i - 1]] + gap);
    });
    return found;
  }

  async function runs() {
    const data = await load();
    const box = document.querySelector(".runs");
    const below = make("div", undefined, { className: "curves" });
    const table = make("table", undefined, { className: "data" });
    const head = table.createTHead().insertRow();
    const names = ["run", "arm", "status", ...data.columns.map((key) => data.metrics[key]), "seconds"];
    names.forEach((text, i) => {
      const cell = make("th", text, { scope: "col" });
      if (i > 2) cell.className = "number";
      head.append(cell);
    });
    const body = table.createTBody();
    for (const run of data.runs) {
      const row = body.insertRow();
      const button = make("button", `seed ${run.seed}`, { type: "button" });
      button.addEventListener("click", () => {
        press(button, table);
        show(below, [run], data);
        below.scrollIntoView({ block: "nearest" });
      });
      row.insertCell().append(button);
      for (const text of [run.arm, run.status]) row.insertCell().textContent = text;
      for (const text of [...run.values, run.seconds]) Object.assign(row.insertCell(), { textContent: text, className: "number" });
    }
    const wide = make("div", undefined, { className: "table", tabIndex: 0 });
    wide.append(table);
    box.replaceChildren(below, wide);
  }
})();
