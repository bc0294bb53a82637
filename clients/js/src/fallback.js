/** What a page shows while the service is away: its last good display, then the default order of the caller. */

const MOST_KEPT = 1000; // pages x layouts x segments

/** The newest display for each page, layout and segment, except those of the holdout, whose order may be random. */
export class LastGoodDisplays {
  #kept = new Map();

  constructor(ms, clock = () => performance.now()) {
    this.ms = ms;
    this.clock = clock;
  }

  keep(page, fields, display) {
    if (display.variant === "holdout") return;
    const key = keyOf(page, fields);
    this.#kept.delete(key); // so that the key moves to the end
    this.#kept.set(key, { at: this.clock(), display });
    if (this.#kept.size > MOST_KEPT) this.#kept.delete(this.#kept.keys().next().value);
  }

  find(page, fields) {
    const kept = this.#kept.get(keyOf(page, fields));
    return kept && this.clock() - kept.at <= this.ms ? kept.display : null;
  }
}

const keyOf = (page, { layout = null, segment = null }) => JSON.stringify([page, layout, segment]);

/**
 * A display without the service. It respects `excluded`, `pinned` and `eligible` of the request, in this order. Items of
 * the last good display stay at their positions. The default order fills the positions that are left, and then items that
 * are known to be eligible do.
 */
export function fallbackDisplay(page, fields, lastGood, error) {
  const { default: preset, pinned } = fields;
  const eligible = fields.eligible ?? null;
  const excluded = new Set(fields.excluded ?? []);
  const positions = preset?.positions?.length ? preset.positions : positionsOf(lastGood);
  const shown = lastGood?.items ?? [];
  const at = new Map();
  const isFree = (item) => ![...at.values()].some((row) => row.item === item);
  const mayShow = (item) => !excluded.has(item) && (eligible === null || eligible.includes(item)) && isFree(item);
  const place = (position, item, reason) => at.set(position, { position, item, reason });

  for (const position of positions) {
    const item = pinned?.[position];
    if (item !== undefined && !excluded.has(item)) place(position, item, "pinned");
  }
  for (const { position, item } of shown) {
    if (positions.includes(position) && !at.has(position) && mayShow(item)) place(position, item, "last_good");
  }
  const candidates = [...(preset?.items ?? []), ...shown.map((row) => row.item), ...(eligible ?? [])];
  for (const position of positions) {
    if (at.has(position)) continue;
    const item = candidates.find(mayShow);
    if (item !== undefined) place(position, item, "default");
  }
  return {
    page,
    layout: lastGood?.layout ?? fields.layout ?? "",
    items: positions.filter((position) => at.has(position)).map((position) => at.get(position)),
    left_out: positions.filter((position) => !at.has(position)),
    id: "",
    token: "",
    variant: "",
    degraded: false,
    warming: false,
    source: [...at.values()].some((row) => row.reason === "last_good") ? "last_good" : "default",
    error,
  };
}

const positionsOf = (display) => (display ? [...display.items.map((row) => row.position), ...display.left_out] : []);
