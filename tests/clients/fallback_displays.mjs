/** Reads requests as JSON and prints what the JavaScript client shows for each while the service is away. */

import { text } from "node:stream/consumers";
import { fallbackDisplay } from "../../clients/js/src/fallback.js";

const cases = JSON.parse(await text(process.stdin));
const displays = cases.map(({ fields, last }) => fallbackDisplay("shop", fields, last, "away"));
console.log(JSON.stringify(displays.map(({ layout, items, left_out, source }) => [layout, items, left_out, source])));
