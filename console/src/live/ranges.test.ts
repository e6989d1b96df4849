import { expect, test } from "vitest";
import { chosenRange, LIVE, RANGES, rangeOf, spanOf, timeOf } from "./ranges";

test("an address names a range, and is live without one", () => {
  expect(rangeOf("7d").seconds).toBe(604_800);
  for (const word of [undefined, "", "10m", "a year", ["1h", "7d"]]) expect(rangeOf(word)).toBe(LIVE);
});

test("a span moves only when the history is read again", () => {
  for (const range of RANGES.filter(({ every }) => every > 0)) {
    const [from, to] = spanOf(range, 1_800_000_000_000);
    expect(to - from).toBe(range.seconds);
    expect(spanOf(range, (to + range.every) * 1000 - 1)).toEqual([from, to]);
    expect(spanOf(range, (to + range.every) * 1000)).toEqual([from + range.every, to + range.every]);
  }
});

test("a chosen range is its own word, and does not move", () => {
  const range = chosenRange(timeOf("2026-11-23T10:15"), timeOf("2026-11-23T12:00"));
  expect(range?.key).toBe("2026-11-23T10:15..2026-11-23T12:00");
  expect(rangeOf(range?.key)).toEqual(range);
  expect(spanOf(rangeOf(range?.key), 0)).toEqual([1_795_428_900, 1_795_435_200]);
  expect(range?.seconds).toBe(6300);
});

test("what is no range is live", () => {
  for (const word of [
    "2026-11-23T12:00..2026-11-23T10:15",
    "2026-11-23T12:00..",
    "..",
    "a..b",
    "2026-11-23..2026-11-24",
  ])
    expect(rangeOf(word)).toBe(LIVE);
  expect(chosenRange(5, 5)).toBeUndefined();
  expect(chosenRange(Number.NaN, 5)).toBeUndefined();
});
