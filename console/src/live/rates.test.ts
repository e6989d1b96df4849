import { expect, test } from "vitest";
import { BOUNDS_US, type Counters, type Scrape } from "./exposition";
import { quantile, sample } from "./rates";

const buckets = (counts: Record<number, number>) => BOUNDS_US.map((_, index) => counts[index] ?? 0);
const counters = (reads: number, counts: Record<number, number> = {}): Counters => ({
  share: false,
  reads,
  writes: 0,
  readBytes: reads * 4096,
  writtenBytes: 0,
  buckets: buckets(counts),
});
const scrape = (at: number, volumes: Record<string, Counters>, network = 0, offload = 0): Scrape => ({
  at,
  volumes: new Map(Object.entries(volumes)),
  networkBytes: network,
  offloadBytes: offload,
});

test("a quantile lies within its bucket", () => {
  expect(quantile(buckets({ 1: 100 }), 0.5)).toBe(24);
  expect(quantile(buckets({ 0: 99, 3: 1 }), 0.99)).toBe(16);
  expect(quantile(buckets({ 0: 98, 3: 2 }), 0.99)).toBe(96);
  expect(quantile(buckets({}), 0.5)).toBeUndefined();
  expect(quantile(buckets({ 20: 1 }), 0.5)).toBe(BOUNDS_US[19]);
});

test("activity is what happened between two scrapes, a second", () => {
  const before = scrape(1000, { db: counters(10, { 0: 10 }) }, 100, 0);
  const after = scrape(3000, { db: counters(30, { 0: 10, 1: 20 }), idle: counters(0) }, 1100, 4000);
  const { array, network, offload, volumes, seconds } = sample(before, after);
  expect(seconds).toBe(2);
  expect([array.reads, array.readBytes, array.p50, network, offload]).toEqual([10, 40_960, 24, 500, 2000]);
  expect([...volumes.keys()]).toEqual(["db"]);
});

test("after a restart of the array, counters begin at 0 again and no rate is negative", () => {
  const { array, network } = sample(scrape(0, { db: counters(1000) }, 9999), scrape(1000, { db: counters(4) }, 10));
  expect([array.reads, network]).toEqual([4, 0]);
});

test("an idle array has no latency, instead of 0", () => {
  const { array } = sample(scrape(0, { db: counters(5) }), scrape(1000, { db: counters(5) }));
  expect([array.reads, array.p50, array.p99]).toEqual([0, undefined, undefined]);
});
