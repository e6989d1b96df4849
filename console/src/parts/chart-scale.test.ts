import { expect, test } from "vitest";
import { summary, ticks } from "./chart-scale";

test("axes begin at 0 and end above the largest value", () => {
  expect(ticks(8500, 4, 10)).toEqual([0, 5000, 10_000]);
  expect(ticks(100, 4, 10)).toEqual([0, 50, 100]);
  expect(ticks(0.7, 4, 10).at(-1)).toBeCloseTo(0.8, 9);
  expect(ticks(0, 4, 10)).toEqual([0, 1]);
  expect(ticks(Number.NaN, 4, 10)).toEqual([0, 1]);
});

test("ticks of bytes are powers of two", () => {
  const gibibyte = 2 ** 30;
  expect(ticks(3.1 * gibibyte, 4, 1024)).toEqual([0, gibibyte, 2 * gibibyte, 3 * gibibyte, 4 * gibibyte]);
  expect(ticks(1, 4, 1024)).toEqual([0, 1]);
});

test("a summary leaves gaps out, and the latest value may be one", () => {
  expect(summary([4, null, 2, 6])).toEqual({ latest: 6, max: 6, min: 2, average: 4 });
  expect(summary([4, null]).latest).toBeUndefined();
  expect(summary([null]).max).toBeUndefined();
});
