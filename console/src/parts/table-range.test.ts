import { expect, test } from "vitest";
import { ordered, rowsInView } from "./table-range";

test("only rows near the screen are in the page", () => {
  expect(rowsInView(0, 400, 40, 5000)).toEqual({ first: 0, end: 20 });
  expect(rowsInView(4000, 400, 40, 5000)).toEqual({ first: 90, end: 120 });
  expect(rowsInView(200_000, 400, 40, 5000).end).toBe(5000);
  expect(rowsInView(4000, 400, 40, 3)).toEqual({ first: 0, end: 3 });
  expect(rowsInView(0, 400, 40, 0)).toEqual({ first: 0, end: 0 });
});

test("numbers in names sort as numbers, and equal rows stay", () => {
  const rows = ["vm-10", "vm-9", "VM-9"].map((name, index) => ({ name, index }));
  expect(ordered(rows, ({ name }) => name, false).map(({ index }) => index)).toEqual([1, 2, 0]);
  expect(ordered(rows, () => 1, true).map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(ordered(rows, ({ index }) => index, true).map(({ index }) => index)).toEqual([2, 1, 0]);
});
