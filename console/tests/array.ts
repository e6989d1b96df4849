// A real array on the loopback interface, with a pool of its own, for tests in a browser.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Longest time until a new array is ready. */
const READY_MS = 60_000;
const COMMAND_MS = 10_000;

/** Connections are used again. */
const agent = new Agent({ keepAlive: true, maxSockets: 4 });

/** Exit status and output of a command. */
export interface Outcome {
  /** `undefined` if it was still running at the end of its time. */
  status: number | undefined;
  output: string;
}

export class TestArray {
  private readonly directory = mkdtempSync(join(tmpdir(), "windlass-console-"));
  private process: ChildProcess | undefined;
  /** Addresses, the same after each start. */
  private addresses = { iscsi: "127.0.0.1:0", nfs: "127.0.0.1:0", http: "127.0.0.1:0" };

  /** `program` is the program `windlass`. */
  constructor(private readonly program: string) {}

  /** Starts it, and waits until it serves. */
  async start(): Promise<void> {
    const { iscsi, nfs, http } = this.addresses;
    const options = ["--state-dir", this.directory, "--pool-size", "4G", "--log", "error"];
    const child = spawn(this.program, ["serve", ...options, "--iscsi", iscsi, "--nfs", nfs, "--http", http], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.process = child;
    const line = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("the array is not ready in time")), READY_MS);
      child.once("exit", (status) => reject(new Error(`the array ended with status ${status}`)));
      createInterface({ input: child.stdout }).on("line", (text) => {
        if (!text.startsWith("ready ")) return;
        clearTimeout(timer);
        resolve(text);
      });
    });
    const field = (name: string) =>
      line
        .split(" ")
        .find((word) => word.startsWith(`${name}=`))
        ?.slice(name.length + 1) ?? "";
    this.addresses = { iscsi: field("iscsi"), nfs: field("nfs"), http: field("http").replace("https://", "") };
  }

  /** Stops it, as a service manager does. */
  async stop(): Promise<void> {
    const child = this.process;
    if (child === undefined) return;
    this.process = undefined;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  }

  /** Stops it and removes its directory. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  get url(): string {
    return `https://${this.addresses.http}`;
  }

  get token(): string {
    return readFileSync(join(this.directory, "admin.token"), "utf8").trim();
  }

  /** Its state directory. */
  get path(): string {
    return this.directory;
  }

  /** Code with which the first administrator is made. */
  get setupCode(): string {
    return readFileSync(join(this.directory, "setup.code"), "utf8").trim();
  }

  /** Runs a command of the command line. */
  run(...words: string[]): Promise<Outcome> {
    return new Promise((resolve) => {
      const environment = { ...process.env, WINDLASS_SERVER: `unix:${join(this.directory, "windlass.sock")}` };
      execFile(this.program, words, { env: environment, timeout: COMMAND_MS }, (error, stdout, stderr) => {
        const status = error === null ? 0 : typeof error.code === "number" ? error.code : undefined;
        resolve({ status, output: stdout + stderr });
      });
    });
  }

  /** Asks for a path, or posts a body; status, headers and body of the answer. */
  ask(
    path: string,
    headers: Record<string, string>,
    body?: unknown,
  ): Promise<{ status: number; headers: Record<string, unknown>; body: string }> {
    return new Promise((resolve, reject) => {
      // The certificate is the array's own; the connection stays on this machine.
      const options = { headers, method: body === undefined ? "GET" : "POST", rejectUnauthorized: false, agent };
      const sent = request(this.url + path, options, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(parts).toString(),
          });
        });
      });
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Number of bytes that the array sends for a path within a time. */
  received(path: string, headers: Record<string, string>, milliseconds: number): Promise<number> {
    return new Promise((resolve, reject) => {
      let bytes = 0;
      const sent = request(this.url + path, { headers, rejectUnauthorized: false }, (response) => {
        response.on("data", (part: Buffer) => {
          bytes += part.length;
        });
        setTimeout(() => {
          sent.destroy();
          resolve(bytes);
        }, milliseconds);
      });
      // The end of a stream that is not read further is no failure.
      sent.on("error", (error) => (sent.destroyed ? undefined : reject(error)));
      sent.end();
    });
  }
}
