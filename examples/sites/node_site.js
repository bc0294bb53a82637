/**
 * A small shop in plain Node: it shows the display that slotwise chooses, and reports clicks.
 *
 * Start `slotwise serve --dev --store sqlite:///shop.db` and apply examples/shop.toml. Then run `npm install` and
 * `node node_site.js` in this folder.
 */

import { createServer } from "node:http";
import { Client } from "slotwise-client";
import { DEFAULT, links, page } from "./page.js";

const slotwise = new Client(process.env.SLOTWISE_URL ?? "http://127.0.0.1:8000");

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  if (request.method === "POST" && pathname === "/clicked") {
    slotwise.click(searchParams.get("token"), searchParams.get("position")); // does not wait for slotwise
    response.writeHead(204).end();
  } else {
    const display = await slotwise.recommend("shop", { default: DEFAULT });
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(page(links(display)));
  }
});

server.listen(Number(process.env.PORT ?? 5000), "127.0.0.1", () => {
  console.log(`Running on http://127.0.0.1:${server.address().port}`);
});
process.once("SIGTERM", () => server.close(() => slotwise.close())); // sends the last clicks
