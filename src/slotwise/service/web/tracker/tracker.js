// Reports clicks and views of the displays on a web page to slotwise. docs/tracker.md describes it.
(() => {
  "use strict";
  if (window.slotwise) return; // the page loads this file twice
  const VIEW_TIME = 1000, VIEW_DELAY = 1000, RETRY_DELAY = 5000; // milliseconds
  const BATCH = 100; // events in a request: a browser sends at most 64 KB in the background
  const POSITION = "[data-slotwise-position]", ITEM = "[data-slotwise-item]", TOKEN = "[data-slotwise-token]";

  const script = document.currentScript;
  const settings = { ...(script && script.dataset), ...window.slotwiseSettings };
  const warn = (error) => "debug" in settings && console.warn("slotwise:", error);
  const safely = (work) => (...values) => {
    try {
      return work(...values);
    } catch (error) {
      warn(error);
    }
  };

  safely(() => {
    const service = settings.url ? settings.url.replace(/\/*$/, "/") : new URL(".", script.src).href;
    const refusals = (settings.respect || "").split(" ");
    let allowed = settings.consent !== "required";
    const active = () =>
      allowed &&
      !(refusals.includes("dnt") && navigator.doNotTrack === "1") &&
      !(refusals.includes("gpc") && navigator.globalPrivacyControl);

    const queue = []; // events to send
    const reported = new Set(); // each event is reported once
    let flushTimer = 0;

    const post = (body) =>
      fetch(service + "v1/events", { method: "POST", body, keepalive: true, mode: "no-cors", credentials: "omit" });

    const send = (body) => {
      try {
        if (navigator.sendBeacon(service + "v1/events", body)) return;
      } catch (error) {
        warn(error);
      }
      post(body).catch(() => setTimeout(() => post(body).catch(warn), RETRY_DELAY));
    };

    const flush = safely((event) => {
      clearTimeout(flushTimer);
      flushTimer = 0;
      if (!navigator.onLine && !(event && event.type === "pagehide")) return; // sent when the browser is online
      while (queue.length) send(JSON.stringify({ events: queue.splice(0, BATCH) }));
    });

    const report = (type, token, position) => {
      const name = [type, token, position].join(" ");
      if (!token || reported.has(name) || !active()) return;
      reported.add(name);
      queue.push({ type, token, position });
      if (type === "click") flush(); // now, because the click may leave the page
      else flushTimer = flushTimer || setTimeout(flush, VIEW_DELAY);
    };

    const tokenOf = (element) => {
      const holder = element.closest(TOKEN);
      return holder && holder.dataset.slotwiseToken;
    };

    const onClick = safely((event) => {
      if (event.type === "auxclick" && event.button !== 1) return; // the middle button opens a new tab
      const element = event.target.closest && event.target.closest(POSITION);
      if (element) report("click", tokenOf(element), element.dataset.slotwisePosition);
    });

    const visible = new Map(); // element -> the time since which half of it is visible
    let viewTimer = 0;

    const check = safely(() => {
      clearTimeout(viewTimer);
      const now = performance.now();
      let wait = Infinity;
      for (const [element, since] of document.hidden ? [] : visible) {
        if (now - since < VIEW_TIME) {
          wait = Math.min(wait, VIEW_TIME - (now - since));
        } else {
          visible.delete(element);
          report("view", tokenOf(element)); // of the display, so one position is enough
        }
      }
      if (wait < Infinity) viewTimer = setTimeout(check, wait);
    });

    const observer = (work, threshold) =>
      window.IntersectionObserver && new IntersectionObserver(safely(work), { threshold });

    const elements = observer((entries) => {
      const now = performance.now();
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) visible.set(target, now);
        else visible.delete(target);
      }
      check();
    }, 0.5);

    const track = (root) => {
      for (const element of [root, ...root.querySelectorAll(POSITION)]) {
        if (!element.matches(POSITION)) continue;
        elements.unobserve(element); // an element with a new token is viewed again
        elements.observe(element);
      }
    };

    // elements are observed when a part of their display is visible, because most of a long page is not
    const displays = observer((entries) => {
      for (const { target, isIntersecting, boundingClientRect } of entries) {
        if (!isIntersecting && boundingClientRect.height) continue;
        displays.unobserve(target);
        track(target);
      }
    });

    const onVisibility = safely(() => {
      if (document.hidden) return flush();
      const now = performance.now();
      for (const element of visible.keys()) visible.set(element, now); // the second begins again
      check();
    });

    const scan = (root) => {
      if (!elements || !root.querySelectorAll) return; // a text
      if (root.closest && root.closest(TOKEN)) track(root);
      else root.querySelectorAll(TOKEN).forEach((display) => displays.observe(display));
    };

    const mutations = new MutationObserver(
      safely((records) => {
        for (const { attributeName, target, addedNodes } of records) {
          if (attributeName) scan(target);
          else addedNodes.forEach(scan);
        }
      }),
    );

    const stop = () => {
      mutations.disconnect();
      if (elements) [elements, displays].forEach((watching) => watching.disconnect());
      visible.clear();
      queue.length = 0;
    };

    const recommend = async (page, fields = {}) => {
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), Number(settings.timeout) || 1000);
      try {
        if (!active()) return null;
        const headers = { "content-type": "application/json" };
        if (settings.key) headers.authorization = "Bearer " + settings.key;
        const path = `v1/pages/${encodeURIComponent(page)}/recommendations`;
        const request = { method: "POST", headers, body: JSON.stringify(fields), credentials: "omit" };
        const reply = await fetch(service + path, { ...request, signal: abort.signal });
        if (reply.ok) return await reply.json();
        warn(await reply.text());
      } catch (error) {
        warn(error);
      } finally {
        clearTimeout(timer);
      }
      return null;
    };

    const arrange = async (root, fields) => {
      try {
        const items = new Map([...root.querySelectorAll(ITEM)].map((found) => [found.dataset.slotwiseItem, found]));
        const display = await recommend(root.dataset.slotwisePage, { eligible: [...items.keys()], ...fields });
        if (!display) return null;
        const place = ({ position }) => root.querySelector(`[data-slotwise-position="${CSS.escape(position)}"]`);
        if (!display.items.every((placed) => place(placed) && items.has(placed.item)))
          throw new Error("the page lacks a position or an item");
        for (const placed of display.items) {
          const item = items.get(placed.item), mark = document.createComment("");
          const other = place(placed).querySelector(ITEM);
          item.replaceWith(mark); // the two items change places
          if (other) other.replaceWith(item);
          else place(placed).append(item);
          mark.replaceWith(other || "");
        }
        root.dataset.slotwiseToken = display.token; // from now on, its clicks and views are reported
        return display;
      } catch (error) {
        warn(error);
        return null;
      }
    };

    const begin = safely(() => {
      if (!active()) return;
      const attributeFilter = ["data-slotwise-token", "data-slotwise-position"];
      mutations.observe(document, { childList: true, subtree: true, attributeFilter });
      scan(document);
      document.querySelectorAll("[data-slotwise-page]:not([data-slotwise-token])").forEach((root) => arrange(root));
    });

    window.slotwise = Object.freeze({
      flush: () => flush(),
      recommend,
      arrange,
      consent: safely((given) => {
        if (given === allowed) return;
        allowed = given;
        if (given) begin();
        else stop();
      }),
    });

    document.addEventListener("click", onClick, true);
    document.addEventListener("auxclick", onClick, true);
    document.addEventListener("visibilitychange", onVisibility);
    addEventListener("pagehide", flush);
    addEventListener("online", flush);
    if (!allowed) return;
    if (document.prerendering) document.addEventListener("prerenderingchange", begin);
    else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
    else begin();
  })();
})();
