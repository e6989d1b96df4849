import { expect, test } from "vitest";
import { partPath, partsOf, steer } from "./volume-query";

test("a part is asked for with order, filter and position", () => {
  const query = { text: " vm & co ", key: "size_bytes", descending: true } as const;
  expect(partPath(query, 3)).toBe("/api/v1/volumes?limit=100&offset=300&sort=-size_bytes&q=vm+%26+co");
  expect(partPath({ text: " ", key: "name", descending: false }, 0)).toBe(
    "/api/v1/volumes?limit=100&offset=0&sort=name",
  );
});

test("the parts of a view are those that it touches", () => {
  expect(partsOf(0, 40)).toEqual([0]);
  expect(partsOf(95, 101)).toEqual([0, 1]);
  expect(partsOf(100, 200)).toEqual([1]);
  expect(partsOf(0, 0)).toEqual([0]);
});

test("a part is asked for once, and not any more when it is out of view", () => {
  const loaded = (part: number) => part === 4;
  expect(steer([4, 5, 6], loaded, [5, 1, 2])).toEqual({ begin: [6], abort: [1, 2] });
  expect(steer([4], loaded, [])).toEqual({ begin: [], abort: [] });
});
