// QoS policies: create, attach, choose; a conflict names the change of the other administrator.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { started } from "./browser";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { array, browser } = started();
let page: Page;

const run = async (...words: string[]): Promise<string> => {
  const { status, output } = await array.run(...words);
  expect(status, output).toBe(0);
  return output;
};
const dialog = () => page.locator("dialog[open]");
const button = (name: string) => dialog().getByRole("button", { name, exact: true });
/** Opens the menu of the policy and chooses from it. */
async function choose(item: string): Promise<void> {
  await page
    .getByRole("row", { name: /bronze/ })
    .getByRole("button")
    .last()
    .click();
  await page.getByRole("menuitem", { name: item }).click();
}
const shown = async (noun: string, name: string) => JSON.parse(await run(noun, "show", name, "-o", "json"));
/** Defects of accessibility of the page. */
async function defects(): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const runner = (
      globalThis as unknown as { axe: { run: (of: unknown) => Promise<{ violations: { id: string }[] }> } }
    ).axe;
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    return (await runner.run({ runOnly: { type: "tag", values: tags } })).violations.map(({ id }) => id);
  });
}

beforeAll(async () => {
  await run("volume", "create", "db", "--size", "64M");
  await run("host", "create", "h1", "--iqn", "iqn.2026-01.org.example:h1");
  page = await browser.open({ width: 1280, height: 900, colorScheme: "light", signedIn: true });
  await page.goto(`${array.url}/settings/limits`);
});

test("a policy is created, and what the array refuses is at its field", async () => {
  await page.getByRole("button", { name: "New policy" }).click();
  await dialog().getByLabel("Name").fill("bronze");
  await dialog().getByLabel("Operations per second").fill("50");
  await dialog().getByLabel("Burst of operations").fill("10000@30s");
  expect(await defects()).toEqual([]);
  await button("Create policy").click();
  await dialog()
    .locator(".field.wrong", { hasText: "100 operations a second" })
    .getByLabel("Operations per second")
    .waitFor();
  await dialog().getByLabel("Operations per second").fill("2000");
  await button("Create policy").click();
  await dialog().waitFor({ state: "detached" });
  await page.getByRole("row", { name: /bronze/ }).waitFor();
  expect(await defects()).toEqual([]);
  expect(await shown("qos", "bronze")).toMatchObject({ iops: 2000, iops_burst: { per_second: 10_000, seconds: 30 } });
});

test("it is attached to a volume, and chosen for a host", async () => {
  await choose("Attach…");
  await dialog().getByLabel("Volumes").fill("db");
  await button("Attach policy").click();
  await dialog().waitFor({ state: "detached" });
  await page.getByRole("row", { name: /bronze.*db/ }).waitFor();
  await page.goto(`${array.url}/hosts/h1`);
  await page.getByRole("button", { name: "Choose policy" }).click();
  await dialog().getByRole("combobox", { name: "Policy" }).selectOption("bronze");
  await button("Set policy").click();
  await dialog().waitFor({ state: "detached" });
  expect(await shown("qos", "bronze")).toMatchObject({ volumes: ["db"], hosts: ["h1"] });
  await page.goto(`${array.url}/volumes/db/settings`);
  await page.getByRole("link", { name: "bronze", exact: true }).waitFor();
  expect(await defects()).toEqual([]);
});

test("the second of two changes says what the first was", async () => {
  await page.goto(`${array.url}/settings/limits`);
  await choose("Change…");
  await dialog().getByLabel("Operations per second").fill("4000");
  await run("qos", "set", "bronze", "--iops", "3000");
  await button("Change policy").click();
  await dialog().getByText("It was changed meanwhile.").waitFor();
  expect(await shown("qos", "bronze")).toMatchObject({ iops: 3000 });
  await page.keyboard.press("Escape");
});

test("a policy in use is deleted with its limits", async () => {
  await page.goto(`${array.url}/settings/limits`);
  await choose("Delete…");
  await dialog().getByText("db, h1").waitFor();
  await button("Delete policy").click();
  await page.getByText("No policy yet.").waitFor();
  expect((await shown("volume", "db")).qos_policy).toBeUndefined();
  expect(browser.complaints).toEqual([]);
});
