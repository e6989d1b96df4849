import { expect, test } from "vitest";
import type { OffloadRefusal } from "../../api/schema";
import { helps } from "./refusal-helps";

const entry = (over: Partial<OffloadRefusal>) =>
  ({ volume: "v1", kind: "volume", deleted: false, host: "h1", detail: "", ...over }) as OffloadRefusal;

test("the host of a copy can be granted the other volume, once", () => {
  expect(helps({ code: "not-granted", entries: [entry({}), entry({})] })).toEqual([{ kind: "grant", host: "h1" }]);
  // An initiator of no host has nothing to grant to.
  expect(helps({ code: "not-granted", entries: [entry({ host: null })] })).toEqual([]);
});

test("frees without gain are followed by a reclaim, of volumes that exist", () => {
  const entries = [entry({}), entry({}), entry({ volume: "gone", deleted: true }), entry({ kind: "share" })];
  expect(helps({ code: "below-grain", entries })).toEqual([{ kind: "reclaim", volume: "v1" }]);
  expect(helps({ code: "aborted", entries })).toEqual([]);
});
