import { expect, test } from "vitest";
import type { Alert, Severity, Status } from "../api/schema";
import { isHere, PLACES } from "./places";
import { standing } from "./standing";

const alert = (severity: Severity, message: string): Alert => ({
  id: "",
  severity,
  message,
  code: "c",
  help: "",
  subject: "p0",
  since: "",
});
const status = (health: Status["health"], alerts: Alert[]) => ({ health, alerts }) as Status;

test("the worst alert is named first", () => {
  const both = standing(status("degraded", [alert("warning", "low"), alert("critical", "pool p0 is full.")]), false);
  expect(both).toMatchObject({ level: "critical", alerts: 2 });
  expect(both.sentence).toBe("The array serves. critical: pool p0 is full. And 1 more.");
});

test("green only when nothing is above info", () => {
  expect(standing(status("healthy", []), false)).toMatchObject({
    level: "good",
    sentence: "The array serves. Nothing needs attention.",
  });
  expect(standing(status("healthy", [alert("info", "x")]), false).level).toBe("good");
  expect(standing(status("degraded", []), false).level).toBe("warning");
  expect(standing(status("failed", []), false).sentence).toBe("The array does not serve. It is failed.");
});

test("an array that does not answer is not healthy", () => {
  expect(standing(status("healthy", []), true).level).toBe("unknown");
});

test("each path belongs to one place at most", () => {
  const places = (path: string) => PLACES.filter((place) => isHere(place, path)).map(({ name }) => name);
  expect(places("/")).toEqual(["Overview"]);
  expect(places("/volumes/db/space")).toEqual(["Volumes"]);
  expect(places("/sessions")).toEqual(["Hosts"]);
  expect(places("/activity/events")).toEqual(["Activity"]);
  expect(places("/no-such-page")).toEqual([]);
  expect(new Set(PLACES.map(({ key }) => key)).size).toBe(PLACES.length);
});
