// What the console is for: without offload the hosts are busy, with it the array is, and the page Offload shows both.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PICTURES, program, started } from "./browser";

/** Longest time for the laboratory's case, both ways. */
const CASE_MS = 120_000;

const { array, browser } = started();

/** Runs a case of the laboratory, which ends with status 0 if all of its checks hold. */
const laboratory = (...words: string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    execFile(program, ["lab", "run", ...words], { timeout: CASE_MS }, (error, stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(`${stdout}${stderr}`));
    });
  });

/** Values of a series, one a second. */
async function series(name: string): Promise<number[]> {
  const asked = await array.ask(`/api/v1/history?series=${name}&points=1000`, {
    Authorization: `Bearer ${array.token}`,
  });
  const found: { series: { average: (number | null)[] }[] } = JSON.parse(asked.body);
  return (found.series[0]?.average ?? []).map((value) => value ?? 0);
}

test("a template is copied by a host, and then by the array", { timeout: 2 * CASE_MS }, async () => {
  expect((await array.run("volume", "create", "lab", "--size", "6G", "-q")).status).toBe(0);
  expect((await array.run("access", "grant", "lab", "--any", "-q")).status).toBe(0);
  const shown = await array.run("volume", "show", "lab", "-o", "json");
  const { luns }: { luns: { iscsi_url: string }[] } = JSON.parse(shown.output);
  const url = luns[0]?.iscsi_url ?? "";
  const page = await browser.open({ width: 1280, height: 860, colorScheme: "light", signedIn: true });
  await page.goto(`${array.url}/offload`);
  await page.getByRole("heading", { name: "Offload", exact: true }).waitFor();
  await laboratory("clone-template", url, "--size", "1G", "--save", join(array.path, "results.json"));
  // A sample is there soon after its second.
  await expect.poll(async () => Math.max(...(await series("array.offloaded_bytes")))).toBeGreaterThan(100e6);
  const [network, offloaded] = [await series("array.network_bytes"), await series("array.offloaded_bytes")];
  const [mostByHost, mostByArray] = [Math.max(...network), Math.max(...offloaded)];
  const at = offloaded.indexOf(mostByArray);
  expect(mostByHost).toBeGreaterThan(20e6);
  expect(mostByArray).toBeGreaterThan(100e6);
  // In its busiest second the array does far more than the network carries.
  expect(network[at] ?? 0).toBeLessThan(mostByArray / 10);

  // The command line tells of the same copies.
  const told = await array.run("offload", "stats", "-o", "json");
  const rows: { primitive: string; ok: number; host_bytes_avoided: number }[] = JSON.parse(told.output);
  const copies = rows.find(({ primitive }) => primitive === "xcopy");
  expect(copies?.ok).toBeGreaterThan(0);
  expect(copies?.host_bytes_avoided).toBeGreaterThan(100e6);
  if (PICTURES !== undefined) {
    await page.screenshot({ path: join(PICTURES, "offload-light.png") });
    const dark = await browser.open({ width: 1280, height: 860, colorScheme: "dark", signedIn: true });
    await dark.goto(`${array.url}/offload`);
    await dark.getByRole("heading", { name: "Offload", exact: true }).waitFor();
    await dark.waitForTimeout(2500);
    await dark.screenshot({ path: join(PICTURES, "offload-dark.png") });
  }
  expect(browser.complaints).toEqual([]);
});
