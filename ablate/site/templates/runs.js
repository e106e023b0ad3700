// The page of a run: arm, config, curves, translations and command. The URL has its identity after the #.
"use strict";
(() => {
  const { load, make, curves } = window.ablateCharts;
  const section = document.getElementById("run");
  const { script, name, details } = section.dataset;

  async function show() {
    const data = await load(script, name);
    const run = data.runs.find((one) => one.id === location.hash.slice(1));
    document.getElementById("list").open = !run;
    list(data);
    if (!run) return section.replaceChildren();
    const more = details ? (await load(details, `${name} runs`))[run.id] : undefined;
    const title = `${run.arm}, seed ${run.seed}`;
    document.title = title;
    const charts = make("div", undefined, { className: "curves" });
    section.replaceChildren(
      make("h2", title),
      table([
        ["status", run.status],
        ["time", `${run.seconds} s`],
        ...(run.tuned ? [["chosen for this arm", run.tuned]] : []),
        ...data.columns.map((key, i) => [data.metrics[key], run.values[i]]),
      ]),
      charts,
      ...(more ? samples(more.samples) : []),
      make("h3", "Config"),
      table([...run.levels, ...data.settings]),
      ...(more ? [folded("The whole config.yaml", make("pre", more.config, { tabIndex: 0 }))] : []),
      make("h3", "Command"),
      window.ablateCopy(run.command)
    );
    charts.append(...curves(charts, [run], data));
  }

  function table(rows) {
    const facts = make("dl", undefined, { className: "facts" });
    for (const [term, value] of rows) facts.append(make("dt", term), make("dd", value));
    return facts;
  }

  function folded(title, ...parts) {
    const details = make("details");
    details.append(make("summary", title), ...parts);
    return details;
  }

  function samples(rows) {
    const parts = rows.map(([said, source, reference]) => {
      const pairs = source === undefined ? [] : [["source", source], ["reference", reference]];
      return table([...pairs, ["translation", said]]);
    });
    return parts.length ? [make("h3", "Translations"), ...parts] : [];
  }

  function list(data) {
    const links = data.runs.map((run) => {
      const item = make("li");
      const here = run.id === location.hash.slice(1);
      item.append(here ? make("b", `${run.arm}, seed ${run.seed}`) : make("a", `${run.arm}, seed ${run.seed}`, { href: `#${run.id}` }));
      return item;
    });
    document.querySelector("#list ul").replaceChildren(...links);
  }

  addEventListener("hashchange", show);
  show();
})();
