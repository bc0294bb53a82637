/**
 * A small shop with a React component that the server renders: it shows the display that slotwise chooses.
 *
 * Start `slotwise serve --dev --store sqlite:///shop.db` and apply examples/shop.toml. Then run `npm install` and
 * `node react_site.js` in this folder. The code uses `createElement` instead of JSX, so that it needs no compiler.
 */

import { createServer } from "node:http";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { Client } from "slotwise-client";
import { DEFAULT, page } from "./page.js";

const slotwise = new Client(process.env.SLOTWISE_URL ?? "http://127.0.0.1:8000");

/** The display that the server has asked for. React escapes the names of items. */
function Shop({ display }) {
  return display.items.map(({ position, item }) =>
    createElement("a", { key: position, href: "#", "data-token": display.token, "data-position": position }, item),
  );
}

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  if (request.method === "POST" && pathname === "/clicked") {
    slotwise.click(searchParams.get("token"), searchParams.get("position")); // does not wait for slotwise
    response.writeHead(204).end();
  } else {
    const display = await slotwise.recommend("shop", { default: DEFAULT });
    const shop = renderToString(createElement(Shop, { display }));
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(page(shop));
  }
});

server.listen(Number(process.env.PORT ?? 5000), "127.0.0.1", () => {
  console.log(`Running on http://127.0.0.1:${server.address().port}`);
});
process.once("SIGTERM", () => server.close(() => slotwise.close())); // sends the last clicks
