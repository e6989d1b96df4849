// People in a browser, against a real array: set-up, signing in, roles, passwords, tokens, the audit; and what guards against
// mistakes: trash, schedules, locks.

import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { started } from "./browser";

const { array, browser } = started();
/** Page of the administrator. */
let page: Page;

const FIRST = "correct horse battery";
const NEXT = "another horse battery";

const open = () => browser.open({ width: 1280, height: 800, colorScheme: "light", signedIn: false });

beforeAll(async () => {
  page = await open();
});

/** Fills a field of the open dialog. */
const fill = (label: string, text: string, on = page) =>
  on.locator("dialog").getByLabel(label, { exact: true }).fill(text);
const press = (name: string, on = page) =>
  on.locator("dialog footer").getByRole("button", { name, exact: true }).click();
const closed = (on = page) => on.locator("dialog[open]").waitFor({ state: "detached" });
const act = async (row: string, action: string, on = page) => {
  await on.getByRole("button", { name: `actions for ${row}`, exact: true }).click();
  await on.getByRole("menuitem", { name: action }).click();
};
const signIn = async (on: Page, user: string, password: string) => {
  await on.getByLabel("Name", { exact: true }).fill(user);
  await on.getByLabel("Password", { exact: true }).fill(password);
  await on.getByRole("button", { name: "Sign in", exact: true }).click();
};

/** Tries again until something is seen: the array makes whoever was wrong wait. */
async function insist(attempt: () => Promise<void>, seen: Locator): Promise<void> {
  for (let tries = 0; tries < 10; tries += 1) {
    await attempt();
    try {
      await seen.waitFor({ timeout: 2000 });
      return;
    } catch {
      // Not yet.
    }
  }
  await seen.waitFor();
}

test("a new array is set up with its code, and not without it", async () => {
  await page.goto(`${array.url}/volumes`);
  await page.getByLabel("Code", { exact: true }).fill("wrong-code");
  await page.getByLabel("Your name", { exact: true }).fill("anna");
  await page.getByLabel("Password", { exact: true }).fill(FIRST);
  await page.getByLabel("The same again", { exact: true }).fill("something else");
  await page.getByText("this is not the same").waitFor();
  await page.getByLabel("The same again", { exact: true }).fill(FIRST);
  await page.getByRole("button", { name: "Create the administrator" }).click();
  await page.getByText("wrong-setup-code").waitFor();
  await page.getByLabel("Code", { exact: true }).fill(array.setupCode);
  await page.getByRole("button", { name: "Create the administrator" }).click();
  await page.getByRole("heading", { name: "Volumes" }).waitFor();
  await page.getByRole("button", { name: "You are anna, admin" }).waitFor();
});

test("a reload keeps the sign-in, signing out ends it, and a wrong password is refused beside its field", async () => {
  await page.reload();
  await page.getByRole("heading", { name: "Volumes" }).waitFor();
  await page.getByRole("button", { name: "You are anna, admin" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await signIn(page, "anna", "wrong horse battery");
  await page.getByText("the array does not take this name with this password").waitFor();
  await insist(() => signIn(page, "anna", FIRST), page.getByRole("heading", { name: "Volumes" }));
});

test("a new user has to change the password, and a role says what it does not allow", async () => {
  await page.goto(`${array.url}/settings/people`);
  await page.getByRole("button", { name: "New user" }).click();
  await fill("Name", "vera");
  await page.locator("dialog").getByLabel("Role", { exact: true }).selectOption("viewer");
  await fill("First password", FIRST);
  await fill("The same again", FIRST);
  expect(await page.locator("dialog .same-below code").allTextContents()).not.toContain(FIRST);
  await press("Create user");
  await closed();
  await page.getByText("new password due").waitFor();

  const hers = await open();
  await hers.goto(`${array.url}/snapshots/schedules`);
  await signIn(hers, "vera", FIRST);
  await fill("Present password", "wrong horse battery", hers);
  await fill("New password", NEXT, hers);
  await fill("The same again", NEXT, hers);
  await press("Change password", hers);
  await hers.getByText("this is not the present password").waitFor();
  const change = async () => {
    await fill("Present password", FIRST, hers);
    await press("Change password", hers);
  };
  await insist(change, hers.getByRole("heading", { name: "Schedules" }));
  const create = hers.getByRole("button", { name: "New schedule" });
  expect([await create.getAttribute("aria-disabled"), await create.getAttribute("title")]).toEqual([
    "true",
    "needs the role operator",
  ]);
  await create.click({ force: true });
  expect(await hers.locator("dialog[open]").count()).toBe(0);
  await hers.goto(`${array.url}/settings`);
  await hers.getByRole("heading", { name: "Settings", exact: true }).waitFor();
  expect(await hers.getByRole("link", { name: "People" }).count()).toBe(0);

  // Her session ends elsewhere: the page stays, and asks again.
  await page.goto(`${array.url}/settings/sign-ins`);
  const row = page.locator("[data-row]", { hasText: "vera" });
  await row.getByRole("button").click();
  await page.getByRole("menuitem", { name: "End…" }).click();
  await press("End sign-in");
  await closed();
  await hers.getByRole("heading", { name: "Sign in again" }).waitFor({ timeout: 30_000 });
  await hers.locator("dialog").getByLabel("Password", { exact: true }).fill(NEXT);
  await hers.locator("dialog").getByRole("button", { name: "Sign in", exact: true }).click();
  await closed(hers);
  await hers.close();
});

test("a token is shown once, works, and is refused when it is deleted", async () => {
  await page.goto(`${array.url}/settings/tokens`);
  await page.getByRole("button", { name: "New token" }).click();
  await fill("Name", "csi");
  await fill("Only volumes whose names match", "csi-*");
  await press("Create token");
  await page.getByText("the only time that it is shown").waitFor();
  const secret = (await page.locator("dialog .lines code").first().textContent()) ?? "";
  await press("Done");
  await closed();
  const headers = { Authorization: `Bearer ${secret}` };
  expect((await array.ask("/api/v1/pools", headers)).status).toBe(200);
  await page.getByText("volumes csi-*").waitFor();
  await act("csi", "Delete…");
  await press("Delete token");
  await closed();
  expect((await array.ask("/api/v1/pools", headers)).status).toBe(401);
});

test("a volume that was deleted by mistake comes back with its snapshot", async () => {
  for (const words of ["volume create db --size 64M", "snapshot create db monday"])
    expect((await array.run(...words.split(" "), "-q")).status).toBe(0);
  expect((await array.run("volume", "delete", "db", "--with-snapshots", "--yes")).status).toBe(0);
  await page.goto(`${array.url}/space/trash`);
  const row = page.locator("[data-row]", { hasText: "db" });
  await row.getByText("1 snapshot").waitFor();
  await row.getByRole("button").click();
  await page.getByRole("menuitem", { name: "Restore…" }).click();
  await fill("Name", "db2");
  await press("Restore volume");
  await closed();
  await page.getByText("Nothing is in the trash").waitFor();
  expect((await array.run("snapshot", "show", "db2@monday")).status).toBe(0);
});

test("a schedule takes snapshots; one that is locked cannot be deleted", async () => {
  await page.goto(`${array.url}/snapshots/schedules`);
  await page.getByRole("button", { name: "New schedule" }).click();
  await fill("Name", "gold");
  await page.locator("dialog").getByLabel("When", { exact: true }).selectOption("every");
  await fill("Period", "often");
  await page.getByText("such as 15m or 4h").waitFor();
  await fill("Period", "4h");
  await fill("Volumes and shares", "db2, absent");
  await page.getByText("there is no volume or share absent").waitFor();
  await fill("Volumes and shares", "db2");
  await fill("Lock each against deletion for", "7d");
  await press("Create schedule");
  await closed();
  await page.getByText("every 4h").waitFor();
  await act("gold", "Run now…");
  await press("Run schedule");
  await page.getByText("1 snapshot taken").waitFor();
  await press("Done");
  await closed();
  await page.goto(`${array.url}/snapshots?q=gold`);
  const row = page.locator("[data-row]", { hasText: "gold." });
  await row.getByText(/locked 7 d|locked 6 d/).waitFor();
  await row.getByRole("button").click();
  const remove = page.getByRole("menuitem", { name: "Delete…" });
  expect(await remove.getAttribute("aria-disabled")).toBe("true");
  expect(await remove.getAttribute("title")).toMatch(/^locked until 20/);
  await page.getByRole("menuitem", { name: "Pin…" }).click();
  await press("Pin snapshot");
  await closed();
  await row.getByText("pinned").waitFor();
});

test("the audit says who did what, and fits together", async () => {
  await page.goto(`${array.url}/activity/audit`);
  await page.locator("[data-row]", { hasText: "schedule_create" }).first().waitFor();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText(/all \d+ lines fit together/).waitFor();
  await page.getByLabel("User or token of the entries").fill("vera");
  await page.keyboard.press("Enter");
  await page.waitForURL(/who=vera/);
  await page.locator("[data-row]", { hasText: "anna" }).first().waitFor({ state: "detached" });
  expect(await page.content()).not.toContain(FIRST);
});

test("nothing is reported by the browser", () => {
  expect(browser.complaints).toEqual([]);
});
