// A forecast in words.

import type { Forecast } from "../api/schema";
import { bytes } from "./units";

const DAY_MS = 86_400_000;

/** `full in about 24 days (20 to 31) · grows by 1 GiB a day`. */
export function forecastWords(forecast: Forecast, present: number): string {
  const slope = forecast.slope_bytes_per_day;
  if (slope == null) return `Not enough history for a forecast: ${forecast.basis_days} of 3 whole days.`;
  const { mid } = slope;
  const size = bytes(Math.abs(mid));
  const growth = mid < 0 ? `shrinks by ${size} a day` : mid === 0 ? "does not grow" : `grows by ${size} a day`;
  if (forecast.full_at == null) return `Forecast: ${growth}.`;
  const days = (at: string): number => Math.max(0, Math.floor((Date.parse(at) - present) / DAY_MS));
  const { full_earliest: earliest, full_latest: latest } = forecast;
  const band =
    earliest == null ? "" : latest == null ? ` (${days(earliest)} or more)` : ` (${days(earliest)} to ${days(latest)})`;
  return `Forecast: full in about ${days(forecast.full_at)} days${band} · ${growth}.`;
}
