// One resource that the stream sends whenever it changes, so that the page need not poll it.

import type { Accessor } from "solid-js";
import { answered, INTERVAL_MS, type Query, useQuery } from "../api/query";
import { connected, type LiveEvents, onLive, useTopics } from "./stream";

/** Interval without a stream, when the array has as many as it can. */
const ASKED_MS = 1000;

/**
 * Takes the events of a name for the resources at their paths; once for each module. What it returns shows the resource at a
 * path while the stream has the topic; without either, it shows nothing.
 */
export function followed<Name extends "connect" | "lab">(
  name: Name,
  pathOf: (data: LiveEvents[Name]) => string,
): (path: Accessor<string | undefined>, topic: Accessor<string | undefined>) => Query<LiveEvents[Name]> {
  onLive(name, (data) => answered(pathOf(data), data));
  return (path, topic) => {
    useTopics(() => [topic() ?? []].flat());
    return useQuery<LiveEvents[Name]>(path, () => (connected() ? INTERVAL_MS : ASKED_MS));
  };
}
