// The dashboard: what the server drew comes alive. Without scripts the pages can still be read.
import { localize } from "../shared/numbers.js";
import { startActions } from "./actions.js";
import { startLive, visit } from "./live.js";
import { startTable } from "./item_table.js";

document.documentElement.classList.add("has-script");
localize(document);
startTable(visit);
startActions();
startLive();
setInterval(() => localize(document), 30_000); // "3 minutes ago" grows
