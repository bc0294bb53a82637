(() => {
  "use strict";
  const specifications = JSON.parse(document.getElementById("specifications").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // what is too dark for a dark page
  const lighter = [["#000000", "#f0f0f0"], ['"#333"', '"#ccc"'], ["#0072B2", "#3d9be9"], ["#882255", "#d66ba0"],
    ["#6633AA", "#a98be0"], ["#117733", "#44aa66"]];
  const places = [...document.querySelectorAll(".live")];

  // the width, the legend and the colours of a chart follow the page; its title stands in the caption
  function fitted(name, width) {
    let text = JSON.stringify(specifications[name]);
    if (dark.matches) for (const [dim, bright] of lighter) text = text.replaceAll(dim, bright);
    const specification = JSON.parse(text);
    const [ink, edge] = dark.matches ? ["#e6edf3", "#5a636e"] : ["#1b1f24", "#c4cbd3"];
    const axis = { labelColor: ink, titleColor: ink, gridColor: edge, domainColor: edge, tickColor: edge,
      labelFontSize: 12, titleFontSize: 12 };
    const legend = { labelColor: ink, titleColor: ink, orient: "bottom", labelFontSize: 12, labelLimit: 260,
      columns: Math.max(1, Math.floor(width / 210)) };
    delete specification.title;
    return { ...specification, width: "container", autosize: { type: "fit-x", contains: "padding" },
      config: { ...specification.config, background: "transparent", axis, legend } };
  }

  async function draw(place) {
    const linear = place.dataset.shown === "variant";
    const name = linear ? place.dataset.variant : place.dataset.chart;
    const actions = { export: true, source: false, compiled: false, editor: false };
    const options = { renderer: "svg", actions, theme: undefined, tooltip: { theme: dark.matches ? "dark" : "light" } };
    try {
      await vegaEmbed(place, fitted(name, place.clientWidth), options);
      place.dataset.drawn = name;
    } catch (error) {
      console.error(`the chart ${name} cannot be drawn: ${error}`);
    }
  }

  async function drawAll() {
    for (const place of places) await draw(place);
    document.documentElement.dataset.charts = document.querySelectorAll(".live[data-drawn]").length;
  }

  for (const button of document.querySelectorAll(".axes")) {
    button.addEventListener("click", () => {
      const place = button.closest("figure").querySelector(".live");
      const pressed = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(pressed));
      place.dataset.shown = pressed ? "variant" : "";
      draw(place);
    });
  }
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
  });
  dark.addEventListener("change", drawAll);
  document.documentElement.classList.add("charted");
  // charts have pushed down what the address points to
  drawAll().then(() => location.hash && document.getElementById(location.hash.slice(1))?.scrollIntoView());
})();
