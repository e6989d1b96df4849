import { expect, test } from "vitest";
import { parseOffset } from "./offset";

test("an offset is a size with a sign, in whole blocks", () => {
  expect([parseOffset(""), parseOffset("4K"), parseOffset(" -40G ")]).toEqual([0, 4096, -40 * 2 ** 30]);
  expect([parseOffset("100"), parseOffset("-"), parseOffset("--4K"), parseOffset("x")]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
