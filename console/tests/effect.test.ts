// What a change would do is shown before it is made; two people who change one object both see both versions.

import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { started } from "./browser";

const { array, browser } = started();
let page: Page;

const run = async (...words: string[]): Promise<string> => {
  const { status, output } = await array.run(...words, "-q");
  expect(status, `${words.join(" ")}: ${output}`).toBe(0);
  return output;
};
const dialog = () => page.locator("dialog");
/** Chooses an action of the volume. */
const act = async (name: string) => {
  await page.getByRole("button", { name: "more actions for db" }).click();
  await page.getByRole("menuitem", { name }).click();
};

beforeAll(async () => {
  await run("volume", "create", "db", "--size", "1G");
  await run("snapshot", "create", "db", "monday");
  await run("host", "create", "esx01", "--iqn", "iqn.1998-01.com.vmware:esx01");
  await run("access", "grant", "db", "--host", "esx01");
  page = await browser.open({ width: 1280, height: 900, colorScheme: "light", signedIn: true });
});

test("a deletion that is refused cannot be pressed, and says what it would break", async () => {
  await page.goto(`${array.url}/volumes/db`);
  await act("Delete…");
  const button = dialog().getByRole("button", { name: "Delete volume" });
  await dialog().getByText("access: host esx01, LUN 0").waitFor();
  await dialog().getByLabel("Type db to confirm").fill("db");
  expect(await button.isDisabled()).toBe(true);
  await dialog().getByLabel("Revoke access of esx01").check();
  await dialog().getByText("has-snapshots").waitFor();
  await dialog()
    .getByLabel(/Delete its snapshots too/)
    .check();
  await dialog().getByText("snapshot db@monday: it is deleted too").waitFor();
  await dialog().getByText("access host esx01, LUN 0: it loses the volume").waitFor();
  await dialog().getByText("Frees: 0 B").waitFor();
  await dialog()
    .getByText(/The trash keeps it until/)
    .waitFor();
  expect(await run("volume", "list", "-o", "name")).toBe("db\n");
  await button.click();
  await dialog().waitFor({ state: "detached" });
  expect(await run("trash", "list", "-o", "name")).toBe("db\n");
  await run("volume", "restore", "db", "--grants");
});

test("the other administrator's change is shown beside one's own", async () => {
  await page.goto(`${array.url}/volumes/db`);
  await act("Change…");
  await dialog().getByLabel("Warn above").fill("70");
  await run("volume", "set", "db", "--warn", "90");
  await dialog().getByRole("button", { name: "Change volume" }).click();
  await dialog().getByText("It was changed meanwhile.").waitFor();
  const row = dialog().locator("tr", { hasText: "warn percent" });
  expect((await row.allInnerTexts()).join().replace(/\s+/g, " ")).toContain("warn percent – 90 70");
  await dialog().getByRole("button", { name: "Change volume" }).click();
  await dialog().waitFor({ state: "detached" });
  expect(JSON.parse(await run("volume", "show", "db", "-o", "json")).warn_percent).toBe(70);
});

test("a schedule shows its next runs before it is created", async () => {
  await page.goto(`${array.url}/snapshots/schedules`);
  await page.getByRole("button", { name: /New/ }).first().click();
  await dialog().getByLabel("Time zone").fill("UTC");
  await dialog().getByText("Next:").waitFor();
  await dialog()
    .getByText(/02:00:00 UTC/)
    .waitFor();
  await page.keyboard.press("Escape");
});

test("a change says before it is made what cannot be undone, and why a volume does not shrink", async () => {
  await page.goto(`${array.url}/volumes/db`);
  await act("Grow…");
  await dialog().getByLabel("New size").fill("512M");
  await dialog().getByText("would-shrink").waitFor();
  expect(await dialog().getByRole("button", { name: "Grow volume" }).isDisabled()).toBe(true);
  await dialog().getByLabel("New size").fill("2G");
  await dialog().getByText("cannot shrink again").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Close", exact: true }).click();
  expect(JSON.parse(await run("volume", "show", "db", "-o", "json")).size_bytes).toBe(2 ** 30);
});

test("access that becomes read-only names the hosts whose writes fail", async () => {
  await run("share", "create", "vms");
  await run("access", "grant", "vms", "--any");
  await page.goto(`${array.url}/shares/vms/access`);
  await page.getByRole("button", { name: /Grant/ }).first().click();
  await dialog().getByLabel("To", { exact: true }).selectOption({ label: "everybody" });
  await dialog().getByLabel("Read-only").check();
  await dialog().getByText("access any host: it can only read share vms").waitFor();
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
});

test("two changes of one schedule show both versions; its runs are no change", async () => {
  await run("schedule", "create", "nightly", "--daily", "02:00", "--volumes", "db");
  await page.goto(`${array.url}/snapshots/schedules`);
  await page.getByRole("button", { name: "actions for nightly" }).click();
  await page.getByRole("menuitem", { name: "Change…" }).click();
  await dialog().getByLabel("newest, always").fill("5");
  await run("schedule", "run", "nightly");
  await run("schedule", "set", "nightly", "--keep-last", "9");
  await dialog().getByRole("button", { name: "Change schedule" }).click();
  await dialog().getByText("It was changed meanwhile.").waitFor();
  const row = dialog().locator("tr", { hasText: "keep last" });
  expect((await row.allInnerTexts()).join().replace(/\s+/g, " ")).toContain("keep last 3 9 5");
  await dialog().getByRole("button", { name: "Change schedule" }).click();
  await dialog().waitFor({ state: "detached" });
  expect(JSON.parse(await run("schedule", "show", "nightly", "-o", "json")).keep_last).toBe(5);
});

test("a channel is created, changed and deleted in the console, and its secret never returns", async () => {
  await page.goto(`${array.url}/settings`);
  await page.getByRole("button", { name: "New channel…" }).click();
  await dialog().getByLabel("Name").fill("hook");
  await dialog().getByLabel("Kind").selectOption("webhook");
  await dialog().getByLabel("Address").fill("http://127.0.0.1:9/hook");
  await dialog().getByLabel("Key of the signature").fill("a long secret key");
  await dialog().getByRole("button", { name: "Create channel" }).click();
  await dialog().waitFor({ state: "detached" });
  const shown = await run("channel", "show", "hook", "-o", "json");
  expect(shown).toContain('"has_secret": true');
  expect(shown).not.toContain("a long secret key");
  await page.getByRole("button", { name: "Change…" }).click();
  expect(await dialog().getByLabel("Key of the signature").inputValue()).toBe("");
  await dialog().getByLabel("Alerts").selectOption("critical");
  await dialog().getByRole("button", { name: "Change channel" }).click();
  await dialog().waitFor({ state: "detached" });
  const changed = JSON.parse(await run("channel", "show", "hook", "-o", "json"));
  expect([changed.min_severity, changed.settings.has_secret]).toEqual(["critical", true]);
  await page.getByRole("button", { name: "Delete…" }).click();
  await dialog().getByRole("button", { name: "Delete channel" }).click();
  await dialog().waitFor({ state: "detached" });
  expect(await run("channel", "list", "-o", "name")).toBe("");
});

test("a selection of what frees space has its sum", async () => {
  await run("volume", "create", "scratch", "--size", "1G");
  const granted = JSON.parse(await run("access", "grant", "scratch", "--any", "-o", "json"));
  const { naa } = JSON.parse(await run("volume", "show", "scratch", "-o", "json"));
  const formatted = await array.run("datastore", "format", granted.iscsi_url, "--destroy-data", naa, "-q");
  expect(formatted.status, formatted.output).toBe(0);
  await run("access", "revoke", "scratch", "--any", "--yes");
  await page.goto(`${array.url}/space`);
  await page.getByText("Select several to see their sum.").waitFor();
  await page.getByLabel("select scratch").check();
  const alone = JSON.parse(await run("pool", "what-if", "scratch", "--with-snapshots", "-o", "json")).freed_bytes;
  expect(alone).toBeGreaterThan(0);
  const words = (await page.getByText(/^Together they free/).textContent()) ?? "";
  expect(words.replaceAll(/[^0-9]/g, "")).toContain(String(alone));
  expect(browser.complaints).toEqual([]);
});
