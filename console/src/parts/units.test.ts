import { expect, test } from "vitest";
import { bytes, exactBytes, grouped, latency, parseSize, percent, rate, sizeArgument, times } from "./units";

test("bytes have at most four characters of digits and a binary unit", () => {
  const shown = [0, 1, 1023, 1024, 1536, 10 * 2 ** 20, 1023.4 * 2 ** 30, 1023.6 * 2 ** 30, 2 ** 50].map(bytes);
  expect(shown).toEqual(["0 B", "1 B", "1023 B", "1 KiB", "1.5 KiB", "10 MiB", "1023 GiB", "1.0 TiB", "1 PiB"]);
});

test("exact numbers are grouped", () => {
  expect(exactBytes(66215936)).toBe("66\u202f215\u202f936 bytes");
  expect([0, 999, 1000, 18207].map(grouped)).toEqual(["0", "999", "1\u202f000", "18\u202f207"]);
});

test("latency changes its unit at a thousand", () => {
  expect([0, 210, 999, 1000, 1234, 12_340, 999_999, 1_500_000].map(latency)).toEqual([
    "0 µs",
    "210 µs",
    "999 µs",
    "1 ms",
    "1.2 ms",
    "12.3 ms",
    "1000 ms",
    "1.5 s",
  ]);
});

test("rates, shares and factors", () => {
  expect([0, 0.25, 812, 1200, 3_400_000].map(rate)).toEqual(["0", "0.25", "812", "1.2 k", "3.4 M"]);
  expect([percent(62, 100), percent(1, 40), percent(0, 40), percent(1, 0)]).toEqual(["62 %", "2.5 %", "0 %", "–"]);
  expect([times(1.7), times(7969.93)]).toEqual(["×1.7", "×7\u202f970"]);
});

test("sizes are read exactly, and ambiguous ones are refused", () => {
  expect(parseSize("100G")).toBe(100 * 2 ** 30);
  expect(parseSize(" 1.5 TiB ")).toBe(1.5 * 2 ** 40);
  expect(parseSize("4096")).toBe(4096);
  expect(parseSize("8m")).toBe(8 * 2 ** 20);
  for (const text of ["", "G", "10GB", "1,5G", "-1", "0.3", "1.0001K", "99999P", "1e3"]) {
    expect(parseSize(text), text).toBeUndefined();
  }
});

test("a size for the command line is read back as the same size", () => {
  for (const size of [0, 512, 513, 2 ** 20, 1536 * 2 ** 20, 100 * 2 ** 30, 2 ** 48]) {
    expect(parseSize(sizeArgument(size))).toBe(size);
  }
  expect(sizeArgument(100 * 2 ** 30)).toBe("100G");
});
