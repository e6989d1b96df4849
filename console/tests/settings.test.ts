// Settings: a configuration is planned, is refused after it has moved, and is applied; a support bundle is made and downloaded.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { started } from "./browser";

const { array, browser } = started();
let page: Page;

const run = async (...words: string[]): Promise<string> => {
  const { status, output } = await array.run(...words);
  expect(status, output).toBe(0);
  return output;
};
const dialog = () => page.locator("dialog[open]");
const button = (name: string) => dialog().getByRole("button", { name, exact: true });

beforeAll(async () => {
  await run("volume", "create", "db", "--size", "64M");
  page = await browser.open({ width: 1280, height: 900, colorScheme: "light", signedIn: true });
  await page.goto(`${array.url}/settings`);
});

test("the export is the document that the command line writes", async () => {
  const saved = page.waitForEvent("download");
  await page.getByRole("link", { name: "Export", exact: true }).click();
  const exported = readFileSync(await (await saved).path(), "utf8");
  expect(exported).toBe(await run("config", "export"));
  expect(exported).toContain('name = "db"');
});

test("a plan of an older revision is refused, and planned again it is applied", async () => {
  const document = join(array.path, "then.toml");
  await run("config", "export", "--file", document);
  await run("volume", "create", "extra", "--size", "64M");
  await page.getByRole("button", { name: "Plan a document…" }).click();
  await dialog().locator("input[type=file]").setInputFiles(document);
  await dialog().getByText("extra", { exact: true }).waitFor();
  expect(await dialog().locator(".lines-list li").count()).toBe(1);
  // A volume is deleted only by someone who has said so.
  expect(await button("Apply 1 step").isDisabled()).toBe(true);
  await dialog().getByLabel("Delete volumes and shares that are not in it").check();
  await run("volume", "create", "later", "--size", "64M");
  await button("Apply 1 step").click();
  await dialog().getByText("configuration-moved").waitFor();
  expect(await run("volume", "list", "-o", "name")).toContain("extra");
  await button("Plan again").click();
  await button("Apply 2 steps").click();
  await dialog().getByText("2 of 2 steps taken.").waitFor();
  await button("Done").click();
  expect((await run("volume", "list", "-o", "name")).trim().split("\n")).toEqual(["db"]);
});

test("a document that cannot be read says where", async () => {
  await page.getByRole("button", { name: "Plan a document…" }).click();
  await dialog()
    .locator("input[type=file]")
    .setInputFiles({ name: "wrong.toml", mimeType: "application/toml", buffer: Buffer.from("format = 1\n[[volume") });
  await dialog().getByText("invalid-configuration").waitFor();
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
});

test("a kept day shows what differs, and who has changed it since", async () => {
  await page.getByText("Kept days").click();
  await page.getByRole("button", { name: "Differences…" }).first().click();
  await dialog().locator(".lines-list strong", { hasText: "db" }).waitFor();
  await dialog().getByText("Who changed what since then").click();
  await dialog()
    .getByRole("row", { name: /uid:\d+ .*volume_create.*extra/ })
    .waitFor();
  await button("Cancel").click();
  await dialog().waitFor({ state: "detached" });
});

test("a support bundle shows what is inside, has no names, and is downloaded byte for byte", async () => {
  await page.getByText("There is none now.").waitFor();
  await page.getByRole("button", { name: "New bundle…" }).click();
  await button("Make bundle").click();
  const bundle = page.locator("summary", { hasText: "names replaced" });
  await bundle.waitFor({ timeout: 60_000 });
  await bundle.click();
  await page.getByText("volumes.json", { exact: true }).waitFor();
  const saved = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download", exact: true }).last().click();
  const archive = gunzipSync(readFileSync(await (await saved).path())).toString("latin1");
  expect(archive).toContain("configuration.toml");
  expect(archive).not.toContain('"name":"db"');
  await page.getByRole("button", { name: "Delete…" }).last().click();
  await button("Delete bundle").click();
  await page.getByText("There is none now.").waitFor();
  expect(browser.complaints).toEqual([]);
});
