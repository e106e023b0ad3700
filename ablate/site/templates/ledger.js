// Filter and sort the table of claims, and multiply all margins by a factor. The URL stores the choices
// after the #.
"use strict";
(() => {
  const form = document.getElementById("filters");
  const table = document.querySelector(".ledger");
  const rows = [...document.querySelectorAll("tr.claim")];
  const homes = new Map(rows.map((row) => [row, row.parentElement]));
  const all = document.createElement("tbody");
  const selects = [...form.querySelectorAll("select:not([name=sort])")];
  const questions = [...document.querySelectorAll("#questions > details")];
  const texts = new Map([...rows, ...questions].map((part) => [part, plain(part.textContent)]));
  const values = new Map(rows.map((row) => [row, read(row)]));
  const moving = rows.filter((row) => row.dataset.turns).map(turning);
  const known = rows.filter((row) => !("outside" in row.dataset));
  const orders = {
    tested: (row) => (values.get(row).verdict.includes("tested") ? 0 : 1),
    name: (row) => row.querySelector(".id").textContent,
  };
  let order = "";

  // Return a text without hyphens and spaces, so that "warm up", "warm-up" and "warmup" are equal.
  function plain(text) {
    return text.toLowerCase().replace(/[-\s]/g, "");
  }

  // Return whether a part of the page contains every word of a search.
  function contains(part, search) {
    return search.split(/\s+/).every((word) => texts.get(part).includes(plain(word)));
  }

  function read(row) {
    const named = {};
    for (const [name, joined] of Object.entries(row.dataset)) named[name] = joined.split("|");
    return named;
  }

  function wanted() {
    const given = [...new FormData(form)].filter(([name, value]) => value && (name !== "margins" || value !== "0"));
    return Object.fromEntries(given);
  }

  // Read the verdicts of a row at other margins: pairs of a factor and the verdict from this factor on.
  function turning(row) {
    const turns = row.dataset.turns.split("|").map((turn) => [Number(turn.split(":")[0]), turn.split(":")[1]]);
    const own = turns.findLast(([from]) => from <= 1)[1];
    const cell = row.querySelector(".found");
    return { row, turns, own, cell, html: [...cell.childNodes] };
  }

  // Give every row the verdict that it has when all margins are multiplied by 10^(exponent / 100).
  function move(exponent) {
    const factor = 10 ** (exponent / 100);
    let moved = 0;
    for (const { row, turns, own, cell, html } of moving) {
      const word = turns.findLast(([from]) => from <= factor)[1];
      const other = word !== own;
      if (other) cell.replaceChildren(verdict(word), Object.assign(document.createElement("small"), { textContent: `was ${own}` }));
      else cell.replaceChildren(...html);
      values.get(row).verdict = [word, "tested"];
      moved += other && !("outside" in row.dataset);
    }
    const said = factor < 1 ? `divided by ${Number((1 / factor).toPrecision(2))}` : `times ${Number(factor.toPrecision(2))}`;
    document.getElementById("factor").textContent =
      factor === 1 ? "as it was named before the runs" : `${said}: ${moved} verdict${moved === 1 ? "" : "s"} would be another`;
  }

  function verdict(word) {
    return form.querySelector(`input[value="${word}"] + span .verdict`).cloneNode(true);
  }

  // Return whether a row matches all filters except the filter `except`.
  function meets(row, filters, except) {
    return Object.entries(filters).every(([name, value]) => {
      if (name === except || name === "sort" || name === "margins") return true;
      if (name === "text") return contains(row, value);
      return values.get(row)[name].includes(value);
    });
  }

  // Count the rows that would remain for each value of the filter `name`, given the other filters.
  function tally(some, filters, name) {
    const counts = new Map();
    const others = some.filter((row) => meets(row, filters, name));
    for (const row of others)
      for (const value of values.get(row)[name]) counts.set(value, (counts.get(value) || 0) + 1);
    return counts.set("", others.length);
  }

  // Sort the rows. Only the default order has group headings.
  function sort(wish) {
    if (wish === order) return;
    order = wish;
    const key = orders[wish];
    const sorted = key ? rows.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0)) : rows;
    for (const row of sorted) (key ? all : homes.get(row)).append(row);
    if (key) table.append(all);
    else all.remove();
    table.classList.toggle("sorted", Boolean(key));
  }

  function show() {
    const filters = wanted();
    sort(filters.sort || "");
    document.body.classList.toggle("searching", Boolean(filters.text));
    for (const question of questions) question.hidden = !contains(question, filters.text || "");
    document.getElementById("questions").hidden = questions.every((question) => question.hidden);
    document.querySelector("#search input").value = filters.text || "";
    move(Number(filters.margins || 0));
    for (const row of rows) row.hidden = !meets(row, filters);
    for (const body of table.querySelectorAll("tbody")) {
      const left = body.querySelectorAll("tr.claim:not([hidden])").length;
      body.hidden = !left;
      const number = body.querySelector("small");
      if (number) number.textContent = left;
    }
    for (const select of selects) {
      const counts = tally(rows, filters, select.name);
      for (const option of select.options)
        option.text = `${option.value || "all"} (${counts.get(option.value) || 0})`;
    }
    const verdicts = tally(known, filters, "verdict");
    for (const output of form.querySelectorAll("output[data-count]"))
      output.value = verdicts.get(output.dataset.count) || 0;
    summarise();
  }

  function summarise() {
    const left = known.filter((row) => !row.hidden);
    const outside = rows.filter((row) => !row.hidden).length - left.length;
    const some = left.length < known.length ? `${left.length} of ` : "";
    document.getElementById("shown").textContent =
      `${some}${known.length} claims` + (outside ? ` of the texts, and ${outside} of experiments alone` : "");
    for (const number of document.querySelectorAll("[data-state]"))
      number.textContent = left.filter((row) =>
        values.get(row).verdict.includes(number.dataset.state)
      ).length;
    document.getElementById("nothing").hidden = left.length + outside > 0;
  }

  function save() {
    const state = new URLSearchParams(wanted()).toString();
    history.replaceState(null, "", state ? `#${state}` : location.pathname + location.search);
    show();
  }

  // A # without = is a link to a claim and does not change the filters.
  function load() {
    if (location.hash && !location.hash.includes("=")) return;
    form.reset();
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      const field = form.elements[name];
      if (!field) continue;
      field.value = value;
      if (field.selectedIndex === -1) field.value = "";
    }
    show();
  }

  // The search box at the top of the page is the text filter. While the box contains text, only the
  // matching questions and the table are shown.
  const box = document.getElementById("search");
  const search = box.querySelector("input");
  box.hidden = false;
  search.addEventListener("input", () => {
    form.elements.text.value = search.value;
    save();
  });

  form.hidden = false;
  document.body.classList.add("live");
  form.addEventListener("input", save);
  form.addEventListener("reset", () => setTimeout(save));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", load);
  show();
  load();
})();
