// A browser for tests, whose pages report what must not happen.

import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { TestArray } from "./array";

const browserPath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync) ?? "chromium";

/** The program under test. */
export const program = process.env.WINDLASS ?? "../target/debug/windlass";

/** Directory for pictures of the pages, if they are wanted. */
export const PICTURES = process.env.WINDLASS_PICTURES;

/** Kind of a page. */
export interface PageOptions {
  width: number;
  height: number;
  colorScheme: "light" | "dark";
  /** With the token of the array. */
  signedIn: boolean;
}

export class TestBrowser {
  /** Errors that the browser reported, and requests to other origins. */
  readonly complaints: string[] = [];
  private browser: Browser | undefined;

  constructor(private readonly array: TestArray) {}

  async start(): Promise<void> {
    this.browser = await chromium.launch({
      executablePath: browserPath,
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    });
  }

  async close(): Promise<void> {
    await this.browser?.close();
  }

  /** Opens a page in a context of its own. */
  async open(options: PageOptions): Promise<Page> {
    if (this.browser === undefined) throw new Error("the browser is not started");
    const { width, height, colorScheme, signedIn } = options;
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme,
      ignoreHTTPSErrors: true,
      reducedMotion: "reduce",
    });
    context.setDefaultTimeout(20_000);
    context.on("page", (opened) => this.watch(opened));
    if (signedIn)
      await context.addInitScript((token) => {
        // Not before the first page: about:blank has no storage.
        if (location.protocol === "https:") sessionStorage.setItem("windlass-token", token);
      }, this.array.token);
    return context.newPage();
  }

  private watch(opened: Page): void {
    const { complaints } = this;
    opened.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
    opened.on("console", (message) => {
      // Refused requests are part of the tests; the browser reports each.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        complaints.push(message.text());
    });
    opened.on("request", (sent) => {
      if (!sent.url().startsWith(`${this.array.url}/`) && !sent.url().startsWith("data:"))
        complaints.push(`request: ${sent.url()}`);
    });
  }
}

/** An array and a browser that run while the tests of a file do. What the file does before its tests comes after their start. */
export function started(): { array: TestArray; browser: TestBrowser } {
  const array = new TestArray(program);
  const browser = new TestBrowser(array);
  beforeAll(async () => {
    await array.start();
    await browser.start();
  });
  afterAll(async () => {
    await browser.close();
    await array.remove();
  });
  return { array, browser };
}
