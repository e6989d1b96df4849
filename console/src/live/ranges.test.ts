import { expect, test } from "vitest";
import { LIVE, RANGES, rangeOf, spanOf } from "./ranges";

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
