import { expect, test } from "vitest";
import { isAbout, isWhole } from "./announced";

test("an announcement is about the resources that show its object", () => {
  expect(isAbout("volume", "/api/v1/volumes?limit=100&sort=name")).toBe(true);
  expect(isAbout("volume", "/api/v1/volumes/db/space")).toBe(true);
  expect(isAbout("access", "/api/v1/hosts/pve1")).toBe(true);
  expect(isAbout("volume", "/api/v1/events?limit=6")).toBe(false);
  expect(isAbout("host", "/api/v1/host-groups")).toBe(true);
  expect(isAbout("weather", "/api/v1/volumes")).toBe(false);
});

test("a list of objects is whole, and what hosts change is not", () => {
  expect(isWhole("/api/v1/volumes?limit=100")).toBe(true);
  expect(isWhole("/api/v1/jobs")).toBe(true);
  expect(isWhole("/api/v1/volumes/db")).toBe(false);
  expect(isWhole("/api/v1/sessions")).toBe(false);
  expect(isWhole("/api/v1/system")).toBe(false);
});
