// Alerts: who looks after them, and channels that are told of them.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { started } from "./browser";

const { array, browser } = started();
const receiver = createSocket("udp4");
let page: Page;

beforeAll(async () => {
  receiver.bind(0, "127.0.0.1");
  await once(receiver, "listening");
  page = await browser.open({ width: 1280, height: 900, colorScheme: "light", signedIn: true });
});

afterAll(() => {
  receiver.close();
});

test("a channel is tested, and its peer gets the message", async () => {
  await page.goto(`${array.url}/settings`);
  await page.getByText("No channel sends alerts.").waitFor();
  const peer = ["--host", "127.0.0.1", "--port", String(receiver.address().port), "--transport", "udp"];
  const made = await array.run("channel", "create", "syslog", "siem", ...peer, "-q");
  expect(made.status, made.output).toBe(0);
  await page.goto(`${array.url}/settings`);
  await page.getByText("never used").waitFor();
  const received = once(receiver, "message");
  await page.getByRole("button", { name: "Test…" }).click();
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("The peer has taken it").waitFor();
  expect(String((await received)[0])).toContain("windlass");
  await page.locator("dialog footer").getByRole("button").last().click();
});

test("an alert is acknowledged with a note, and the acknowledgement taken back", { timeout: 120_000 }, async () => {
  expect((await array.run("pool", "set", "p0", "--warn", "1", "-q")).status).toBe(0);
  await page.goto(`${array.url}/activity/alerts`);
  await page.getByText("% of the pool is used or promised").waitFor();
  await page.getByRole("button", { name: "Acknowledge…" }).click();
  await page.locator("dialog").getByLabel("Note").fill("a disk is ordered");
  await page.getByRole("button", { name: "Acknowledge", exact: true }).click();
  await page.getByText("Nothing needs attention.").waitFor();
  await page.getByLabel("State of the alerts").selectOption("acknowledged");
  await page.getByText("acknowledged by bootstrap").waitFor();
  await page.getByText("a disk is ordered").waitFor();
  const listed = await array.run("alert", "list", "-o", "json");
  expect(listed.output).toContain("a disk is ordered");
  await page.getByRole("button", { name: "Take back…" }).click();
  await page.getByRole("button", { name: "Take back", exact: true }).click();
  await page.getByText("No alert that holds is acknowledged.").waitFor();
  await page.getByLabel("State of the alerts").selectOption("active");
  await page.getByRole("button", { name: "Acknowledge…" }).waitFor();
  // When it has not held for 15 seconds, it has ended.
  expect((await array.run("pool", "set", "p0", "--warn", "80", "-q")).status).toBe(0);
  const ended = async () => (await array.run("alert", "list", "--ended", "-o", "json")).output;
  await expect.poll(ended, { timeout: 40_000, interval: 1000 }).toContain("pool-threshold");
  await page.goto(`${array.url}/activity/alerts?state=ended`);
  await page.getByText("· ended").waitFor();
  expect(browser.complaints).toEqual([]);
});
