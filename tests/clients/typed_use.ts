// The types of the JavaScript client and of tracker.js. The compiler checks this file; lines with @ts-expect-error must not compile.

import { Client, RequestRefused, type Display, type EventOutcome, type Options } from "slotwise-client";
import * as openTelemetry from "@opentelemetry/api";
import type { TrackedDisplay } from "TRACKER";

const lost: EventOutcome[] = [];
const options: Options = { timeoutMs: 100, openTelemetry, onOutcome: (outcome) => void (outcome.status === "dropped" && lost.push(outcome)) };
const client = new Client("http://127.0.0.1:8000", options);
const display: Display = await client.recommend("shop", { pinned: { hero: "hat" }, default: { positions: ["hero"], items: ["hat"] } });
client.click(display, "hero");
client.click(display.token, display.items[0].position);
client.addEvents([{ type: "discard", display: display.id }]);
const dropped: number = client.outcomes.dropped ?? 0;
const isEmpty: boolean = await client.flush(dropped);
const status: number | undefined = new RequestRefused("").status;
console.log(isEmpty, status);

// @ts-expect-error: there is no such option
new Client("http://127.0.0.1:8000", { timeout: 1 });
// @ts-expect-error: a click has a position
client.click(display);
// @ts-expect-error: there is no such type of event
client.addEvents([{ type: "clack", display: "d" }]);

const shown: Promise<TrackedDisplay | null> | undefined = window.slotwise?.recommend("shop", { unit: "visitor 7" });
window.slotwise?.consent((await shown) !== null);
window.slotwiseSettings = { url: "https://slotwise.example", consent: "required" };
// @ts-expect-error: the name of a page is a text
window.slotwise?.recommend(7);
