import { expect, test } from "vitest";
import { collides, differences } from "./differences";

const SHOWN = { name: "v1", warn_percent: 80, mapped_bytes: 1, labels: {} };

test("fields of the change and those that others have changed are shown, and usage is not", () => {
  const now = { ...SHOWN, warn_percent: 90, labels: { tier: "gold" }, mapped_bytes: 7 };
  expect(differences(SHOWN, now, { name: "v2" }).map(({ field }) => field)).toEqual(["name", "warn_percent", "labels"]);
  expect(differences(SHOWN, now, { name: "v2" })[1]).toEqual({
    field: "warn_percent",
    before: 80,
    now: 90,
    wanted: undefined,
  });
});

test("a change collides with one of the same field alone", () => {
  const now = { ...SHOWN, warn_percent: 90, mapped_bytes: 7 };
  expect(collides(SHOWN, now, { name: "v2" })).toBe(false);
  expect(collides(SHOWN, now, { warn_percent: 70 })).toBe(true);
  expect(collides(SHOWN, SHOWN, { warn_percent: 70 })).toBe(false);
});
