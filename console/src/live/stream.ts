// The live stream of the tab (/api/v1/live): one connection, whatever the page shows.
//
// The page says which topics it needs, and the topics of the open stream follow. EventSource sends no token, so the
// stream is read with fetch. A tab that has been hidden for a minute closes it, and what it missed comes from the
// array's history.

import { type Accessor, createEffect, createRoot, createSignal, onCleanup } from "solid-js";
import { send, stream } from "../api/client";
import { heard, missed } from "../api/contact";
import { Refused } from "../api/failure";
import { api, withQuery } from "../api/paths";
import type {
  Alert,
  ConnectState,
  Event,
  Job,
  LabRun,
  LiveAlertEnded,
  LiveChange,
  LiveHello,
  LiveLagged,
  Sample,
} from "../api/schema";
import { credentials, refuse, sessionEnded, signedIn, signInNumber } from "../session";
import { eventReader } from "./server-events";

/** Data of each event. */
export interface LiveEvents {
  hello: LiveHello;
  sample: Sample;
  change: LiveChange;
  event: Event;
  job: Job;
  alert: Alert;
  "alert-ended": LiveAlertEnded;
  connect: ConnectState;
  lab: LabRun;
  lagged: LiveLagged;
}

/** Topics of every page: the bar shows the array, jobs and alerts, and lists follow changes. */
const ALWAYS = ["array", "changes", "jobs", "alerts"];
/** Most volumes and shares that a stream can have. */
const MOST_UNITS = 60;
/** Pause before the next attempt. */
const RETRY_MS = 2_000;
/** Pause after a refusal: the array has as many streams as it can. */
const REFUSED_MS = 15_000;
/** Pause before topics change, so that scrolling does not change them at each row. */
const TOPICS_MS = 300;
/** Time without anything after which the connection counts as lost; the array sends a comment every 15 s. */
const SILENCE_MS = 20_000;
/** Time for which a hidden page keeps its stream. */
const HIDDEN_MS = 60_000;

const listeners = new Map<string, Set<(data: never) => void>>();
const wanted = new Map<object, { topics: string[]; units: string[] }>();
const [number, setNumber] = createRoot(() => createSignal<number>());
let sentTopics = "";
let lastId: string | undefined;
let topicsTimer: ReturnType<typeof setTimeout> | undefined;

/** True while the stream is open. */
export const connected = (): boolean => number() !== undefined;

/** Calls a listener for each event of a name, as long as the page is there. */
export function onLive<Name extends keyof LiveEvents>(name: Name, listener: (data: LiveEvents[Name]) => void): void {
  const present = listeners.get(name) ?? new Set();
  listeners.set(name, present.add(listener));
}

/** Adds topics, and volumes and shares by id, to those of the stream while the owner shows them. */
export function useTopics(topics: string[] | Accessor<string[]>, units: Accessor<string[]> = () => []): void {
  const owner = {};
  createEffect(() => {
    wanted.set(owner, { topics: typeof topics === "function" ? topics() : topics, units: units() });
    changeTopics();
  });
  onCleanup(() => {
    wanted.delete(owner);
    changeTopics();
  });
}

/** All topics, as the array takes them. */
function topicsText(): string {
  const all = [...wanted.values()];
  const units = [...new Set(all.flatMap((of) => of.units))].slice(0, MOST_UNITS).toSorted();
  const topics = [...new Set([...ALWAYS, ...all.flatMap((of) => of.topics)])];
  return [...topics, ...(units.length > 0 ? [`volumes:${units.join(",")}`] : [])].join(" ");
}

function changeTopics(): void {
  clearTimeout(topicsTimer);
  topicsTimer = setTimeout(() => void sendTopics(), TOPICS_MS);
}

async function sendTopics(): Promise<void> {
  const [open, topics] = [number(), topicsText()];
  if (open === undefined || topics === sentTopics) return;
  sentTopics = topics;
  try {
    await send<void>("PUT", api("live", String(open), "topics"), { topics });
  } catch {
    // The stream has ended, and the next one begins with the present topics; or it is tried again with it.
    sentTopics = "";
    if (number() === open) setTimeout(changeTopics, RETRY_MS);
  }
}

function take(name: string, data: unknown): void {
  if (name === "hello") {
    setNumber((data as LiveHello).stream);
    changeTopics();
  }
  for (const listener of listeners.get(name) ?? []) listener(data as never);
}

/** Reads one stream to its end. */
async function follow(signal: AbortSignal): Promise<void> {
  const silent = new AbortController();
  const lost = () => {
    silent.abort();
    missed();
  };
  let timer = setTimeout(lost, SILENCE_MS);
  try {
    sentTopics = topicsText();
    const resume: Record<string, string> = lastId === undefined ? {} : { "Last-Event-ID": lastId };
    const path = withQuery(api("live"), { topics: sentTopics });
    const text = await stream(path, { ...credentials(), ...resume }, AbortSignal.any([signal, silent.signal]));
    const events = eventReader();
    for (;;) {
      const { done, value } = await text.read();
      if (done) return;
      heard();
      clearTimeout(timer);
      timer = setTimeout(lost, SILENCE_MS);
      for (const { name, data, id } of events(value)) {
        take(name, JSON.parse(data));
        // A stream goes on after what the page has taken.
        lastId = id ?? lastId;
      }
    }
  } finally {
    clearTimeout(timer);
    if (!signal.aborted) setNumber(undefined);
  }
}

/** Keeps a stream open until `signal`. */
async function keep(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const began = Date.now();
    const person = signInNumber();
    let pauseMs = RETRY_MS;
    try {
      await follow(signal);
    } catch (failure) {
      if (failure instanceof Refused) {
        if (failure.status === 401) refuse(person);
        pauseMs = REFUSED_MS;
      }
    }
    // A stream that was open for a while is followed by the next at once.
    if (Date.now() - began < pauseMs) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Begins to follow the array; once for the page. */
export function watch(): void {
  createRoot(() => {
    const [away, setAway] = createSignal(false);
    let hiding: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(hiding);
      if (document.hidden) hiding = setTimeout(() => setAway(true), HIDDEN_MS);
      else setAway(false);
    };
    document.addEventListener("visibilitychange", look);
    // A tab that is opened in the background gets no such event.
    look();
    createEffect(() => {
      if (!signedIn() || sessionEnded() || away()) return;
      const open = new AbortController();
      void keep(open.signal);
      onCleanup(() => {
        open.abort();
        setNumber(undefined);
      });
    });
    createEffect(() => {
      if (!signedIn()) lastId = undefined;
    });
  });
}
