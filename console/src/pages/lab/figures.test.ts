import { expect, test } from "vitest";
import type { LabMeasure } from "../../api/schema";
import { figure, gain, headline, lengths, limitOf, paperChange, papers } from "./figures";

const measure = (fields: Partial<LabMeasure>): LabMeasure => ({
  name: "seconds",
  unit: "seconds",
  better: "lower",
  ...fields,
});

test("a gain is how many times better the on side is", () => {
  expect(gain(measure({ off: 20, on: 0.29 }))).toBe("×69");
  expect(gain(measure({ off: 5, on: 10, better: "higher" }))).toBe("×2.0");
  expect(gain(measure({ off: 5, on: 0 }))).toBe("to none");
  expect(gain(measure({ off: 5 }))).toBeUndefined();
  expect(gain(measure({ off: 5, on: 6, better: "neither" }))).toBeUndefined();
});

test("bars have the length of the longest, and the paper's is its ratio", () => {
  expect(lengths(measure({ off: 10, on: 5, paper_ratio: 0.86 }))).toEqual({ off: 1, on: 0.5, paper: 0.86 });
  expect(lengths(measure({ off: 0, on: 0 }))).toEqual({ off: 0, on: 0, paper: undefined });
  expect(lengths(measure({ off: 1, on: 4, paper_ratio: 8 })).on).toBe(0.5);
});

test("a figure has its unit", () => {
  expect(figure(0.047, "seconds")).toBe("47 ms");
  expect(figure(20, "seconds")).toBe("20.0 s");
  expect(figure(0.999, "ratio")).toBe("100 %");
  expect(figure(undefined, "bytes")).toBe("–");
  expect(paperChange(0.86)).toBe("−14 %");
  expect(paperChange(0)).toBe("to none");
});

test("the bars of a case show a time if there is one", () => {
  const wire = measure({ name: "wire_bytes", unit: "bytes", off: 1, on: 0, paper_ratio: 0 });
  const result = { case: "c", outcome: "passed" as const, seconds: 1, goals: 0, goals_reached: 0 };
  expect(headline({ ...result, measures: [wire, measure({ off: 1, on: 2 })] })?.name).toBe("seconds");
  expect(headline({ ...result, measures: [measure({ on: 2 }), wire] })?.name).toBe("wire_bytes");
  expect(headline({ ...result, measures: [] })).toBeUndefined();
});

test("cases are listed by paper, with the reason if none of a paper runs", () => {
  const of = (name: string, test: string, unavailable?: string) => ({
    name,
    title: "t",
    needs: [],
    test,
    system: "s",
    finding: "f",
    ...(unavailable === undefined ? {} : { unavailable }),
  });
  const found = papers([of("c", "P2, x", "no share"), of("a", "P1, y"), of("b", "P1, z", "no share")]);
  expect(found.map(({ name, cases, unavailable }) => [name, cases.length, unavailable])).toEqual([
    ["P1", 2, undefined],
    ["P2", 1, "no share"],
  ]);
});

test("a limit is in milliseconds", () => {
  expect(limitOf("5")).toBe(5000);
  expect(limitOf(" 0,5 ")).toBe(500);
  expect(limitOf("")).toBeUndefined();
  expect([limitOf("x"), limitOf("-1"), limitOf("0")]).toEqual([null, null, null]);
});
