// Show the seeds of an effect. For a selected seed, show the curves of its two runs and the sentences
// that the two runs translate most differently. Runs and sentences are loaded on demand.
"use strict";
(() => {
  const section = document.querySelector("[data-script]");
  if (!section) return;
  const { script, name, sentences } = section.dataset;
  const { make, curves: charts } = window.ablateCharts;
  const load = (file = script, key = name) => window.ablateCharts.load(file, key);
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

  // Show the curves of some runs, and the command of each run.
  function show(box, found, data) {
    const parts = charts(box, found, data);
    const commands = found.map((run) => {
      const part = make("div", undefined, { className: "again" });
      const line = make("p");
      line.append(address(run, `${run.arm}, seed ${run.seed}`), ` ${run.status}, ${run.seconds} s`);
      part.append(line, window.ablateCopy(run.command));
      return part;
    });
    box.replaceChildren(...(parts.length ? parts : [make("p", "These runs have no curve: nothing was trained.", { className: "soft" })]), ...commands);
  }

  // Return a link to the page of a run.
  function address(run, text) {
    return make("a", text, { href: `../runs/${encodeURIComponent(name)}.html#${run.id}` });
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

  // Return the pictures of one kind of attention of both runs, side by side.
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

  // Return a sentence with both translations; words that the other translation lacks are marked.
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
      row.insertCell().append(address(run, run.arm));
      for (const text of [run.status]) row.insertCell().textContent = text;
      for (const text of [...run.values, run.seconds]) Object.assign(row.insertCell(), { textContent: text, className: "number" });
    }
    const wide = make("div", undefined, { className: "table", tabIndex: 0 });
    wide.append(table);
    box.replaceChildren(below, wide);
  }
})();
