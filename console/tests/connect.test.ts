// Connecting a host in a browser, against a real array: who knocked, the five steps, and a host that the page watches.

import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { started } from "./browser";

const { array, browser } = started();
let page: Page;

const IQN = "iqn.1998-01.com.vmware:esx05";

beforeAll(async () => {
  page = await browser.open({ width: 1280, height: 800, colorScheme: "light", signedIn: true });
  expect((await array.run("volume", "create", "win-dc1", "--size", "64M")).status).toBe(0);
});

const press = (name: string) => page.locator("dialog footer").getByRole("button", { name, exact: true }).click();
const closed = () => page.locator("dialog[open]").waitFor({ state: "detached" });

/** Logs in as the host, with a secret if there is one. */
async function logIn(secret?: string) {
  const { output } = await array.run("portal", "list", "-o", "json");
  const [portal]: { advertised: string; target: string }[] = JSON.parse(output);
  const chap = secret === undefined ? "" : `esx05%${secret}@`;
  const url = `iscsi://${chap}${portal?.advertised}/${portal?.target}/0`;
  return array.run("probe", url, "--initiator", IQN);
}

let secret = "";

test("an initiator that knocks is made a host, with a secret that the commands have", async () => {
  expect((await logIn()).status).not.toBe(0);
  await page.goto(`${array.url}/hosts`);
  const knocked = page.getByRole("region", { name: "Who knocked" });
  await knocked.locator("code", { hasText: IQN }).waitFor();
  await page.goto(`${array.url}/hosts/connect`);
  await page.getByRole("button", { name: "VMware ESXi" }).click();
  await page.waitForURL(/\/hosts\/connect\/host\?system=esxi/);
  await page.getByRole("button", { name: "Make a host…" }).click();
  await page.locator("dialog").getByLabel("Name", { exact: true }).fill("esx05");
  await page.locator("dialog").getByLabel("Require CHAP").check();
  await press("Create host");
  await page.getByText("The array shows it this once").waitFor();
  secret = (await page.locator("dialog pre").textContent()) ?? "";
  expect(secret).toMatch(/^[\w-]{16}$/);
  await press("Done");
  await closed();
  await page.waitForURL(/\/hosts\/connect\/volume\?system=esxi&host=esx05/);
});

test("a volume is chosen and granted, and the commands are those of the command line", async () => {
  await page.getByLabel("Volume", { exact: true }).selectOption("win-dc1");
  await page.getByRole("button", { name: "Grant access" }).click();
  await press("Grant access");
  await closed();
  await page.getByText("granted", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Commands", exact: true }).last().click();
  await page.waitForURL(/\/hosts\/connect\/commands\?/);
  await page.getByLabel("iSCSI adapter of the host").fill("vmhba64");
  await page.getByText("-A vmhba64").first().waitFor();
  const printed = await array.run(
    "connect",
    "esxi",
    "esx05",
    "--volume",
    "win-dc1",
    "--adapter",
    "vmhba64",
    "-o",
    "json",
  );
  const plan: { steps: { commands: { text: string }[] }[] } = JSON.parse(printed.output);
  const commands = plan.steps.flatMap((step) => step.commands.map(({ text }) => text));
  const shown = await page.locator(".commands pre").allTextContents();
  expect(shown).toEqual(commands.map((text) => text.replaceAll("CHAP-SECRET", secret)));
  expect(shown.join()).toContain(`--secret='${secret}'`);
  // The undo of a volume leaves the sessions of the host; taking the host off the array is apart, with a warning.
  await page.getByText("Undo commands").click();
  expect(await page.locator(".undo pre").textContent()).not.toContain("sendtarget");
  await page.getByText("Take the host off the array").click();
  await page.getByText("it may use no other volume").waitFor();
  expect(await page.locator(".undo-host pre").textContent()).toContain("sendtarget remove -A vmhba64");
});

test("the choice comes back with the page, and the secret does not", async () => {
  await page.goto(`${array.url}/volumes`);
  await page.goto(`${array.url}/hosts/connect/commands`);
  await page.waitForURL(/system=esxi&host=esx05&volume=win-dc1&adapter=vmhba64/);
  await page.getByText("--secret='CHAP-SECRET'").waitFor();
});

test("a wrong secret is seen, and then what the host does", async () => {
  await page.goto(`${array.url}/hosts/connect/watch?system=esxi&host=esx05&volume=win-dc1`);
  await page.getByText("host esx05 is not logged in").waitFor();
  expect((await logIn("not-this-secret")).status).not.toBe(0);
  await page.locator(".watch-refused", { hasText: /CHAP/ }).waitFor({ timeout: 5000 });
  await page.goto(`${array.url}/hosts`);
  const knocked = page.getByRole("region", { name: "Who knocked" });
  await knocked.locator("code", { hasText: IQN }).waitFor();
  await knocked.getByRole("button", { name: "Set secret…" }).click();
  await press("Set secret");
  await page.getByText("The array shows it this once").waitFor();
  const next = (await page.locator("dialog pre").textContent()) ?? "";
  expect(next).not.toBe(secret);
  await press("Done");
  await closed();
  await page.goto(`${array.url}/hosts/connect/watch?system=esxi&host=esx05&volume=win-dc1`);
  await page.getByText("logs in").waitFor();
  await logIn(next);
  // After a login, the failures before it are history.
  await expect.poll(() => page.locator(".watch-refused").count(), { timeout: 5000 }).toBe(0);
  const logins = await array.run("session", "logins", "-o", "json");
  const rows: { outcome: string; initiator: string }[] = JSON.parse(logins.output);
  expect(rows.find(({ initiator }) => initiator === IQN)?.outcome).toBe("ok");
});

test("the page of a host follows the stream, and does not poll", async () => {
  await page.goto(`${array.url}/hosts/connect/watch?system=esxi&host=esx05&volume=win-dc1`);
  await page.getByText("logs in").waitFor();
  let asked = 0;
  page.on("request", (request) => {
    if (request.url().includes("/connect/state")) asked += 1;
  });
  await page.waitForTimeout(5000);
  expect((await logIn("not-this-secret")).status).not.toBe(0);
  await page.locator(".watch-refused", { hasText: /CHAP/ }).waitFor({ timeout: 5000 });
  expect(asked).toBeLessThanOrEqual(2);
});

test("the page of a host says what is doubtful about it", async () => {
  await page.goto(`${array.url}/hosts/esx05`);
  await page.getByText("Its last login, from 127.0.0.1, was refused").waitFor();
  expect((await array.run("host", "create", "plain", "--iqn", "iqn.2026-01.org.example:plain")).status).toBe(0);
  await page.goto(`${array.url}/hosts/plain`);
  await page.getByText("It need not authenticate").waitFor();
});

test("nothing is complained about", () => {
  expect(browser.complaints).toEqual([]);
});
