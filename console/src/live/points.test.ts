import { expect, test } from "vitest";
import { added, columnsOf, filled, type Point, pointsOf } from "./points";

const START = Date.parse("2026-01-01T00:00:00Z") / 1000;
const point = (at: number, ...values: (number | null)[]): Point => ({ at: START + at, values });
const history = (...columns: (number | null)[][]) => ({
  start: "2026-01-01T00:00:00Z",
  step_seconds: 1,
  series: columns.map((average) => ({ name: "", unit: "1/s", average, max: average })),
});

test("a step without any value had no sample, and one with some is a point", () => {
  expect(pointsOf(history([null, 4, 0], [null, 9, null]))).toEqual([point(1, 4, 9), point(2, 0, null)]);
  expect(pointsOf(history())).toEqual([]);
});

test("history fills what samples do not have, and takes nothing twice", () => {
  const present = [point(5, 50), point(6, 60)];
  expect(filled(present, [point(3, 3), point(5, 5), point(7, 7)])).toEqual([
    point(3, 3),
    point(5, 50),
    point(6, 60),
    point(7, 7),
  ]);
  expect(filled([], [point(1, 1)])).toEqual([point(1, 1)]);
});

test("ten minutes are kept, and a clock that was set back drops what would be later", () => {
  const points = Array.from({ length: 700 }, (_, at) => at).reduce<Point[]>((all, at) => added(all, point(at, at)), []);
  expect([points.length, points[0]?.at]).toEqual([601, START + 99]);
  expect(added(points, point(120, 1)).map(({ at }) => at - START)).toEqual([
    ...Array.from({ length: 21 }, (_, index) => 99 + index),
    120,
  ]);
});

test("a gap is a point without values, and a late sample is none", () => {
  const points = [point(0, 1, 2), point(2, 0, null), point(9, 3, 4)];
  expect(columnsOf(points, [1, 0])).toEqual({
    times: [START, START + 2, START + 3, START + 9],
    columns: [
      [2, null, null, 4],
      [1, 0, null, 3],
    ],
  });
});
