(() => {
  "use strict";
  const specifications = JSON.parse(document.getElementById("specifications").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // brighter replacements of colours that are too dark on a dark page
  const lighter = [["#000000", "#f0f0f0"], ['"#333"', '"#ccc"'], ["#0072B2", "#3d9be9"], ["#882255", "#d66ba0"],
    ["#6633AA", "#a98be0"], ["#117733", "#44aa66"]];
  const containers = [...document.querySelectorAll(".interactive")];

  // width, legend and colours of a chart follow the page; the caption shows its title
  function fitToPage(name, width) {
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

  async function draw(container) {
    const name = container.dataset.view || container.dataset.chart;
    const actions = { export: true, source: false, compiled: false, editor: false };
    const options = { renderer: "svg", actions, theme: undefined, tooltip: { theme: dark.matches ? "dark" : "light" } };
    try {
      await vegaEmbed(container, fitToPage(name, container.clientWidth), options);
      showNotes(container.closest("figure").querySelector(".notes"), specifications[name].title.subtitle);
      container.dataset.drawn = name;
    } catch (error) {
      console.error(`the chart ${name} cannot be drawn: ${error}`);
    }
  }

  // each view has its own notes, such as which curves its axis cuts off
  function showNotes(element, notes) {
    element.replaceChildren(...notes.map((note) => {
      const line = document.createElement("span");
      line.className = "note";
      line.textContent = note;
      return line;
    }));
  }

  async function drawAll() {
    for (const container of containers) await draw(container);
    document.documentElement.dataset.charts = document.querySelectorAll(".interactive[data-drawn]").length;
  }

  for (const button of document.querySelectorAll(".view")) {
    button.addEventListener("click", () => {
      const figure = button.closest("figure"), container = figure.querySelector(".interactive");
      const pressed = button.getAttribute("aria-pressed") !== "true";
      for (const other of figure.querySelectorAll(".view")) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", String(pressed));
      container.dataset.view = pressed ? button.dataset.chart : "";
      draw(container);
    });
  }
  addEventListener("beforeprint", () => {
    for (const collapsed of document.querySelectorAll("details")) collapsed.open = true;
  });
  dark.addEventListener("change", drawAll);
  document.documentElement.classList.add("charted");
  // drawing the charts moves the element that the URL points to, so scroll to it again
  drawAll().then(() => location.hash && document.getElementById(location.hash.slice(1))?.scrollIntoView());
})();
