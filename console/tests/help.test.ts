// What helps: codes, their pages and the ways to them from what went wrong; the examination of the array.

import { execFile } from "node:child_process";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { program, started } from "./browser";

const { array, browser } = started();
let page: Page;

beforeAll(async () => {
  page = await browser.open({ width: 1280, height: 800, colorScheme: "light", signedIn: true });
});

/** Runs a tool of a host; its status. */
const host = (tool: string, ...words: string[]): Promise<number> =>
  new Promise((resolve) => {
    execFile(tool, words, { timeout: 20_000 }, (error) => resolve(error === null ? 0 : Number(error.code)));
  });

test("codes are filtered by kind and by words, and each has its page", async () => {
  await page.goto(`${array.url}/codes`);
  await page.getByLabel("Kind").selectOption("alert");
  await page.getByRole("link", { name: "pool-threshold" }).waitFor();
  expect(await page.getByRole("link", { name: "volume-created" }).count()).toBe(0);
  await page.getByLabel("Filter codes").fill("stopped");
  await page.getByRole("link", { name: "pool-stopped" }).click();
  // A problem, a reason of the offload log, an alert and an event have this name.
  await page.getByRole("heading", { name: "As alert" }).waitFor();
  expect(await page.getByRole("heading", { level: 2, name: /^As / }).count()).toBe(4);
  await page.getByText("windlass pool check FILE").first().waitFor();
});

test("sense data has a page, as hosts log it", async () => {
  await page.goto(`${array.url}/codes/0x5%200x26%200x0`);
  await page.getByText("ILLEGAL REQUEST, invalid field in parameter list").waitFor();
  await page.goto(`${array.url}/codes/05%2F26%2F00`);
  await page.getByText("ILLEGAL REQUEST, invalid field in parameter list").waitFor();
});

test("a failure leads to the page of its code", async () => {
  await page.goto(`${array.url}/volumes/nothing`);
  await page.getByRole("alert").getByRole("link", { name: "not-found" }).click();
  await page.getByText("There is no such object.").waitFor();
  await page.goto(`${array.url}/codes/no-such-code`);
  await page.getByText("there is no code no-such-code").waitFor();
});

test("a refused command of a host stands beside what helps", async () => {
  expect((await array.run("volume", "create", "db", "--size", "64M", "-q")).status).toBe(0);
  expect((await array.run("access", "grant", "db", "--any", "-q")).status).toBe(0);
  const shown = await array.run("volume", "show", "db", "-o", "json");
  const url = (JSON.parse(shown.output) as { luns: { iscsi_url: string }[] }).luns[0]?.iscsi_url ?? "";
  expect(await host("iscsi-swp", "--swp=on", url)).toBe(0);
  expect(await host(program, "disk", "zero", url, "--yes")).not.toBe(0);
  await page.goto(`${array.url}/offload/refusals`);
  await page.getByText("what helps").first().click();
  await page.getByText("A host has set the write protection of the volume.").waitFor();
  await page.getByText("iscsi-swp --swp=off URL").waitFor();
  expect(browser.complaints).toEqual([]);
});

test("settings show what the array finds when it looks at itself", async () => {
  await page.goto(`${array.url}/settings`);
  await page.getByText("nobody can sign in as an administrator").waitFor();
  await page.getByText("checks found nothing").click();
  await page.getByText("only the array has access to its keys, its tokens and the file of its pool").waitFor();
  expect(browser.complaints).toEqual([]);
});
