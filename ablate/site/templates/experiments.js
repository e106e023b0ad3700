// Filter and sort the list of experiments. The URL stores the choices after the #.
"use strict";
(() => {
  const form = document.getElementById("filters");
  const list = document.querySelector(".experiments");
  const rows = [...list.children];
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  function meets(row, filters) {
    return Object.entries(filters).every(([name, value]) => {
      if (name === "sort") return true;
      if (name === "text") return texts.get(row).includes(value.toLowerCase());
      return row.dataset[name].split("|").includes(value);
    });
  }

  function show() {
    const filters = Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
    const key = filters.sort;
    list.append(...(key ? rows.toSorted((a, b) => b.dataset[key] - a.dataset[key]) : rows));
    for (const row of rows) row.hidden = !meets(row, filters);
    const left = rows.filter((row) => !row.hidden).length;
    document.getElementById("summary").textContent =
      left < rows.length ? `${left} of ${rows.length} experiments` : `${left} experiments`;
    document.getElementById("nothing").hidden = left > 0;
    return filters;
  }

  function save() {
    const state = new URLSearchParams(show()).toString();
    history.replaceState(null, "", state ? `#${state}` : location.pathname + location.search);
  }

  function load() {
    if (location.hash && !location.hash.includes("=")) return;
    form.reset();
    for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
      if (form.elements[name]) form.elements[name].value = value;
    show();
  }

  form.hidden = false;
  form.addEventListener("input", save);
  form.addEventListener("reset", () => setTimeout(save));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", load);
  load();
})();
