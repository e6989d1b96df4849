import { expect, test } from "vitest";
import {
  keepArgument,
  keepWords,
  LOCKS,
  minuteOf,
  PERIODS,
  parsePeriod,
  period,
  timeOfDay,
  whenArguments,
  whenWords,
} from "./schedule-words";

test("times are shown and read alike", () => {
  for (const minute of [0, 90, 1439]) expect(minuteOf(timeOfDay(minute))).toBe(minute);
  for (const wrong of ["24:00", "1:60", "noon", "", "12"]) expect(minuteOf(wrong)).toBeUndefined();
  for (const seconds of [60, 900, 3600, 86_400, 90_000, 61])
    expect(parsePeriod(period(seconds), PERIODS)).toBe(seconds);
  for (const wrong of ["59s", "31d", "1w", "m", ""]) expect(parsePeriod(wrong, PERIODS)).toBeUndefined();
  for (const seconds of [1, 30, 750 * 3600, 366 * 86_400]) expect(parsePeriod(period(seconds), LOCKS)).toBe(seconds);
  expect(parsePeriod("367d", LOCKS)).toBeUndefined();
});

test("times in words and as arguments", () => {
  expect(whenWords({ every: { seconds: 900 } })).toBe("every 15m");
  expect(whenArguments({ daily: { minute: 120 } })).toEqual(["--daily", "02:00"]);
  expect(whenWords({ weekly: { day: 7, minute: 180 } })).toBe("Sunday at 03:00");
  expect(whenArguments({ weekly: { day: 7, minute: 180 } })).toEqual(["--weekly", "sun@03:00"]);
});

test("rules leave out what keeps nothing", () => {
  const keep = { hourly: 24, daily: 1, weekly: 0, monthly: 12 };
  expect(keepWords(keep)).toBe("24 hours, 1 day, 12 months");
  expect(keepArgument(keep)).toBe("hourly=24,daily=1,monthly=12");
  expect(keepWords({})).toBe("");
});
