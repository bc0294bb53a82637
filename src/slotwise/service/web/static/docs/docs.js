// Try calls of the HTTP interface from its page, and search for calls.
const MOST_SHOWN = 100_000; // characters of an answer
const find = (id) => document.getElementById(id);
const key = find("key"); // absent without keys

/** The request that a form describes. */
function requestOf(form) {
  const { method, path, type } = form.dataset, headers = {}, query = new URLSearchParams();
  let address = path;
  for (const { name, value, dataset } of form.querySelectorAll("[data-where]")) {
    if (dataset.where === "path") address = address.replace(`{${name}}`, encodeURIComponent(value));
    else if (value && dataset.where === "query") query.set(name, value);
    else if (value) headers[name] = value;
  }
  if (type) headers["content-type"] = type;
  if (key?.value) headers.authorization = `Bearer ${key.value}`;
  const body = type ? form.querySelector(".body").value : undefined;
  return { method, address: address + (query.size ? `?${query}` : ""), headers, body };
}

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

async function send(form) {
  const { method, address, headers, body } = requestOf(form), answer = form.querySelector(".answer");
  const started = performance.now();
  answer.hidden = false;
  try {
    const reply = await fetch(address, { method, headers, body, credentials: "omit" });
    const text = await reply.text(), milliseconds = Math.round(performance.now() - started);
    const good = reply.ok ? "badge-good" : "badge-bad";
    const line = element("p", "row small", "");
    line.append(element("span", `badge ${good}`, `${reply.status}`), element("span", "muted", `${milliseconds} ms`));
    for (const name of ["etag", "retry-after", "location"]) {
      if (reply.headers.has(name)) line.append(element("code", "", `${name}: ${reply.headers.get(name)}`));
    }
    answer.replaceChildren(line);
    if (text) answer.append(shown(text, reply.headers.get("content-type") ?? ""));
  } catch {
    answer.replaceChildren(element("p", "notice notice-bad", "The service does not answer."));
  }
}

function shown(text, type) {
  let pretty = text;
  if (type.includes("json") && !type.includes("ndjson")) pretty = JSON.stringify(JSON.parse(text), null, 2);
  const cut = pretty.length > MOST_SHOWN ? `${pretty.slice(0, MOST_SHOWN)}\n… ${pretty.length - MOST_SHOWN} more characters` : pretty;
  const made = element("pre", "", cut);
  made.tabIndex = 0;
  return made;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The request as a command for a shell. The key is not in it. */
function curlOf(form) {
  const { method, address, headers, body } = requestOf(form), words = ["curl", "-X", method, quoted(location.origin + address)];
  for (const [name, value] of Object.entries(headers)) {
    words.push("-H", name === "authorization" ? '"Authorization: Bearer $SLOTWISE_KEY"' : quoted(`${name}: ${value}`));
  }
  if (body !== undefined) words.push("--data-binary", quoted(body));
  return words.join(" ");
}

for (const form of document.querySelectorAll(".try")) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.querySelector(".copy").addEventListener("click", async () => {
    const said = form.querySelector(".copied"), command = curlOf(form);
    try {
      await navigator.clipboard.writeText(command);
      said.textContent = "copied";
    } catch {
      said.textContent = command; // the browser does not allow it: the command can be selected here
    }
  });
}

find("search").addEventListener("input", ({ target }) => {
  const words = target.value.toLowerCase().split(/\s+/);
  for (const call of document.querySelectorAll(".call")) {
    const text = call.querySelector("summary").textContent.toLowerCase();
    call.hidden = !words.every((word) => text.includes(word));
  }
  for (const section of document.querySelectorAll(".calls")) {
    section.hidden = !section.querySelector(".call:not([hidden])");
  }
  find("nothing").hidden = !!document.querySelector(".call:not([hidden])");
});

/** Open the call that the address names. */
function openNamed() {
  const named = location.hash && find(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) named.open = true;
}

addEventListener("hashchange", openNamed);
openNamed();
