// The last ten minutes of the array's activity, from /metrics, for all charts of the page.
//
// The page scrapes at an interval that follows what a scrape costs, so that watching takes at most a twentieth of the
// time of the thread that answers, on a large array too. It does not scrape while it is hidden. The array's
// stream of samples (/api/v1/live) and their history (/api/v1/history) are not read.

import { createRoot, createSignal } from "solid-js";
import { exchange } from "../api/client";
import { credentials, sessionEnded, signedIn } from "../session";
import { parse, type Scrape } from "./exposition";
import { type Sample, sample } from "./rates";

/** Length of the charts. */
export const WINDOW_MS = 600_000;
const SHORTEST_MS = 2_000;
const LONGEST_MS = 30_000;
/** Pause after a scrape, as a multiple of its duration. */
const PAUSE = 19;
/** Scrapes further apart than this many intervals leave a gap. */
const GAP = 3;

interface Window {
  /** Oldest first. `undefined` is a gap. */
  samples: (Sample | undefined)[];
}

const [window_, setWindow] = createRoot(() => createSignal<Window>({ samples: [] }));
let last: Scrape | undefined;
let intervalMs = SHORTEST_MS;

/** Samples of the last ten minutes, oldest first, with `undefined` for each gap. */
export const samples = (): (Sample | undefined)[] => window_().samples;

/** The newest sample; `undefined` before the second scrape, and when it is too old to be the present. */
export function latest(): Sample | undefined {
  const newest = samples().at(-1);
  return newest !== undefined && Date.now() - newest.at < LONGEST_MS * 2 ? newest : undefined;
}

/** Seconds between two samples. */
export const interval = (): number => window_().samples.at(-1)?.seconds ?? SHORTEST_MS / 1000;

async function scrape(): Promise<void> {
  const began = performance.now();
  const text = await exchange("GET", "/metrics", credentials());
  const present = parse(text, Date.now());
  const elapsedMs = performance.now() - began;
  const before = last;
  last = present;
  if (before !== undefined) {
    const gap = present.at - before.at > GAP * Math.max(intervalMs, SHORTEST_MS) + elapsedMs;
    // After a gap, the mean over it would be drawn as one point.
    add(gap ? undefined : sample(before, present), present.at);
  }
  // The second scrape comes soon, so that there is something to see.
  intervalMs = before === undefined ? SHORTEST_MS : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, elapsedMs * PAUSE));
}

function add(next: Sample | undefined, at: number): void {
  setWindow(({ samples: present }) => {
    const kept = present.filter((old) => old === undefined || at - old.at <= WINDOW_MS);
    while (kept.length > 0 && kept[0] === undefined) kept.shift();
    if (next === undefined && (kept.length === 0 || kept.at(-1) === undefined)) return { samples: kept };
    return { samples: [...kept, next] };
  });
}

async function run(): Promise<void> {
  for (;;) {
    if (signedIn() && !sessionEnded() && !document.hidden) {
      try {
        await scrape();
      } catch {
        // The shell says that the array does not answer; the charts show a gap.
        add(undefined, Date.now());
        last = undefined;
        intervalMs = SHORTEST_MS;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}

/** Starts to watch; once for the page. */
export function watch(): void {
  void run();
}

/** Drops all samples. */
export function forgetSamples(): void {
  last = undefined;
  setWindow({ samples: [] });
}
