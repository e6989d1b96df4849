import { expect, test } from "vitest";
import { Refused } from "./failure";
import type { Problem, Volume } from "./schema";
import { arrange, partPath, partsOf, unsupported } from "./volume-query";

const volume = (name: string, size_bytes: number, naa = "60", unique_bytes: number | null = 0): Volume => ({
  name,
  size_bytes,
  naa,
  unique_bytes,
  id: name,
  serial: "s",
  luns: [],
  mapped_bytes: 0,
  snapshots: 0,
  write_cache: false,
  created: "2026-01-01T00:00:00Z",
});

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

test("loaded rows are filtered by name, NAA and serial, and sorted", () => {
  const rows = [volume("vm-10", 1), volume("vm-9", 2), volume("db", 3, "6025ABC", null)];
  const names = (text: string, key: "name" | "size_bytes" | "unique_bytes", descending: boolean) =>
    arrange(rows, { text, key, descending }).map(({ name }) => name);
  expect(names("", "name", false)).toEqual(["db", "vm-9", "vm-10"]);
  expect(names("VM", "size_bytes", true)).toEqual(["vm-9", "vm-10"]);
  expect(names("25abc", "name", false)).toEqual(["db"]);
  expect(names("", "unique_bytes", false)[0]).toBe("db");
});

test("only a refusal of the parameters makes the page sort by itself", () => {
  const refused = (status: number, code: string) =>
    new Refused(status, { status, code, detail: "", title: "", type: "" } satisfies Problem);
  expect(unsupported(refused(400, "invalid-request"))).toBe(true);
  expect(unsupported(refused(422, "invalid-request"))).toBe(false);
  expect(unsupported(refused(503, "busy"))).toBe(false);
  expect(unsupported(refused(400, "invalid-name"))).toBe(false);
  expect(unsupported(new Error("network"))).toBe(false);
});
