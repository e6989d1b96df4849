import { expect, test } from "vitest";
import { busiest } from "./busiest";
import type { Activity, Sample } from "./rates";

const activity = (reads: number, p99?: number): Activity => ({
  share: false,
  reads,
  writes: 0,
  readBytes: reads * 10,
  writtenBytes: 0,
  p50: p99,
  p99,
});
const sample = (at: number, volumes: Record<string, Activity>): Sample => ({
  at,
  seconds: 10,
  array: activity(0),
  network: 0,
  offload: 0,
  volumes: new Map(Object.entries(volumes)),
});

test("volumes are listed by their mean over the last minute, with the worst latency", () => {
  const samples = [
    sample(1000, { old: activity(9999) }),
    undefined,
    sample(90_000, { a: activity(10, 5), b: activity(100, 7) }),
    sample(100_000, { a: activity(30, 3) }),
  ];
  expect(busiest(samples, 100_000, 5)).toEqual([
    { name: "b", share: false, operations: 50, bytes: 500, p99: 7 },
    { name: "a", share: false, operations: 20, bytes: 200, p99: 5 },
  ]);
  expect(busiest(samples, 100_000, 1)).toHaveLength(1);
  expect(busiest([], 0, 5)).toEqual([]);
});
