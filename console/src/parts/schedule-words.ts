// Times and rules of schedules in words, and as the command line takes them.

import type { Keep, When } from "../api/schema";

/** Days of the week, Monday first, as the command line names them. */
const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/** Their names. */
export const DAY_WORDS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const two = (value: number): string => String(value).padStart(2, "0");

/** `02:30`, of a minute of the day. */
export const timeOfDay = (minute: number): string => `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;

/** Minute of the day, of `02:30`. */
export function minuteOf(text: string): number | undefined {
  const found = /^(\d{1,2}):(\d{2})$/.exec(text.trim());
  const [hour, minute] = [Number(found?.[1]), Number(found?.[2])];
  return found !== null && hour < 24 && minute < 60 ? hour * 60 + minute : undefined;
}

/** `15m`: the largest unit that fits. */
export function period(seconds: number): string {
  for (const [unit, length] of [
    ["d", 86_400],
    ["h", 3600],
    ["m", 60],
  ] as const) {
    if (seconds % length === 0) return `${seconds / length}${unit}`;
  }
  return `${seconds}s`;
}

/** Shortest and longest time between two runs, and of a lock, in seconds. */
export const PERIODS = { least: 60, most: 30 * 86_400 };
export const LOCKS = { least: 1, most: 366 * 86_400 };

/** Seconds, of `15m`, within bounds. */
export function parsePeriod(text: string, { least, most }: { least: number; most: number }): number | undefined {
  const found = /^(\d{1,9})\s*(s|m|min|h|d)$/.exec(text.trim());
  const unit = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 }[found?.[2] ?? ""];
  const seconds = found === null || unit === undefined ? 0 : Number(found[1]) * unit;
  return seconds >= least && seconds <= most ? seconds : undefined;
}

/** `every 15m`, `daily at 02:00`, `Sunday at 03:00`. */
export function whenWords(when: When): string {
  if ("every" in when) return `every ${period(when.every.seconds)}`;
  if ("daily" in when) return `daily at ${timeOfDay(when.daily.minute)}`;
  return `${DAY_WORDS[when.weekly.day - 1] ?? "?"} at ${timeOfDay(when.weekly.minute)}`;
}

/** Words of the command line for the times. */
export function whenArguments(when: When): string[] {
  if ("every" in when) return ["--every", period(when.every.seconds)];
  if ("daily" in when) return ["--daily", timeOfDay(when.daily.minute)];
  return ["--weekly", `${DAYS[when.weekly.day - 1] ?? "mon"}@${timeOfDay(when.weekly.minute)}`];
}

/** Rules of retention in the order in which they are shown. */
export const RULES = ["hourly", "daily", "weekly", "monthly"] as const;
const RULE_WORDS = { hourly: "hour", daily: "day", weekly: "week", monthly: "month" };

/** `24 hours, 7 days`, or nothing. */
export function keepWords(keep: Keep): string {
  return RULES.filter((rule) => (keep[rule] ?? 0) > 0)
    .map((rule) => `${keep[rule]} ${RULE_WORDS[rule]}${keep[rule] === 1 ? "" : "s"}`)
    .join(", ");
}

/** `hourly=24,daily=7`, or nothing. */
export const keepArgument = (keep: Keep): string =>
  RULES.filter((rule) => (keep[rule] ?? 0) > 0)
    .map((rule) => `${rule}=${keep[rule]}`)
    .join(",");
