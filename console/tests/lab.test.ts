// The laboratory: a run from the page to its report, one that is cancelled, results of elsewhere, and what is refused.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { PICTURES, started } from "./browser";

/** Longest time for a run. */
const RUN_MS = 90_000;

const { array, browser } = started();
let page: Page;

beforeAll(async () => {
  page = await browser.open({ width: 1280, height: 1000, colorScheme: "light", signedIn: true });
});

/** Names of volumes and hosts of the array. */
async function names(): Promise<string> {
  const lists = await Promise.all(["volume", "host"].map((noun) => array.run(noun, "list", "-o", "name")));
  return lists.map(({ output }) => output).join("");
}

/** Begins a run from the page with tiny disks. */
async function begin(rounds: string): Promise<void> {
  await page.goto(`${array.url}/lab`);
  await page.getByLabel("Size", { exact: true }).selectOption("64M");
  await page.getByLabel("Rounds, each off and on").fill(rounds);
  await page.getByRole("button", { name: "Run 1 case", exact: true }).click();
  await page.getByRole("heading", { name: /^Run \d+$/ }).waitFor();
}

/** Takes pictures of the present address in both themes and three sizes. */
async function pictures(path: string, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [width, height] of [
      [390, 844],
      [1280, 900],
      [3840, 2160],
    ] as const) {
      const shown = await browser.open({ width, height, colorScheme, signedIn: true });
      await shown.goto(array.url + path);
      await shown.getByRole("heading", { level: 1 }).waitFor();
      await shown.waitForTimeout(1500);
      await shown.screenshot({ path: join(PICTURES, `${name}-${width}-${colorScheme}.png`), fullPage: width < 3000 });
      await shown.context().close();
    }
  }
}

test("a case runs from the page to its report", { timeout: 2 * RUN_MS }, async () => {
  await page.goto(`${array.url}/lab`);
  await page.getByText("The laboratory has not run yet.").waitFor();
  // A case of files is listed with the reason.
  expect(await page.getByRole("checkbox", { name: /nas-clone/ }).isDisabled()).toBe(true);
  await page.getByRole("link", { name: "Lab", exact: true }).waitFor();
  await pictures("/lab", "lab-empty");
  await begin("2");
  await page.getByText("done", { exact: true }).waitFor({ timeout: RUN_MS });
  const result = page.locator('[data-case="clone-template"]');
  await result.getByText("passed", { exact: true }).waitFor();
  expect(await result.locator("svg rect").count()).toBe(3);
  expect(await result.textContent()).toContain("−14 %");
  expect(await names()).toBe("");
  const saved = page.waitForEvent("download");
  await page.getByRole("link", { name: "Report", exact: true }).click();
  const report = await (await saved).path();
  expect(readFileSync(report, "utf8")).toContain("clone-template");
  await pictures("/lab/runs/1", "lab-run");
  await page.getByRole("link", { name: "All cases and runs" }).click();
  await page.getByText("1 of 1 passed").first().waitFor();
  await page.getByText(/^last ×/).waitFor();
});

test("a run is cancelled half-way, and nothing of it is left", { timeout: 2 * RUN_MS }, async () => {
  await begin("100");
  await page.getByText(/round \d+ of 100/).waitFor({ timeout: RUN_MS });
  await page.getByText("Wire of the laboratory").waitFor({ timeout: RUN_MS });
  expect(await names()).toContain("lab-scratch-");
  await pictures("/lab/runs/2", "lab-running");
  // There is one run at a time, which the page says before it is tried.
  const other = await browser.open({ width: 1280, height: 900, colorScheme: "light", signedIn: true });
  await other.goto(`${array.url}/lab`);
  const run = other.getByRole("button", { name: "Run 1 case", exact: true });
  await other.getByText("goes on:").waitFor();
  expect(await run.getAttribute("aria-disabled")).toBe("true");
  expect(await run.getAttribute("title")).toContain("one at a time");
  await other.context().close();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel run", exact: true }).click();
  await page.locator(".lab-standing .tag").getByText("cancelled").waitFor({ timeout: RUN_MS });
  expect(await names()).toBe("");
});

test("results of elsewhere are uploaded and compared, and other files are refused", async () => {
  const [results, wrong] = [join(array.path, "elsewhere.json"), join(array.path, "wrong.json")];
  expect((await array.run("lab", "array", "save", "1", "--to", results)).status).toBe(0);
  writeFileSync(wrong, '{"version": 9}');
  await page.goto(`${array.url}/lab`);
  await page.getByRole("button", { name: "Upload results…" }).click();
  await page.locator("dialog input[type=file]").setInputFiles(wrong);
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await page.locator("dialog").getByText("the file is not what a run of the laboratory saves").waitFor();
  await page.locator("dialog input[type=file]").setInputFiles(results);
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await page.getByText("uploaded", { exact: true }).waitFor();
  await page.getByLabel("With").selectOption("1");
  const saved = page.waitForEvent("download");
  await page.getByRole("link", { name: "Comparison" }).click();
  expect(readFileSync(await (await saved).path(), "utf8")).toContain("clone-template");
});

test("the report has a policy of its own, in which nothing runs", async () => {
  const answer = await array.ask("/api/v1/lab/runs/1/report.html", { Authorization: `Bearer ${array.token}` });
  expect(answer.status).toBe(200);
  expect(answer.headers["content-security-policy"]).toContain("sandbox; default-src 'none'");
  expect(answer.headers["x-content-type-options"]).toBe("nosniff");
});

test("what is not possible says why", async () => {
  await page.goto(`${array.url}/lab`);
  await page.getByLabel("Size", { exact: true }).selectOption("paper");
  await page.getByRole("button", { name: "Run 1 case", exact: true }).click();
  await page.locator(".failure").getByText("600 GiB").waitFor();
  await page.getByLabel("Stop when hosts' p99 exceeds, in ms").fill("soon");
  await page.getByText("a number of milliseconds", { exact: true }).waitFor();
  await page.goto(`${array.url}/lab/runs/99`);
  await page.locator(".failure").getByText("the laboratory has no run 99").waitFor();
});

test("a viewer sees runs, and may start none", async () => {
  const made = await array.run("token", "create", "wall", "--role", "viewer", "-o", "json");
  expect(made.status, made.output).toBe(0);
  const { secret }: { secret: string } = JSON.parse(made.output);
  const wall = await browser.open({ width: 390, height: 844, colorScheme: "dark", signedIn: false });
  await wall.addInitScript((value) => {
    if (location.protocol === "https:") sessionStorage.setItem("windlass-token", value);
  }, secret);
  await wall.goto(`${array.url}/lab`);
  const run = wall.getByRole("button", { name: "Run 1 case", exact: true });
  await run.waitFor();
  expect(await run.getAttribute("title")).toBe("needs the role operator");
  await wall.getByRole("link", { name: "1", exact: true }).click();
  await wall.locator('[data-case="clone-template"]').waitFor();
  await wall.context().close();
  expect(browser.complaints).toEqual([]);
});
