import { expect, test } from "vitest";
import { ago, clock, duration, instant } from "./time";

const AT = Date.UTC(2026, 10, 23, 2, 3, 4);

test("times are in UTC with 24 hours", () => {
  expect(clock(AT + 12 * 3_600_000)).toBe("14:03:04");
  expect(instant(AT)).toBe("2026-11-23 02:03:04 UTC");
});

test("durations have their two largest units", () => {
  expect([0, 3, 60, 252, 3600, 3660, 90_061, 3_553_200].map(duration)).toEqual([
    "0 s",
    "3 s",
    "1 min",
    "4 min 12 s",
    "1 h",
    "1 h 1 min",
    "1 d 1 h",
    "41 d 3 h",
  ]);
});

test("how long ago has one unit, and small differences of clocks do not show", () => {
  expect([2, -30, 59, 250, 86_400 * 3].map((seconds) => ago(AT - seconds * 1000, AT))).toEqual([
    "just now",
    "just now",
    "59 s ago",
    "4 min ago",
    "3 d ago",
  ]);
});
