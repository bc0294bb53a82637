// Numbers and times in the locale of the reader. The server sends them in English, so a page without scripts is whole.
const locales = navigator.languages?.length ? [...navigator.languages] : undefined;
const number = (options) => new Intl.NumberFormat(locales, options);
const percent = [0, 1, 2].map((digits) =>
  number({ style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits }),
);
const formats = {
  integer: number({ maximumFractionDigits: 0 }),
  decimal: number({ maximumSignificantDigits: 4 }),
  "gain-0": number({ style: "percent", maximumFractionDigits: 0, signDisplay: "exceptZero" }),
  "gain-1": number({ style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay: "exceptZero" }),
  seconds: { format: (value) => secondsAgo.format(-value, "second") },
  "percent-0": percent[0],
  "percent-1": percent[1],
  "percent-2": percent[2],
};
const relative = new Intl.RelativeTimeFormat(locales, { numeric: "auto" });
const secondsAgo = new Intl.RelativeTimeFormat(locales, { numeric: "always" });
const moment = new Intl.DateTimeFormat(locales, { dateStyle: "medium", timeStyle: "short" });
const axis = {
  hour: new Intl.DateTimeFormat(locales, { weekday: "short", hour: "2-digit", minute: "2-digit" }),
  day: new Intl.DateTimeFormat(locales, { month: "short", day: "numeric" }),
};
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];

function ago(date) {
  const seconds = (date - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return relative.format(Math.min(Math.trunc(seconds / size), 0), unit);
}

const write = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

/** Write all numbers and times below an element in the locale of the reader. */
export function localize(root) {
  for (const element of root.querySelectorAll("data[data-number]")) {
    write(element, formats[element.dataset.number].format(Number(element.value)));
  }
  for (const element of root.querySelectorAll("time[data-time]")) {
    const date = new Date(element.dateTime);
    if (element.dataset.time === "moment") {
      write(element, moment.format(date));
    } else {
      write(element, ago(date));
      element.title = moment.format(date);
    }
  }
  for (const element of root.querySelectorAll("text[data-seconds]")) {
    write(element, axis[element.dataset.time].format(new Date(1000 * element.dataset.seconds)));
  }
}
