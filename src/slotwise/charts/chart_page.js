(() => {
  "use strict";
  const specification = JSON.parse(document.getElementById("specification").textContent);
  const NARROW = 700; // below this width in pixels, legends go below the chart
  const SPACING = 20; // between panels
  const { title, vconcat, ...rest } = specification; // the page shows the title as text, which wraps
  const parts = vconcat ? vconcat.map((part) => ({ ...part, datasets: rest.datasets, config: rest.config })) : [rest];
  const containers = parts.map(() => {
    const container = document.createElement("div");
    container.className = "part";
    return document.getElementById("chart").appendChild(container);
  });

  function embed(container, part, width) {
    const legend = width < NARROW
      ? { orient: "bottom", columns: Math.max(1, Math.floor(width / 170)), labelLimit: Math.max(120, width / 2 - 40) }
      : { labelLimit: 260 };
    const axis = { labelFontSize: 12, titleFontSize: 12 };
    const config = { ...part.config, axis, legend: { labelFontSize: 12, ...legend } };
    const actions = { export: true, source: false, compiled: false, editor: false };
    return vegaEmbed(container, { ...part, config }, { renderer: "svg", actions });
  }

  // one view: as wide as the page, and as high as is left of it, within a sensible shape
  function fitView(container, part, width) {
    const left = innerHeight - container.getBoundingClientRect().top - scrollY - 24;
    const shaped = Math.min(left, (width < NARROW ? 0.9 : 0.65) * width, 3 * part.height);
    const height = parts.length > 1 ? Math.min(1.5 * part.height, 0.8 * width) : Math.max(shaped, 280);
    return embed(container, { ...part, width, height, autosize: { type: "fit", contains: "padding" } }, width);
  }

  // panels: as many in a row as fit, widened to fill it; a first drawing in one column shows how wide a panel is
  async function fitPanels(container, part, width) {
    await embed(container, { ...part, columns: 1 }, width);
    const panel = container.querySelector("svg.marks").clientWidth + SPACING;
    const columns = Math.max(1, Math.min(Math.floor((width + SPACING) / panel), count(part)));
    const extra = Math.max(0, Math.floor((width + SPACING) / columns - panel));
    return embed(container, { ...widened(part, extra), columns }, width);
  }

  const count = (part) => (part.concat ? part.concat.length : Infinity);

  function widened(part, extra) {
    const widen = (view) => ({ ...view, width: Math.min(view.width + extra, 3 * view.width) });
    return part.concat ? { ...part, concat: part.concat.map(widen) } : { ...part, spec: widen(part.spec) };
  }

  let drawnWidth = 0;
  async function draw() {
    const width = document.getElementById("chart").clientWidth;
    if (Math.abs(width - drawnWidth) < 2) return; // a phone that hides its address bar changes only the height
    drawnWidth = width;
    for (const [k, part] of parts.entries()) {
      const fit = part.concat || part.facet ? fitPanels : fitView;
      await fit(containers[k], part, width);
    }
    document.documentElement.dataset.drawn = width;
  }

  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(draw, 150);
  });
  draw();
})();
