// Undo a change of the history: do the opposite, unless the same thing was changed again.
import { call, itemPath, pagePath, pinPath, Refused } from "./http.js";

const ITEM = { state: "active", value: 1, category: null, prior: null, valid_from: null, valid_until: null, features: {} };
const PAGE = {
  mode: "learn", holdout: 0, default_order: [], learnt_share: 1, most_per_category: null, policy: "slot_ts",
};
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const changedAgain = () => new Refused(412, { detail: "it was changed again meanwhile, so it cannot be undone here" });

/** The change with this number, or the newest change of a subject after a number. */
export async function findChange(page, accepts) {
  const { json } = await call("GET", `${pagePath(page)}/history`);
  return json.changes.find(accepts) ?? null;
}

async function undoItem(page, change) {
  const path = itemPath(page, change.subject);
  const { json: now, etag } = await call("GET", path);
  if (change.before === null) {
    await call("PATCH", path, { body: { state: "retired" }, etag });
    return;
  }
  const body = {};
  for (const [field, value] of Object.entries(change.after)) {
    if (!same(now[field], value ?? ITEM[field])) throw changedAgain();
    body[field] = change.before[field] ?? null;
  }
  await call("PATCH", path, { body, etag });
}

function pinsOf(side) {
  return Object.entries(side ?? {}).flatMap(([layout, pins]) =>
    Object.entries(pins).map(([position, pin]) => [`${layout}/${position}`, { layout, position, pin }]),
  );
}

const pinBody = (pin) => (typeof pin === "string" ? { item: pin } : pin);

async function undoPins(page, change, known) {
  const [before, after] = [new Map(pinsOf(change.before.pins)), new Map(pinsOf(change.after.pins))];
  let { etag } = known;
  for (const [key, { layout, position, pin }] of after) {
    if (same(before.get(key)?.pin, pin)) continue;
    if (!same(pinBody(known.json.pins[layout]?.[position] ?? ""), pinBody(pin))) throw changedAgain();
    if (!before.has(key)) ({ etag } = await call("DELETE", pinPath(page, layout, position), { etag }));
  }
  for (const [key, { layout, position, pin }] of before) {
    if (same(after.get(key)?.pin, pin)) continue;
    ({ etag } = await call("PUT", pinPath(page, layout, position), { body: pinBody(pin), etag }));
  }
  return etag;
}

async function undoPage(page, change) {
  const known = await call("GET", pagePath(page));
  let { etag } = known;
  const body = {};
  for (const field of Object.keys(change.after).filter((name) => name !== "pins")) {
    if (!same(known.json[field], change.after[field] ?? PAGE[field])) throw changedAgain();
    body[field] = change.before[field] ?? PAGE[field];
  }
  if ("pins" in change.after) etag = await undoPins(page, change, known);
  if (Object.keys(body).length) await call("PATCH", pagePath(page), { body, etag });
}

/** Undo a change. Throws `Refused` if it was changed again. */
export async function undoChange(page, change) {
  await (change.action === "item" ? undoItem(page, change) : undoPage(page, change));
}
