"use strict";
(() => {
  const { words, files } = JSON.parse(document.getElementById("data").textContent);
  const STEP = 200;
  const FEW = 3;
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

  function sums(rules, key, say) {
    const found = new Map();
    for (const rule of rules) {
      const [label, sum] = found.get(rule[key]) ?? [say(rule), 0];
      found.set(rule[key], [label, sum + rule.count]);
    }
    return [...found].filter(([name]) => name).map(([name, [label, sum]]) => [name, `${label} (${count(sum)})`]);
  }

  function shownValue(value) {
    const pieces = typeof value === "string" ? [value] : value;
    const parts = pieces.map((piece) =>
      typeof piece === "string" ? piece : make("span", { class: "mark", title: piece[1] }, piece[0]));
    return make("div", {}, ...parts);
  }

  function named(texts) {
    return texts.length ? [make("div", {}, ...texts.map((text) => make("div", {}, text)))] : [];
  }

  function breakable(name) {
    const parts = name.split(/(?=[A-Z])/).flatMap((part) => [document.createElement("wbr"), part]);
    return name ? make("span", {}, ...parts.slice(1)) : "";
  }

  function line(file, finding) {
    const [address, place, value, message, hint, name] = finding;
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
      make("td", { "data-label": words.record }, ...named(name)),
      make("td", { "data-label": words.column }, breakable(rule.column)),
      make("td", { "data-label": words.severity },
        make("span", { class: `grade ${rule.severity}` }, words[rule.severity])),
      make("td", { "data-label": words.value, class: "value" }, value ? shownValue(value) : ""),
      make("td", { "data-label": words.wrong }, wrong),
      make("td", { "data-label": words.todo }, file.texts[hint]),
    );
    return row;
  }

  function listing(file) {
    const chosen = {
      severity: choice(words.severity, words.every_severity, sums(file.rules, "severity", (one) => words[one.severity])),
      code: choice(words.rule, words.every_rule, sums(file.rules, "code", (one) => `${one.about} [${one.code}]`)),
      column: choice(words.column, words.every_column, sums(file.rules, "column", (one) => one.column)),
    };
    const selects = Object.entries(chosen).map(([key, [, select]]) => [key, select]);
    const search = make("input", { type: "search", placeholder: "C17", spellcheck: "false" });
    search.value = decodeURIComponent(location.hash.slice(1));
    const shown = make("p", { class: "shown", "aria-live": "polite" });
    const heads = ["cell", "record", "column", "severity", "value", "wrong", "todo"];
    const body = make("tbody", {});
    const table = make("table", { "aria-label": file.sheet },
      make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, words[name])))),
      body);
    const more = make("button", { type: "button", class: "more" }, words.more);
    let found = [];
    let total = 0;
    const cells = (some) => some.reduce((sum, finding) => sum + finding[6], 0);
    const code = chosen.code[1];
    const rules = file.rules.filter((rule, place) => file.rules.findIndex((one) => one.code === rule.code) === place);
    const buttons = rules.map((rule) => {
      const number = file.rules.reduce((sum, one) => sum + (one.code === rule.code ? one.count : 0), 0);
      const button = make("button", { type: "button", class: "rule", value: rule.code },
        make("span", { class: `grade ${rule.severity}` }, count(number)), ` ${rule.about}`);
      button.addEventListener("click", () => {
        code.value = code.value === rule.code ? "" : rule.code;
        apply();
      });
      return button;
    });

    function grow(upTo) {
      const rows = document.createDocumentFragment();
      for (const finding of found.slice(body.rows.length, upTo)) rows.append(line(file, finding));
      body.append(rows);
      more.hidden = body.rows.length >= found.length;
      shown.textContent = say(words.shown, {
        n: count(cells(found.slice(0, body.rows.length))), found: count(cells(found)), total: count(total),
      });
    }

    function apply() {
      const wanted = search.value.trim().toUpperCase();
      const fits = /^\d+$/.test(wanted) ? (cell) => cell.replace(/^[A-Z]+/, "") === wanted : (cell) => cell === wanted;
      const kept = file.rules.map((rule) => selects.every(([key, select]) => !select.value || rule[key] === select.value));
      total = file.rules.reduce((sum, rule, place) => sum + (kept[place] ? rule.count : 0), 0);
      found = file.findings.filter(([cell, place]) => kept[place] && (!wanted || fits(cell ?? "")));
      for (const button of buttons) button.setAttribute("aria-pressed", button.value === code.value);
      body.replaceChildren();
      grow(STEP);
    }

    for (const [, select] of selects) select.addEventListener("change", apply);
    search.addEventListener("input", apply);
    more.addEventListener("click", () => grow(body.rows.length + STEP));
    addEventListener("beforeprint", () => grow(MOST_PRINTED));
    apply();
    const labels = Object.values(chosen).map(([label]) => label);
    const filters = make("div", { class: "filters" }, ...labels, make("label", {}, words.find, search));
    const legend = file.marks.length
      ? [make("p", { class: "quiet legend" }, say(words.marks, { marks: file.marks.join("; ") }))] : [];
    filters.hidden = total <= FEW && !search.value;
    const summary = make("div", { class: "rules", role: "group", "aria-label": words.rules },
      make("p", { class: "quiet" }, words.rules, make("span", { class: "click" }, ` (${words.click})`)), ...buttons);
    summary.hidden = filters.hidden || buttons.length < 2;
    return [summary, filters, shown, ...legend, table, more];
  }

  function verdict(file) {
    if (file.skipped) return ["–", words.not_judged];
    return file.ok ? ["✓", words.good] : ["✗", words.bad];
  }

  function contents(sections) {
    const links = sections.map((section, place) => {
      const heading = section.querySelector("h2");
      const link = make("button", { type: "button" }, heading.textContent);
      const { sheet, errors } = files[place];
      if (sheet) link.append(` · ${sheet}`);
      if (errors) link.append(` · ${say(words.errors, { n: count(errors) })}`);
      link.addEventListener("click", () => heading.focus());
      return make("li", {}, link);
    });
    return make("nav", { class: "card" }, make("ul", {}, ...links));
  }

  function section(file) {
    const [sign, label] = verdict(file);
    const heading = make("h2", { tabindex: "-1" }, make("span", { role: "img", "aria-label": label }, sign), ` ${file.file}`);
    const box = make("section", { class: "card" }, heading);
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
    if (file.readAs) box.append(make("p", { class: "quiet" }, file.readAs));
    const total = file.errors + file.warnings;
    if (file.cut) {
      const note = say(words.cut, { shown: count(file.findings.length), total: count(total) });
      box.append(make("p", { class: "cut" }, note));
    }
    if (file.fixes.length) {
      const [head, ...changes] = file.fixes;
      const items = changes.map((change) => make("li", {}, change));
      box.append(make("details", {}, make("summary", {}, head), make("ul", {}, ...items)));
    }
    if (file.findings.length) box.append(...listing(file));
    return box;
  }

  const sections = files.map(section);
  document.getElementById("report").append(...(files.length > 1 ? [contents(sections)] : []), ...sections);
})();
