(() => {
  "use strict";
  const specification = JSON.parse(document.getElementById("specification").textContent);
  const NARROW = 700; // below this width in pixels, legends go below the chart
  const MENU = 40; // beside a wide chart: the menu that saves it as an image
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
    const size = Math.max(12, Math.min(Math.round(width / 120), 15));
    const axis = { labelFontSize: size, titleFontSize: size };
    const config = { ...part.config, axis, legend: { labelFontSize: size, titleFontSize: size, ...legend } };
    const actions = width < NARROW ? false : { export: true, source: false, compiled: false, editor: false };
    return vegaEmbed(container, { ...part, config }, { mode: "vega-lite", renderer: "svg", actions });
  }

  // one view: as wide as the page, and as high as is left of it, within a sensible shape
  function fitView(container, part, width) {
    const left = innerHeight - container.getBoundingClientRect().top - scrollY - 24;
    const shaped = Math.min(left, (width < NARROW ? 1.3 : 0.65) * width, 3 * part.height);
    const height = parts.length > 1 ? Math.min(1.5 * part.height, 0.8 * width) : Math.max(shaped, 280);
    return embed(container, { ...part, width, height, autosize: { type: "fit", contains: "padding" } }, width);
  }

  // panels: as many in a row as fit, widened to fill it. The first drawing shows how wide one panel is, the second
  // how much is left of a full row
  async function fitPanels(container, part, width) {
    const drawnWidth = async (columns) => {
      await embed(container, { ...part, columns }, width);
      return Number(container.querySelector("svg.marks").getAttribute("width"));
    };
    const columns = Math.max(1, Math.min(Math.floor(width / (await drawnWidth(1))), count(part)));
    const left = width - (await drawnWidth(columns));
    return embed(container, { ...widened(part, Math.floor(left / columns)), columns }, width);
  }

  const count = (part) => (part.concat ? part.concat.length : Infinity);

  function widened(part, extra) {
    const widen = (view) => ({ ...view, width: Math.max(100, Math.min(view.width + extra, 3 * view.width)) });
    return part.concat ? { ...part, concat: part.concat.map(widen) } : { ...part, spec: widen(part.spec) };
  }

  // one drawing at a time: two would replace each other's charts. The page is marked as drawn when nothing is left to do
  let drawnWidth = 0, drawing = false;
  async function draw() {
    if (drawing) return;
    drawing = true;
    for (let width = contentWidth(); Math.abs(width - drawnWidth) >= 2; width = contentWidth()) {
      delete document.documentElement.dataset.drawn;
      drawnWidth = width; // a phone that hides its address bar changes only the height
      for (const [k, part] of parts.entries()) {
        const fit = part.concat || part.facet ? fitPanels : fitView;
        await fit(containers[k], part, width);
      }
    }
    document.documentElement.dataset.drawn = drawnWidth;
    drawing = false;
  }

  function contentWidth() {
    const content = document.getElementById("chart").clientWidth;
    return content < NARROW ? content : content - MENU;
  }

  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(draw, 150);
  });
  draw();
})();
