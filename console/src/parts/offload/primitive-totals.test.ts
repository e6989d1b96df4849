import { expect, test } from "vitest";
import type { OffloadRefusal, OffloadStatistics } from "../../api/schema";
import { total, totals } from "./primitive-totals";
import { groups } from "./refusal-groups";

const row = (volume: string, primitive: string, fast: number, slow: number): OffloadStatistics => ({
  volume,
  primitive,
  commands: fast + slow,
  ok: fast,
  refused: slow,
  errors: 0,
  miscompares: 0,
  bytes: 10,
  host_bytes_avoided: 5,
  cloned_bytes: 0,
  copied_bytes: 0,
  refusals: [],
  ineffective: [{ reason: "r", reason_code: "below-grain", count: 2 }],
  latency: {
    count: fast + slow,
    total_us: fast * 10 + slow * 1000,
    max_us: slow > 0 ? 1000 : 10,
    average_us: 0,
    p50_us: 0,
    p99_us: 0,
    histogram: [
      { upper_us: 16, count: fast },
      { upper_us: 1024, count: slow },
    ],
  },
});

test("rows of a primitive add up, and the percentile is that of all commands", () => {
  const both = total([row("a", "xcopy", 50, 0), row("b", "xcopy", 40, 10)]);
  expect(both).toMatchObject({
    commands: 100,
    ok: 90,
    refused: 10,
    noGain: 4,
    bytes: 20,
    keptOff: 10,
    maxUs: 1000,
    p99Us: 1000,
    totalUs: 10_900,
    averageUs: 109,
  });
  expect(total([row("a", "xcopy", 100, 0)]).p99Us).toBe(10);
  expect(total([])).toMatchObject({ commands: 0, averageUs: 0, p99Us: 0 });
});

test("each primitive has one sum", () => {
  const sums = totals([row("a", "ats", 1, 0), row("a", "zero", 2, 0), row("b", "ats", 3, 0)]);
  expect(sums.map(({ primitive, commands }) => [primitive, commands])).toEqual([
    ["ats", 4],
    ["zero", 2],
  ]);
});

test("refusals are grouped by primitive, ending and reason, the most frequent first", () => {
  const entry = (sequence: number, reason_code: string, volume: string, host: string | null): OffloadRefusal => ({
    sequence,
    reason_code,
    volume,
    host,
    primitive: "unmap",
    reason: reason_code,
    detail: "",
    initiator: "iqn.x",
    time: `2026-01-01T00:00:0${sequence}Z`,
  });
  const holder = { initiator: "iqn.y", host: null, reservation_type: "write-exclusive" as const, key: "0x1" };
  const found = groups([
    { ...entry(1, "not-granted", "a", "h1"), holder: { ...holder, host: "h2" } },
    entry(2, "below-grain", "a", null),
    { ...entry(3, "below-grain", "b", "h1"), count: 40, holder },
  ]);
  expect(found.map(({ code, count, holders }) => [code, count, holders])).toEqual([
    ["below-grain", 41, ["iqn.y"]],
    ["not-granted", 1, ["h2"]],
  ]);
  expect(found[0]).toMatchObject({
    hosts: ["h1", "iqn.x"],
    volumes: ["b", "a"],
    last: "2026-01-01T00:00:03Z",
    ending: "refused",
  });
});
