// What helps: codes, their pages and the ways to them from what went wrong; the examination of the array.

import { execFile } from "node:child_process";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { program, started } from "./browser";
import { extendedCopy, Initiator } from "./initiator";

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
  // A problem, a reason of the offload log, an alert, an event and a warning have this name.
  await page.getByRole("heading", { name: "As alert" }).waitFor();
  expect(await page.getByRole("heading", { level: 2, name: /^As / }).count()).toBe(5);
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

test("a copy is refused for want of a grant, which the page makes; the next one is marked as working", async () => {
  const iqn = "iqn.1998-01.com.vmware:esx07";
  expect((await array.run("host", "create", "esx07", "--iqn", iqn)).status).toBe(0);
  for (const volume of ["tmpl", "clone"]) {
    expect((await array.run("volume", "create", volume, "--size", "64M", "-q")).status).toBe(0);
  }
  expect((await array.run("access", "grant", "clone", "--host", "esx07", "-q")).status).toBe(0);
  const read = async (...words: string[]) => JSON.parse((await array.run(...words, "-o", "json")).output);
  const [portal]: { advertised: string; target: string }[] = await read("portal", "list");
  const [source, destination] = [await read("volume", "show", "tmpl"), await read("volume", "show", "clone")];
  const copy = extendedCopy(source.naa, destination.naa, 2048);
  const initiator = await Initiator.login(portal?.advertised ?? "", portal?.target ?? "", iqn);
  try {
    // The copy target device is not reachable.
    expect((await initiator.execute(destination.luns[0].lun, copy.cdb, copy.data)).sense).toBe("a/0d/02");
    await page.goto(`${array.url}/hosts`);
    const row = page.locator("[data-row]", { hasText: "esx07" });
    await row.locator("[title^='Clone: refused']").waitFor();
    await page.goto(`${array.url}/offload/refusals`);
    const group = page.locator("details", { hasText: "Grant both source and destination to the host that copies" });
    await group.getByText("what helps").click();
    await group.getByText("from esx07: ").waitFor();
    await page.getByRole("button", { name: "Grant esx07 the other volume…" }).click();
    await page.locator("dialog li", { hasText: "tmpl" }).getByRole("button", { name: "Grant…" }).click();
    await page.locator("dialog footer").getByRole("button", { name: "Grant access", exact: true }).click();
    await page.locator("dialog[open]").waitFor({ state: "detached" });
    expect((await initiator.execute(destination.luns[0].lun, copy.cdb, copy.data)).status).toBe(0);
    await page.goto(`${array.url}/hosts`);
    await row.locator("[title^='Clone: works']").waitFor();
  } finally {
    initiator.close();
  }
  expect(browser.complaints).toEqual([]);
});

test("settings show what the array finds when it looks at itself", async () => {
  await page.goto(`${array.url}/settings`);
  await page.getByText("nobody can sign in as an administrator").waitFor();
  await page.getByText("checks found nothing").click();
  await page.getByText("only the array has access to its keys, its tokens and the file of its pool").waitFor();
  expect(browser.complaints).toEqual([]);
});
