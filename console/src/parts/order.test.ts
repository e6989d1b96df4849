import { expect, test } from "vitest";
import { orderOf, textOf } from "./order";

test("an order is read back from its text", () => {
  for (const order of [
    { key: "name", descending: false },
    { key: "size_bytes", descending: true },
  ]) {
    expect(orderOf(textOf(order), ["name", "size_bytes"])).toEqual(order);
  }
});

test("an order of a column that does not exist is none", () => {
  expect(orderOf("-other", ["name"])).toBeUndefined();
  expect(orderOf(undefined, ["name"])).toBeUndefined();
  expect(orderOf(["-name", "x"], ["name"])).toEqual({ key: "name", descending: true });
});
