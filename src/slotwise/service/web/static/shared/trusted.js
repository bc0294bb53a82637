// The one place that turns text into HTML. The text is a page of this service, in which all values are escaped.
const policy = window.trustedTypes?.createPolicy("slotwise", { createHTML: (html) => html });

/** Parse a page of this service. Its scripts do not run. */
export function parsePage(html) {
  return new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
}
