// What the server says about the page that is shown.
export const content = () => document.getElementById("live-content");

/** The page as data: its name, version, layouts, settings and items. */
export function pageData() {
  const element = document.getElementById("page-data");
  return element ? JSON.parse(element.value) : null;
}
