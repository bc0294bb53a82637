/** The types of tracker.js, which defines `window.slotwise`. docs/tracker.md describes the attributes that it reads. */

export interface TrackedDisplay {
  id: string;
  token: string;
  page: string;
  layout: string;
  variant: string;
  items: { position: string; item: string; reason: string }[];
  left_out: string[];
  degraded: boolean;
  warming: boolean;
}

/** The fields of a recommendation that a web page may send. */
export interface TrackerRequest {
  id?: string;
  layout?: string;
  segment?: string;
  unit?: string;
  eligible?: string[];
  excluded?: string[];
  pinned?: Record<string, string>;
  most_per_category?: number;
}

/** None of these functions throws an exception, and none of their promises is rejected. */
export interface Tracker {
  /** Says whether the visitor agrees. Without consent, nothing is sent and nothing is kept to be sent later. */
  consent(given: boolean): void;
  /** Sends the events that wait, now. */
  flush(): void;
  /** Requests a display with the key of the script. It is null without an answer in time, and without consent. */
  recommend(page: string, fields?: TrackerRequest): Promise<TrackedDisplay | null>;
  /** Requests a display for an element with `data-slotwise-page`, and moves its items to their positions. */
  arrange(root: HTMLElement, fields?: TrackerRequest): Promise<TrackedDisplay | null>;
}

/** The same settings as the `data-` attributes of the script, for pages that cannot set these. */
export interface TrackerSettings {
  url?: string;
  key?: string;
  consent?: "required";
  respect?: "dnt" | "gpc" | "dnt gpc";
  timeout?: string;
  debug?: "";
}

declare global {
  interface Window {
    readonly slotwise?: Tracker;
    slotwiseSettings?: TrackerSettings;
  }
}
