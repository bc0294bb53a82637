/**
 * A small shop in Express: one route shows the display that slotwise chooses, another one reports clicks.
 *
 * Start `slotwise serve --dev --store sqlite:///shop.db` and apply examples/shop.toml. Then run `npm install` and
 * `node express_site.js` in this folder.
 */

import express from "express";
import { Client } from "slotwise-client";
import { DEFAULT, links, page } from "./page.js";

const slotwise = new Client(process.env.SLOTWISE_URL ?? "http://127.0.0.1:8000");
const app = express();

app.get("/", async (request, response) => {
  const display = await slotwise.recommend("shop", { default: DEFAULT });
  response.send(page(links(display)));
});

app.post("/clicked", (request, response) => {
  slotwise.click(request.query.token, request.query.position); // does not wait for slotwise
  response.status(204).end();
});

const server = app.listen(Number(process.env.PORT ?? 5000), "127.0.0.1", () => {
  console.log(`Running on http://127.0.0.1:${server.address().port}`);
});
process.once("SIGTERM", () => server.close(() => slotwise.close())); // sends the last clicks
