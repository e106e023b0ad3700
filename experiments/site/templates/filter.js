// Filter and sort the items of a page (claims or experiments). The address stores the choices after
// the #.
"use strict";
(() => {
  const form = document.getElementById("filters");
  const items = [...document.querySelectorAll(".item")];
  const questions = [...document.querySelectorAll("#questions > details")];
  const texts = new Map([...items, ...questions].map((part) => [part, plain(part.textContent)]));
  const selects = [...form.querySelectorAll("select:not([name=sort])")];
  const search = document.querySelector("#search input");
  const summary = document.getElementById("summary");
  const every = summary.textContent;

  // Return a text without hyphens and spaces, so that "warm up", "warm-up" and "warmup" are equal.
  function plain(text) {
    return text.toLowerCase().replace(/[-\s]/g, "");
  }

  // Return whether a part of the page contains every word of a search.
  function contains(part, words) {
    return words.split(/\s+/).every((word) => texts.get(part).includes(plain(word)));
  }

  function values(item, name) {
    return item.dataset[name].split("|");
  }

  function wanted() {
    return Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
  }

  // Return whether an item matches all filters except the filter `except`.
  function meets(item, filters, except) {
    return Object.entries(filters).every(([name, value]) => {
      if (name === except || name === "sort") return true;
      return name === "text" ? contains(item, value) : values(item, name).includes(value);
    });
  }

  // Count the items that would remain for each value of the filter `name`, given the other filters.
  function tally(filters, name) {
    const left = items.filter((item) => meets(item, filters, name));
    const counts = new Map([["", left.length]]);
    for (const item of left)
      for (const value of new Set(values(item, name))) counts.set(value, (counts.get(value) || 0) + 1);
    return counts;
  }

  function show() {
    const filters = wanted();
    if (form.elements.sort) {
      const key = filters.sort;
      items[0].parentElement.append(...(key ? items.toSorted((a, b) => b.dataset[key] - a.dataset[key]) : items));
    }
    for (const item of items) item.hidden = !meets(item, filters);
    for (const body of document.querySelectorAll("tbody")) body.hidden = !body.querySelector(".item:not([hidden])");
    for (const question of questions) question.hidden = !contains(question, filters.text || "");
    document.body.classList.toggle("searching", Boolean(filters.text));
    for (const select of selects) {
      const counts = tally(filters, select.name);
      for (const option of select.options) option.hidden = option.value && !counts.get(option.value) && !option.selected;
    }
    const counts = tally(filters, "state");
    for (const output of form.querySelectorAll("output")) output.value = counts.get(output.dataset.count) || 0;
    const left = items.filter((item) => !item.hidden).length;
    summary.textContent = left < items.length ? `${left} of ${items.length}` : every;
    document.getElementById("nothing").hidden = left > 0;
    if (search) search.value = filters.text || "";
  }

  function save() {
    const state = new URLSearchParams(wanted()).toString();
    history.replaceState(null, "", state ? `#${state}` : location.pathname + location.search);
    show();
  }

  // A # without = is a link to an item and does not change the filters.
  function load() {
    if (location.hash && !location.hash.includes("=")) return show();
    form.reset();
    for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
      if (form.elements[name]) form.elements[name].value = value;
    show();
  }

  if (search) {
    document.getElementById("search").hidden = false;
    search.addEventListener("input", () => {
      form.elements.text.value = search.value;
      save();
    });
  }
  form.hidden = false;
  form.addEventListener("input", save);
  form.addEventListener("reset", () => setTimeout(save));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", load);
  load();
})();
