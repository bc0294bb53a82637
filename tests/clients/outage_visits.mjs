/**
 * Visits to a page while its service is killed and restarted. The arguments are a URL, a page and a number of displays.
 * It prints a line when all displays are issued, waits for a line on its input, clicks 100 times a second, and then
 * prints the outcomes as JSON.
 */

import { once } from "node:events";
import { Client } from "../../clients/js/src/index.js";

const RATE = 100; // events per second
const HANG = 300_000;
const POSITIONS = ["hero", "left", "right"];
const DEFAULT = { positions: POSITIONS, items: ["hat", "tie", "bag", "belt", "sock"] };

const [url, page, number] = process.argv.slice(2);
// many small batches, so that the end of the service interrupts some; a long pause would only prolong the test
const client = new Client(url, {
  timeoutMs: 200,
  flushMs: 50,
  longestBackoffMs: 1000,
  eventTimeoutMs: HANG,
  discardUnanswered: false,
});
const displays = [];
while (displays.length < Number(number)) displays.push(await client.recommend(page, { timeoutMs: HANG, default: DEFAULT }));
console.log("issued");
await once(process.stdin, "data");
process.stdin.destroy();

const sources = new Set();
let longest = 0;
let index = 0;
const began = performance.now();
for (const display of displays) {
  for (const position of POSITIONS) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + (index / RATE) * 1000 - performance.now())));
    client.click(display, position);
    if (index++ % RATE === 0) {
      const asked = performance.now();
      sources.add((await client.recommend(`${page}-other`, { default: DEFAULT })).source);
      longest = Math.max(longest, performance.now() - asked);
    }
  }
}
await client.flush(HANG);
console.log(JSON.stringify({ outcomes: client.outcomes, longest_wait: longest / 1000, sources: [...sources].sort() }));
