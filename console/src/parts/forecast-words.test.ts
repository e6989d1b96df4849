import { expect, test } from "vitest";
import { forecastWords } from "./forecast-words";

const at = (days: number): string => new Date(days * 86_400_000).toISOString();
const slope = (mid: number) => ({ low: mid, mid, high: mid });

test("a forecast has its band, and says when there is none", () => {
  expect(forecastWords({ basis_days: 2 }, 0)).toBe("Not enough history for a forecast: 2 of 3 whole days.");
  const grows = { basis_days: 9, slope_bytes_per_day: slope(2 ** 30), full_at: at(24) };
  expect(forecastWords(grows, 0)).toBe("Forecast: full in about 24 days · grows by 1 GiB a day.");
  const band = { ...grows, full_earliest: at(20), full_latest: at(31) };
  expect(forecastWords(band, 0)).toBe("Forecast: full in about 24 days (20 to 31) · grows by 1 GiB a day.");
  expect(forecastWords({ ...grows, full_earliest: at(20) }, 0)).toContain("(20 or more)");
  expect(forecastWords({ basis_days: 9, slope_bytes_per_day: slope(-(2 ** 20)) }, 0)).toBe(
    "Forecast: shrinks by 1 MiB a day.",
  );
  expect(forecastWords({ basis_days: 9, slope_bytes_per_day: slope(0) }, 0)).toBe("Forecast: does not grow.");
});
