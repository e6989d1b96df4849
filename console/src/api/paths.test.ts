import { expect, test } from "vitest";
import { api, withQuery } from "./paths";

test("parameters join those that a path has, and absent ones are left out", () => {
  expect(withQuery("/a", {})).toBe("/a");
  expect(withQuery("/a", { b: "c d", e: undefined, f: "" })).toBe("/a?b=c+d");
  expect(withQuery("/a?host=any", { limit: 9 })).toBe("/a?host=any&limit=9");
});

test("each segment is encoded", () => {
  expect(api("access", "db", "group:a/b")).toBe("/api/v1/access/db/group%3Aa%2Fb");
});
