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

test("a reservation that is in the way can be cleared, on each volume that has one", () => {
  const held = (volume: string | null, initiator = "other") => ({
    initiator,
    host: null,
    volume,
    reservation_type: "write-exclusive" as const,
    key: null,
  });
  const entries = [
    entry({ holder: held("v1") }),
    // Of a copy the source, of which the entry has no name else.
    entry({ volume: "v3", primitive: "xcopy", holder: held("v2") }),
    entry({ volume: "gone", deleted: true, holder: held(null) }),
    // The host itself, over a path that is not registered.
    entry({ volume: "v4", initiator: "own", holder: held("v4", "own") }),
    entry({ volume: "v5" }),
  ];
  expect(helps({ code: "reserved-by-another", entries })).toEqual([
    { kind: "clear", volume: "v1" },
    { kind: "clear", volume: "v2" },
  ]);
});
