"use strict";
(() => {
  const { words, files } = JSON.parse(document.getElementById("data").textContent);
  const STEP = 200;
  const MOST_PRINTED = 5000;
  const say = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const count = (number) => number.toLocaleString(document.documentElement.lang);
  const toast = document.getElementById("toast");
  let hiding;

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function tell(text) {
    toast.textContent = text;
    toast.classList.add("on");
    clearTimeout(hiding);
    hiding = setTimeout(() => toast.classList.remove("on"), 6000);
  }

  async function point(file, row, address) {
    document.querySelectorAll("tr[aria-current]").forEach((other) => other.removeAttribute("aria-current"));
    row.setAttribute("aria-current", "true");
    const place = `'${file.sheet.replaceAll("'", "''")}'!${address}`;
    try {
      await navigator.clipboard.writeText(place);
      tell(say(words.copied, { place }));
    } catch {
      tell(say(words.go_to, { place }));
    }
  }

  function pills(file) {
    const box = make("p", { class: "counts" });
    const pill = (kind, text, number) =>
      box.append(make("span", { class: `count ${kind}` }, say(text, { n: count(number) })));
    pill("", words.rows, file.rows);
    pill(file.errors ? "error" : "good", words.errors, file.errors);
    pill(file.warnings ? "warning" : "good", words.warnings, file.warnings);
    return box;
  }

  function choice(label, all, entries) {
    const select = make("select", {}, make("option", { value: "" }, all));
    for (const [value, text] of entries) select.append(make("option", { value }, text));
    return [make("label", {}, label, select), select];
  }

  function sums(rules, key) {
    const found = new Map();
    for (const rule of rules) found.set(rule[key], (found.get(rule[key]) ?? 0) + rule.count);
    return [...found].filter(([name]) => name);
  }

  function line(file, finding) {
    const [address, place, value, message, hint] = finding;
    const rule = file.rules[place];
    const cell = make("td", { "data-label": words.cell });
    const row = make("tr", { "data-cell": address }, cell);
    if (address) {
      const button = make("button", { type: "button", class: "cell", title: words.jump }, address);
      button.addEventListener("click", () => point(file, row, address));
      cell.append(button);
    }
    const wrong = make("div", {}, file.texts[message], " ", make("span", { class: "code" }, rule.code));
    row.append(
      make("td", { "data-label": words.column }, rule.column),
      make("td", { "data-label": words.severity },
        make("span", { class: `grade ${rule.severity}` }, words[rule.severity])),
      make("td", { "data-label": words.value, class: "value" }, value ? make("div", {}, value) : ""),
      make("td", { "data-label": words.wrong }, wrong),
      make("td", { "data-label": words.todo }, file.texts[hint]),
    );
    return row;
  }

  function listing(file) {
    const perRule = sums(file.rules, "code").map(([code, n]) => [code, `${code} (${count(n)})`]);
    const perColumn = sums(file.rules, "column").map(([name, n]) => [name, `${name} (${count(n)})`]);
    const [ruleLabel, rule] = choice(words.rule, words.every_rule, perRule);
    const [columnLabel, column] = choice(words.column, words.every_column, perColumn);
    const search = make("input", { type: "search", placeholder: "C17", spellcheck: "false" });
    search.value = decodeURIComponent(location.hash.slice(1));
    const shown = make("p", { class: "shown", "aria-live": "polite" });
    const heads = ["cell", "column", "severity", "value", "wrong", "todo"];
    const body = make("tbody", {});
    const table = make("table", {},
      make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, words[name])))),
      body);
    const more = make("button", { type: "button", class: "more" }, words.more);
    let found = [];

    function grow(upTo) {
      const rows = document.createDocumentFragment();
      for (const finding of found.slice(body.rows.length, upTo)) rows.append(line(file, finding));
      body.append(rows);
      more.hidden = body.rows.length >= found.length;
      shown.textContent = say(words.shown, {
        n: count(body.rows.length), found: count(found.length), total: count(file.errors + file.warnings),
      });
    }

    function apply() {
      const wanted = search.value.trim().toUpperCase();
      const fits = /^\d+$/.test(wanted) ? (cell) => cell.replace(/^[A-Z]+/, "") === wanted : (cell) => cell === wanted;
      const kept = file.rules.map((entry) =>
        (!rule.value || entry.code === rule.value) && (!column.value || entry.column === column.value));
      found = file.findings.filter(([cell, place]) => kept[place] && (!wanted || fits(cell ?? "")));
      body.replaceChildren();
      grow(STEP);
    }

    for (const control of [rule, column]) control.addEventListener("change", apply);
    search.addEventListener("input", apply);
    more.addEventListener("click", () => grow(body.rows.length + STEP));
    addEventListener("beforeprint", () => grow(MOST_PRINTED));
    apply();
    return [make("div", { class: "filters" }, ruleLabel, columnLabel, make("label", {}, words.find, search)), shown, table, more];
  }

  function mark(file) {
    if (file.skipped) return "–";
    return file.ok ? "✓" : "✗";
  }

  function section(file) {
    const box = make("section", { class: "file" }, make("h2", {}, `${mark(file)} ${file.file}`));
    if (file.skipped) {
      box.append(make("p", { class: "quiet" }, file.skipped));
      return box;
    }
    if (file.refused) {
      box.append(make("p", {}, file.refused), ...(file.hint ? [make("p", { class: "quiet" }, file.hint)] : []));
      return box;
    }
    const place = say(words.place, { resource: file.resource, sheet: file.sheet });
    box.append(make("p", { class: "quiet" }, place), pills(file));
    if (file.cut) box.append(make("p", { class: "cut" }, file.cut));
    if (file.mended.length) {
      const [head, ...changes] = file.mended;
      const items = changes.map((change) => make("li", {}, change));
      box.append(make("details", {}, make("summary", {}, head), make("ul", {}, ...items)));
    }
    if (file.findings.length) box.append(...listing(file));
    return box;
  }

  document.getElementById("report").append(
    make("h1", {}, words.title), make("p", { class: "quiet" }, words.about), ...files.map(section));
})();
