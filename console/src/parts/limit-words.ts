// Limits of QoS policies in words, and as they are written in fields and on the command line.

import type { QosBurst, QosHeld } from "../api/schema";
import { parsePeriod, period } from "./schedule-words";
import { grouped, latency, NONE, parseSize, sizeArgument } from "./units";

const BURSTS = { least: 1, most: 3600 };
/** A burst that is none. */
export const NO_BURST: QosBurst = { per_second: 0, seconds: 0 };

/** A whole number; 0 if there is no text. */
export function wholeOf(text: string): number | undefined {
  if (text.trim() === "") return 0;
  return /^\d{1,13}$/.test(text.trim()) ? Number(text) : undefined;
}

/** A size; 0 if there is no text. */
export const sizeOf = (text: string): number | undefined => (text.trim() === "" ? 0 : parseSize(text));

/** A burst as it is written: `10000@30s`. No burst if there is no text. */
export function burstOf(text: string, amount: (text: string) => number | undefined): QosBurst | undefined {
  if (text.trim() === "") return NO_BURST;
  const [before = "", after = ""] = text.trim().split("@");
  const [per_second, seconds] = [amount(before), parsePeriod(after, BURSTS)];
  return before === "" || per_second === undefined || seconds === undefined ? undefined : { per_second, seconds };
}

/** `10000@30s`, or nothing for no burst. */
export function burstText(burst: QosBurst | null | undefined, amount: (value: number) => string): string {
  if (burst == null || burst.per_second === 0) return "";
  return `${amount(burst.per_second)}@${period(burst.seconds)}`;
}

/** `2000`, and the burst. */
export function iopsWords(iops: number | null | undefined, burst: QosBurst | null | undefined): string {
  if (iops == null) return NONE;
  return [grouped(iops), burstText(burst, grouped).replace("@", " for ")].filter((part) => part !== "").join(", ");
}

/** `100M/s`, and the burst. */
export function bandwidthWords(bytes: number | null | undefined, burst: QosBurst | null | undefined): string {
  if (bytes == null) return NONE;
  const rate = (value: number) => `${sizeArgument(value)}/s`;
  return [rate(bytes), burstText(burst, rate).replace("@", " for ")].filter((part) => part !== "").join(", ");
}

/** `12 commands for 3.4 s, 2 wait`. */
export function heldWords(held: QosHeld | null | undefined): string {
  if (held == null || held.delayed_commands + held.waiting_commands === 0) return "nothing";
  const waiting = held.waiting_commands === 0 ? "" : `, ${grouped(held.waiting_commands)} wait`;
  return `${grouped(held.delayed_commands)} commands for ${latency(held.delay_us)}${waiting}`;
}
