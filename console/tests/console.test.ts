// The console in a browser, against a real array: sign-in, changes and their refusals, keys, lost contact, accessibility.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { PICTURES, started } from "./browser";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const { array, browser } = started();
let page: Page;

beforeAll(async () => {
  page = await browser.open({ width: 1280, height: 800, colorScheme: "light", signedIn: false });
});

/** Fills a field of the open dialog. */
const fill = (label: string, text: string) => page.locator("dialog").getByLabel(label, { exact: true }).fill(text);
const press = (name: string) => page.locator("dialog footer").getByRole("button", { name, exact: true }).click();
const closed = () => page.locator("dialog[open]").waitFor({ state: "detached" });

test("the page has a policy and needs no token; REST does", async () => {
  const html = await array.ask("/volumes/x", { Accept: "text/html" });
  expect([html.status, html.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  expect(html.headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self'");
  expect((await array.ask("/api/v1/volumes", { Accept: "text/html" })).status).toBe(401);
  expect((await array.ask("/", { Accept: "application/json" })).status).toBe(401);
  const script = /src="(\/assets\/[^"]+)"/.exec(html.body)?.[1] ?? "";
  const { status, headers } = await array.ask(script, { "Accept-Encoding": "gzip" });
  expect([status, headers["content-encoding"], headers["cache-control"]]).toEqual([
    200,
    "gzip",
    "public, max-age=31536000, immutable",
  ]);
});

test("a wrong token is refused beside its field, and the right one leads to the page asked for", async () => {
  await page.goto(`${array.url}/volumes`);
  await page.getByRole("button", { name: "Sign in instead" }).click();
  await page.getByRole("button", { name: "With a token instead" }).click();
  await page.getByLabel("Token").fill("windlass_wrong");
  await page.getByRole("button", { name: "Sign in with the token" }).click();
  await page.getByText("the array does not take this token").waitFor();
  await page.getByLabel("Token").fill(array.token);
  await page.getByLabel("Token").press("Enter");
  await page.getByRole("heading", { name: "Volumes" }).waitFor();
  await page.getByText("A volume is a block device").waitFor();
});

test("a volume is created, and a refusal stands beside the field that it is about", async () => {
  await page.getByRole("button", { name: "New volume" }).first().click();
  await fill("Name", "db");
  await fill("Size", "1 GB");
  await page.getByText("write for example 100G").waitFor();
  await fill("Size", "1G");
  await press("Create volume");
  await page.waitForURL(`${array.url}/volumes/db`);
  await page.getByRole("heading", { name: "db", exact: true }).waitFor();
  expect((await array.run("volume", "show", "db")).status).toBe(0);

  await page.goto(`${array.url}/volumes`);
  await page.getByRole("button", { name: "New volume" }).click();
  await fill("Name", "db");
  await fill("Size", "2G");
  await press("Create volume");
  await page.locator("dialog .field.wrong .error").waitFor();
  expect(await page.locator("dialog .failure").textContent()).toContain("exists");
  await page.keyboard.press("Escape");
  await page.getByText("Close without doing it?").waitFor();
  await page.locator("dialog .note").getByRole("button", { name: "Close" }).click();
  await closed();
});

test("a host is made, granted and connected by the commands that the command line prints", async () => {
  await page.goto(`${array.url}/hosts`);
  await page.getByRole("button", { name: "New host" }).first().click();
  await fill("Name", "pve1");
  await fill("Initiator names, for volumes", "iqn.1993-08.org.debian:01:pve1");
  await page.locator("dialog").getByLabel("Require CHAP").check();
  await press("Create host");
  await page.getByText("The array shows it this once").waitFor();
  await press("Done");
  await closed();

  await page.goto(`${array.url}/hosts/connect/volume?system=linux&host=pve1&volume=db`);
  await page.getByRole("button", { name: "Grant access" }).click();
  await press("Grant access");
  await closed();
  await page.getByText("granted", { exact: true }).waitFor();
  await page.goto(`${array.url}/hosts/connect/commands?system=linux&host=pve1&volume=db`);
  await page.locator(".commands pre").first().waitFor();
  const printed = await array.run("connect", "linux", "pve1", "--volume", "db", "-o", "json");
  const plan: { steps: { commands: { text: string }[] }[] } = JSON.parse(printed.output);
  const commands = plan.steps.flatMap((step) => step.commands.map(({ text }) => text));
  expect(await page.locator(".commands pre").allTextContents()).toEqual(commands);
});

test("a volume in use is not deleted, and the refusal names who uses it", async () => {
  await page.goto(`${array.url}/volumes/db/snapshots`);
  await page.getByRole("button", { name: "Take a snapshot" }).click();
  await fill("Name", "monday");
  await press("Take snapshot");
  await closed();
  await page.getByRole("rowheader", { name: "monday" }).waitFor();

  await page.getByRole("button", { name: "more actions for db" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  expect(await page.locator("dialog footer .primary").isDisabled()).toBe(true);
  await fill("Type db to confirm", "db");
  await page.locator("dialog .failure").getByText("pve1").first().waitFor();
  expect(await page.locator("dialog footer .primary").isDisabled()).toBe(true);
  await press("Cancel");
  await closed();
  expect((await array.run("volume", "show", "db")).status).toBe(0);
});

test("access is revoked, and the volume deleted with its snapshot", async () => {
  await page.goto(`${array.url}/volumes/db/hosts`);
  await page.getByRole("button", { name: "actions for pve1" }).click();
  await page.getByRole("menuitem", { name: "Revoke…" }).click();
  await press("Revoke access");
  await closed();
  await page.getByText("No host may use this volume.").waitFor();
  await page.getByRole("button", { name: "more actions for db" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page
    .locator("dialog")
    .getByLabel(/Delete its snapshots too/)
    .check();
  await fill("Type db to confirm", "db");
  await press("Delete volume");
  await page.waitForURL(`${array.url}/volumes`);
  expect((await array.run("volume", "show", "db")).status).toBe(3);
});

test("a long table holds only the rows in view, sorts and filters, and keeps both in the address", async () => {
  for (let index = 1; index <= 150; index += 1)
    await array.run("volume", "create", `vm-${index}`, "--size", `${index}M`, "-q");
  await page.goto(`${array.url}/volumes`);
  await page.getByText("150 volumes").waitFor();
  expect(await page.locator("tbody [data-row]").count()).toBeLessThan(60);
  await page.getByRole("button", { name: "Size", exact: true }).click();
  await page.getByRole("button", { name: /^Size/ }).click();
  await page.waitForURL(/sort=-size_bytes/);
  await expect.poll(() => page.locator("tbody [data-row] th").first().textContent()).toContain("vm-150");
  await page.getByLabel(/Filter volumes/).fill("vm-14");
  await page.getByText("11 match").waitFor();
  await page.reload();
  await page.getByText("11 match").waitFor();
  await page.getByLabel(/Filter volumes/).fill("nothing so named");
  await page.getByText("Nothing matches").waitFor();
});

test("a new filter begins at the first row, and no row in view stays without its content", async () => {
  await page.goto(`${array.url}/volumes`);
  const table = page.getByRole("region", { name: "Volumes" });
  await page.getByText("150 volumes").waitFor();
  await table.evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await page.locator("[data-row]", { hasText: "vm-99" }).waitFor();
  expect(await page.locator(".waiting").count()).toBe(0);
  await page.getByLabel(/Filter volumes/).fill("vm-1");
  await page.getByText("62 match").waitFor();
  expect(await table.evaluate((box) => box.scrollTop)).toBe(0);
  await page.locator("[data-row]", { hasText: "vm-10" }).first().waitFor();
  expect(await page.locator(".waiting").count()).toBe(0);
});

test("a row that changes elsewhere is shown soon, and keeps the focus", async () => {
  await page.goto(`${array.url}/volumes?q=vm-77`);
  await page.getByRole("link", { name: "vm-77" }).focus();
  expect((await array.run("volume", "grow", "vm-77", "--size", "3G")).status).toBe(0);
  // The stream announces it; the table is read again by itself after half a minute only.
  await page.locator("[data-row]", { hasText: "3 GiB" }).waitFor({ timeout: 5_000 });
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("vm-77");
});

test("a grant to a group is one to its hosts, and leads to the group", async () => {
  expect((await array.run("host-group", "create", "cluster", "pve1")).status).toBe(0);
  expect((await array.run("access", "grant", "vm-77", "--group", "cluster")).status).toBe(0);
  await page.goto(`${array.url}/hosts/connect/volume?system=linux&host=pve1&volume=vm-77`);
  await page.getByText("granted", { exact: true }).waitFor();
  await page.goto(`${array.url}/hosts/pve1`);
  await page.getByRole("link", { name: "vm-77" }).waitFor();
  await page.getByRole("link", { name: "group cluster" }).click();
  await page.waitForURL(`${array.url}/groups?group=cluster`);
  await page.getByText("vm-77 (LUN 0)").waitFor();
  expect((await array.run("access", "revoke", "vm-77", "--group", "cluster", "--yes")).status).toBe(0);
  expect((await array.run("host-group", "delete", "cluster", "--yes")).status).toBe(0);
});

test("a dialog stays while its request runs, and several changes stop between two", async () => {
  const slow = (path: string) =>
    page.route(path, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 2000));
      await route.continue();
    });
  await page.goto(`${array.url}/volumes/vm-1`);
  await slow("**/volumes/vm-1/snapshots");
  await page.getByRole("button", { name: "Snapshot", exact: true }).click();
  await press("Take snapshot");
  for (let times = 0; times < 3; times += 1) {
    await page.keyboard.press("Escape");
    await page.locator("dialog[open]").waitFor();
  }
  await closed();

  await page.goto(`${array.url}/volumes`);
  await slow("**/api/v1/access");
  for (const name of ["vm-1", "vm-10", "vm-100"]) await page.getByLabel(`select ${name}`, { exact: true }).check();
  await page.getByRole("button", { name: "Grant", exact: true }).click();
  await page.locator("dialog").getByLabel("To", { exact: true }).selectOption("host:pve1");
  await press("Grant 3 volumes");
  await press("Stop");
  await page.getByText("1 of 3 granted.").waitFor();
  await press("Grant 3 volumes");
  await closed();
  for (const name of ["vm-1", "vm-10", "vm-100"]) {
    expect((await array.run("access", "revoke", name, "--host", "pve1", "--yes")).status).toBe(0);
  }
  await page.unrouteAll();
});

test("the page of one volume never shows another", async () => {
  await page.goto(`${array.url}/volumes/vm-1`);
  await page.getByRole("button", { name: "Clone" }).waitFor();
  await page.evaluate(() => history.pushState(null, "", "/volumes/absent-volume"));
  await page.evaluate(() => dispatchEvent(new PopStateEvent("popstate")));
  await page.getByRole("heading", { name: "absent-volume" }).waitFor();
  await page.locator(".failure").waitFor();
  expect(await page.getByRole("button", { name: "Clone" }).count()).toBe(0);
});

test("keys lead to pages, rows and names", async () => {
  await page.goto(`${array.url}/hosts`);
  await page.getByRole("heading", { name: "Hosts" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("v");
  await page.waitForURL(`${array.url}/volumes`);
  await page.getByText("150 volumes").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.closest("[data-row]")?.getAttribute("aria-rowindex")))
    .toBe("3");
  await page.keyboard.press("/");
  await page.keyboard.type("vm-77");
  await page.getByRole("option", { name: /vm-77/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`${array.url}/volumes/vm-77`);
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
});

/** Pages to look at, with something on each. */
const PAGES = [
  "/",
  "/volumes",
  "/volumes/app",
  "/volumes/app/space",
  "/volumes/app/snapshots",
  "/volumes/app/hosts",
  "/volumes/app/offload",
  "/volumes/app/performance",
  "/volumes/app/reservations",
  "/volumes/app/events",
  "/volumes/app/settings",
  "/offload",
  "/offload/volumes",
  "/offload/refusals",
  "/hosts",
  "/hosts/pve1",
  "/groups",
  "/sessions",
  "/portals",
  "/hosts/connect/system",
  "/hosts/connect/host?system=linux",
  "/hosts/connect/volume?system=linux&host=pve1&volume=app",
  "/hosts/connect/commands?system=linux&host=pve1&volume=app",
  "/hosts/connect/commands?system=linux&host=pve1&share=home",
  "/hosts/connect/watch?system=linux&host=pve1&volume=app",
  "/shares",
  "/shares/home",
  "/shares/home/access",
  "/shares/home/snapshots",
  "/shares/home/offload",
  "/space",
  "/space/trash",
  "/snapshots",
  "/snapshots/schedules",
  "/activity/jobs",
  "/activity/events",
  "/activity/alerts",
  "/activity/audit",
  "/codes",
  "/codes/not-granted",
  "/codes/05%2F26%2F00",
  "/settings",
  "/settings/limits",
  "/settings/people",
  "/settings/tokens",
  "/settings/sign-ins",
  "/no-such-page",
];

test("every line for a command line is one that the command line takes", { timeout: 180_000 }, async () => {
  for (const words of [
    "volume create app --size 1G",
    "host set pve1 --address 127.0.0.1",
    "access grant app --host pve1",
    "snapshot create app monday",
    "volume clone app@monday copy",
    "share create home --quota 64M",
    "access grant home --host pve1",
    "snapshot create home monday",
    "host-group create prod pve1",
    "schedule create nightly --daily 02:00 --keep daily=7 --volumes app,home",
    "snapshot create app gone",
    "snapshot delete app@gone --yes",
    "token create csi --role operator --volumes csi-*",
  ]) {
    const { status, output } = await array.run(...words.split(" "), "-q");
    expect(status, `${words}: ${output}`).toBe(0);
  }
  const lines = new Set<string>();
  for (const path of PAGES) {
    await page.goto(array.url + path);
    await page.locator("main h1").waitFor();
    for (const button of await page.locator("main [data-commands]").all()) {
      await button.click();
      for (const text of await page.locator("dialog .same code").allTextContents()) lines.add(text);
      await page.keyboard.press("Escape");
      await closed();
    }
  }
  const commands = [...lines].filter((line) => line.startsWith("windlass "));
  expect(commands.length).toBeGreaterThan(20);
  for (const line of commands) {
    const { status, output } = await array.run(...line.split(" ").slice(1));
    // Status 2 is a wrong use; names in capitals may not exist.
    expect(status, `${line}: ${output}`).not.toBe(2);
  }
});

for (const width of [390, 1280, 3840]) {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`no page has a defect of accessibility or runs over its edge: ${width} px, ${colorScheme}`, {
      timeout: 300_000,
    }, async () => {
      const looked = await browser.open({ width, height: 844, colorScheme, signedIn: true });
      const found: string[] = [];
      for (const path of PAGES) {
        await looked.goto(array.url + path);
        await looked.locator("main h1").waitFor();
        await expect.poll(() => looked.locator(".loading").count(), { timeout: 20_000 }).toBe(0);
        // The policy forbids scripts in the page, and holds for this one too: it is run by the debugger.
        await looked.evaluate(axe);
        const violations = await looked.evaluate(async () => {
          const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
          const runner = (
            globalThis as unknown as {
              axe: { run: (options: unknown) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
            }
          ).axe;
          const { violations: all } = await runner.run({ runOnly: { type: "tag", values: tags } });
          return all.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`);
        });
        found.push(...violations.map((violation) => `${path} ${violation}`));
        const over = await looked.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (over > 0) found.push(`${path} is ${over} px wider than the screen`);
        if (PICTURES !== undefined) {
          const name = path === "/" ? "overview" : path.slice(1).replaceAll(/[^\w-]+/g, "-");
          await looked.screenshot({ path: join(PICTURES, `${name}-${width}-${colorScheme}.png`) });
        }
      }
      await looked.context().close();
      expect(found).toEqual([]);
    });
  }
}

test("while the array is stopped the page stays and says so, and goes on by itself", { timeout: 120_000 }, async () => {
  await page.goto(`${array.url}/volumes/app`);
  await page.getByRole("heading", { name: "app", exact: true }).waitFor();
  await array.stop();
  await page.getByText("No contact with the array").waitFor();
  expect(await page.getByRole("heading", { name: "app", exact: true }).count()).toBe(1);
  await array.start();
  await page.getByText("No contact with the array").waitFor({ state: "detached", timeout: 30_000 });
  await page.locator(".bar .health", { hasText: "healthy" }).waitFor();
});

test("a token that the array no longer takes is asked for again, over the page", async () => {
  await page.evaluate(() => sessionStorage.setItem("windlass-token", "windlass_old"));
  await page.goto(`${array.url}/space`);
  await page.getByRole("heading", { name: "Sign in again" }).waitFor();
  // The event of a closed dialog, after which it is open again, comes a little later.
  for (let times = 0; times < 3; times += 1) {
    await page.keyboard.press("Escape");
    await page.locator("dialog[open]").waitFor();
  }
  await page.getByText("The session of this tab has ended").waitFor();
  await page.getByLabel("Token").fill(array.token);
  await page.getByRole("button", { name: "Sign in with the token" }).click();
  await page.locator("dialog[open]").waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "p0" }).waitFor();
});

test("the browser has nothing to complain about, and sent no request elsewhere", () => {
  expect(browser.complaints).toEqual([]);
});
