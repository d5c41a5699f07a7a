(function () {
  "use strict";
  var specs = JSON.parse(document.getElementById("specs").textContent);
  var theme = JSON.parse(document.getElementById("theme").textContent);
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var narrow = window.matchMedia("(max-width: 640px)");

  function config(isDark) {
    var ink = isDark ? "#e6eaf0" : "#1c2430", line = isDark ? "#333c48" : "#d9dee5";
    var base = {
      background: "transparent", font: "system-ui, sans-serif", view: { stroke: "transparent" },
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 11, titleFontWeight: "normal" },
      axisQuantitative: { labelFlush: false, labelOverlap: "greedy", labelSeparation: 4 },
      legend: { labelColor: ink, titleColor: ink, labelFontSize: 11, titleFontWeight: "normal", symbolStrokeWidth: 2, symbolOpacity: 1 },
      header: { labelColor: ink, titleColor: ink }, title: { color: ink }, text: { color: ink }
    };
    Object.keys(theme).forEach(function (key) {
      var value = theme[key];
      base[key] = value && typeof value === "object" && !Array.isArray(value) ? Object.assign({}, base[key], value) : value;
    });
    return base;
  }

  function fit(spec, width) {
    var out = JSON.parse(JSON.stringify(spec));
    var panels = out.usermeta && out.usermeta.across ? out.usermeta : null;
    if (narrow.matches) {
      shorten(out, width - 60);
      out.datasets.rows.forEach(function (row) { row.heading = cut(row.heading, 42); row.row = cut(row.row, 52); });
    }
    if (panels) {
      var across = narrow.matches ? 1 : panels.across;
      if (out.columns) { out.columns = across; }
      var names = narrow.matches ? Math.min(panels.beside + 20, 160) : panels.beside + 40;
      (out.spec || out).width = Math.max(140, (width - names) / across - 20 * (across - 1) / across);
    }
    return out;
  }

  function middle(what, most) {
    return "length(" + what + ") > " + most + " ? slice(" + what + ", 0, " + most / 2 + ") + '…' + slice(" + what + ", length(" + what + ") - " + (most / 2 - 1) + ") : " + what;
  }

  function cut(text, most) {
    return text && text.length > most ? text.slice(0, most / 2) + "…" + text.slice(1 - most / 2) : text;
  }

  // On a phone names keep 20 letters, panels' names 34, and legends one column.
  function shorten(node, width) {
    if (!node || typeof node !== "object") { return; }
    if (typeof node.labelExpr === "string") {
      var most = node.labelOrient ? 34 : 20, lines = ["split(datum.label, '\\n')[0]", "split(datum.label, '\\n')[1]"];
      node.labelExpr = node.labelExpr[0] === "[" ? "[" + lines.map(function (line) { return middle(line, most); }).join(", ") + "]" : middle("datum.label", most);
    }
    if (node.type === "text" && node.limit) { node.limit = Math.min(node.limit, width); }
    if (typeof node.columns === "number" && node.orient) { node.columns = 1; }
    Object.keys(node).forEach(function (key) { if (key !== "values" && key !== "datasets") { shorten(node[key], width); } });
  }

  function draw(printing) {
    var jobs = Object.keys(specs).map(function (key) {
      var place = document.querySelector('[data-chart="' + key + '"]');
      var picture = place.querySelector("svg");
      return vegaEmbed(place, fit(specs[key], place.clientWidth), {
        renderer: "svg", config: config(!printing && dark.matches), downloadFileName: "passhat-" + key,
        actions: { export: { svg: true, png: true }, source: true, compiled: false, editor: false }
      }).then(function () { place.dataset.drawn = "yes"; }, function (error) {
        place.textContent = ""; if (picture) { place.appendChild(picture); }
        place.dataset.drawn = "failed"; console.error(key, error);
      });
    });
    return Promise.all(jobs).then(function () { document.documentElement.dataset.ready = "yes"; });
  }

  dark.addEventListener("change", function () { draw(false); });
  narrow.addEventListener("change", function () { draw(false); });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details.table").forEach(function (item) { item.open = true; });
  });
  draw(window.matchMedia("print").matches);
})();
