import { expect, test } from "vitest";
import { hit, pagesNamed, searchPath } from "./search-hits";

test("each kind of object leads to its page", () => {
  const path = (kind: string, name: string) => hit({ kind, name, matched: name }).path;
  expect(path("volume", "a b")).toBe("/volumes/a%20b");
  expect(path("share", "vms")).toBe("/shares/vms");
  expect(path("host", "esx01")).toBe("/hosts/esx01");
  expect(path("host-group", "c&d")).toBe("/groups?group=c%26d");
  expect(path("snapshot", "db@monday")).toBe("/snapshots?q=db%40monday");
  expect(path("job", "17")).toBe("/activity/jobs");
});

test("what matched is shown where it is not the name", () => {
  expect(hit({ kind: "host", name: "esx01", matched: "esx01" }).matched).toBeUndefined();
  expect(hit({ kind: "host-group", name: "c", matched: "6025ab" })).toMatchObject({
    kind: "host group",
    matched: "6025ab",
  });
});

test("the text is sent without blanks around it", () => {
  expect(searchPath(" vm & co ")).toBe("/api/v1/search?q=vm+%26+co");
});

test("pages that begin with the text come first", () => {
  const pages = ["Offload", "Hosts", "Shares", "Space"].map((name) => ({ kind: "page", name, path: `/${name}` }));
  const names = (text: string) => pagesNamed(pages, text).map(({ name }) => name);
  expect(names(" S ")).toEqual(["Shares", "Space", "Hosts"]);
  expect(names("  ")).toEqual([]);
});
