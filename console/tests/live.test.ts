// The live stream and history behind the pages, against a real array with real reads and writes.

import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { started } from "./browser";

const { array, browser } = started();
let page: Page;
let volume = "";

/** Reads, writes and offloads of a host. */
async function work(): Promise<void> {
  const { items } = JSON.parse((await array.ask("/api/v1/access", { Authorization: `Bearer ${array.token}` })).body);
  const { status, output } = await array.run("probe", items[0].iscsi_url, "--write-test");
  expect(status, output).toBe(0);
}

/** Paths and headers of the requests of a page from now on. */
function requestsOf(of: Page, method: string, path: string): { url: string; headers: Record<string, string> }[] {
  const found: { url: string; headers: Record<string, string> }[] = [];
  of.on("request", (sent) => {
    if (sent.method() === method && new URL(sent.url()).pathname.startsWith(path))
      found.push({ url: decodeURIComponent(sent.url()), headers: sent.headers() });
  });
  return found;
}

/** A value in the legend of a chart: `latest`, `max`, `min` and `avg` are columns 0 to 3. */
const legend = (of: Page, chart: string, line: string, column: number) =>
  of.locator("figure.chart", { hasText: chart }).locator("tr", { hasText: line }).locator("td").nth(column);

const open = () => browser.open({ width: 1280, height: 900, colorScheme: "light", signedIn: true });

beforeAll(async () => {
  for (const words of ["volume create busy --size 64M", "access grant busy --any"]) {
    const { status, output } = await array.run(...words.split(" "), "-q", "--yes");
    expect(status, output).toBe(0);
  }
  volume = JSON.parse((await array.run("volume", "show", "busy", "-o", "json")).output).id;
  await work();
  page = await open();
});

test("charts begin with what happened before the page was opened", async () => {
  await page.goto(`${array.url}/`);
  await expect.poll(() => legend(page, "IOPS", "write", 1).textContent(), { timeout: 5000 }).toMatch(/[1-9]/);
  await expect.poll(() => legend(page, "Host and array", "by the array", 1).textContent()).toMatch(/[1-9]/);
  await page.locator(".card", { hasText: "Busiest" }).getByRole("link", { name: "busy" }).waitFor();
  await page.goto(`${array.url}/volumes/busy/performance`);
  await expect.poll(() => legend(page, "Throughput", "write", 1).textContent(), { timeout: 5000 }).toMatch(/[1-9]/);
  // Nothing is read or written now, which is known: rates are 0, and there is no latency.
  await expect.poll(() => legend(page, "IOPS", "write", 0).textContent()).toBe("0");
});

test("a page has one connection of HTTP/2 for its files, requests and stream", async () => {
  const protocols = await page.evaluate(() => {
    const timed = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    const sent = (timed as PerformanceResourceTiming[]).filter((entry) => entry.transferSize > 0);
    return sent.map((entry) => entry.nextHopProtocol);
  });
  expect(protocols.length).toBeGreaterThan(3);
  expect(new Set(protocols)).toEqual(new Set(["h2"]));
});

test("a tab has one stream whatever it shows, and its topics follow the page", async () => {
  const [streams, topics] = [requestsOf(page, "GET", "/api/v1/live"), requestsOf(page, "PUT", "/api/v1/live/")];
  const last = async () => {
    const answer = page.waitForResponse((response) => response.request().method() === "PUT");
    return (await answer).request().postDataJSON().topics as string;
  };
  await page.goto(`${array.url}/hosts`);
  await expect.poll(() => streams.length).toBe(1);
  expect(streams[0]?.url).toContain("topics=array+changes+jobs+alerts");
  expect(streams[0]?.headers.authorization).toBe(`Bearer ${array.token}`);
  let next = last();
  await page.locator("nav.rail").getByRole("link", { name: "Volumes" }).click();
  expect(await next).toContain(`volumes:${volume}`);
  const cell = page.locator("[data-row]", { hasText: "busy" }).locator("td").nth(6);
  await expect.poll(() => cell.textContent()).toBe("0");
  next = last();
  await page.locator("nav.rail").getByRole("link", { name: "Overview" }).click();
  expect(await next).toBe("array changes jobs alerts busiest events");
  expect([streams.length, topics.length]).toEqual([1, 2]);
});

test("what happens while a page is open is drawn", { timeout: 60_000 }, async () => {
  await page.goto(`${array.url}/volumes/busy`);
  const latest = () => legend(page, "IOPS", "write", 0).textContent();
  await expect.poll(latest).toBe("0");
  const seen: string[] = [];
  const watching = setInterval(
    () =>
      void latest().then(
        (text) => seen.push(text ?? ""),
        () => undefined,
      ),
    200,
  );
  await work();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  clearInterval(watching);
  expect(seen.some((text) => /[1-9]/.test(text))).toBe(true);
  expect(await latest()).toBe("0");
});

test("a page that is hidden for a minute closes its stream, and asks history for the gap", async () => {
  const hidden = await open();
  await hidden.clock.install();
  const [streams, histories] = [
    requestsOf(hidden, "GET", "/api/v1/live"),
    requestsOf(hidden, "GET", "/api/v1/history"),
  ];
  let closed = 0;
  hidden.on("requestfailed", (sent) => {
    if (sent.url().includes("/api/v1/live?")) closed += 1;
  });
  await hidden.goto(`${array.url}/`);
  await expect.poll(() => legend(hidden, "IOPS", "write", 1).textContent()).toMatch(/[0-9]/);
  await expect.poll(() => streams.length).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const turn = (away: boolean) =>
    hidden.evaluate((state) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => state });
      document.dispatchEvent(new Event("visibilitychange"));
    }, away);
  await turn(true);
  await hidden.clock.fastForward(61_000);
  await expect.poll(() => closed).toBeGreaterThan(0);
  const before = [streams.length, histories.length];
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect([streams.length, histories.length]).toEqual(before);
  await turn(false);
  await expect.poll(() => streams.length).toBe((before[0] ?? 0) + 1);
  expect(streams.at(-1)?.headers["last-event-id"]).toMatch(/^[0-9]+\.[0-9]+\.[0-9]+$/);
  await expect.poll(() => histories.at(-1)?.url).toContain("from=");
  await hidden.context().close();
});

test("without a stream the page asks the array", { timeout: 60_000 }, async () => {
  const without = await open();
  const problem = { type: "", title: "", status: 429, code: "too-many-streams", detail: "" };
  await without.route("**/api/v1/live?*", (route) =>
    route.fulfill({ status: 429, contentType: "application/problem+json", body: JSON.stringify(problem) }),
  );
  await without.goto(`${array.url}/`);
  await expect.poll(() => legend(without, "IOPS", "write", 1).textContent()).toMatch(/[1-9]/);
  await without.goto(`${array.url}/volumes`);
  await without.locator("[data-row]", { hasText: "busy" }).waitFor();
  expect((await array.run("volume", "grow", "busy", "--size", "1G")).status).toBe(0);
  await without.locator("[data-row]", { hasText: "1 GiB" }).waitFor();
  await without.context().close();
});

test("a restart of the array leaves a gap, and the page goes on by itself", { timeout: 120_000 }, async () => {
  await page.goto(`${array.url}/`);
  await expect.poll(() => legend(page, "IOPS", "write", 0).textContent()).toBe("0");
  const streams = requestsOf(page, "GET", "/api/v1/live");
  await array.stop();
  await page.getByText("No contact with the array").waitFor();
  await new Promise((resolve) => setTimeout(resolve, 5000));
  await array.start();
  await page.getByText("No contact with the array").waitFor({ state: "detached", timeout: 30_000 });
  await expect.poll(() => legend(page, "IOPS", "write", 0).textContent(), { timeout: 10_000 }).toBe("0");
  expect(streams.at(-1)?.headers["last-event-id"]).toBeDefined();
  // An array that started again has other events: the page reads everything, and shows a change as before.
  expect((await array.run("volume", "create", "after", "--size", "1M", "-q")).status).toBe(0);
  await page.locator("nav.rail").getByRole("link", { name: "Volumes" }).click();
  await page.locator("[data-row]", { hasText: "after" }).waitFor();
});

test("the browser has nothing to complain about", () => {
  expect(browser.complaints).toEqual([]);
});
