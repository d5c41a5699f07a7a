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
    if (narrow.matches) {
      if (out.columns) { out.columns = 1; }
      if (out.facet && out.facet.column) { out.facet = out.facet.column; out.columns = 1; }
      if (out.spec && typeof out.spec.width === "number") { out.spec.width = Math.max(140, Math.min(out.spec.width, width - 190)); if (out.spec.height === 280) { out.spec.width = Math.max(180, width - 80); } }
      if (typeof out.width === "number") { out.width = Math.max(180, Math.min(out.width, width - 110)); }
      limitLabels(out);
    }
    return out;
  }

  function limitLabels(node) {
    if (!node || typeof node !== "object") { return; }
    if (typeof node.labelLimit === "number") { node.labelLimit = Math.min(node.labelLimit, 120); }
    Object.keys(node).forEach(function (key) { if (key !== "values" && key !== "datasets") { limitLabels(node[key]); } });
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
