import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { curl, curlLines, quoted, windlass, windlassLines } from "./shell-lines";

test("a shell reads each word as it was, whatever it holds", () => {
  for (const word of ["db", "it's", "a b", "$HOME", "`id`", "--", "", "ü\n;rm", "\\"]) {
    expect(execFileSync("sh", ["-c", `printf %s ${quoted(word)}`], { encoding: "utf8" })).toBe(word);
  }
});

test("plain words stay plain, and absent ones are left out", () => {
  expect(windlass("volume", "show", "win-dc1", undefined)).toBe("windlass volume show win-dc1");
  expect(windlass("volume", "show", "a b")).toBe("windlass volume show 'a b'");
});

test("a request has its method and body only if it has them", () => {
  expect(curl("https://a:8443", "GET", "/api/v1/volumes")).toBe(
    'curl --cacert cert.pem -H "Authorization: Bearer $WINDLASS_TOKEN" https://a:8443/api/v1/volumes',
  );
  expect(curl("https://a", "POST", "/x?y=1", { name: "it's" })).toContain(
    `-X POST -H 'Content-Type: application/json' -d '{"name":"it'\\''s"}' 'https://a/x?y=1'`,
  );
});

test("an action on several objects has a line for each", () => {
  const all = ["a", "b"].map((name) => ({ what: "delete", windlass: `windlass delete ${name}`, path: `/${name}` }));
  expect(windlassLines(all)).toBe("windlass delete a\nwindlass delete b");
  expect(curlLines("https://x", all).split("\n")).toEqual([
    curl("https://x", "GET", "/a"),
    curl("https://x", "GET", "/b"),
  ]);
  expect(windlassLines([{ what: "show", path: "/a" }])).toBe("");
});
