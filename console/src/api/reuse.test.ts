import { expect, test } from "vitest";
import { reuse } from "./reuse";

const answer = () => ({
  items: [
    { name: "a", luns: [{ lun: 1 }], size: 1 },
    { name: "b", luns: [], size: 2 },
  ],
  total: 2,
});

test("an equal answer is the object before", () => {
  const before = answer();
  expect(reuse(before, answer())).toBe(before);
});

test("rows that did not change stay, also when others come, go and change", () => {
  const before = answer();
  const after = { ...answer(), items: [{ name: "new", luns: [], size: 0 }, ...answer().items] };
  const changed = after.items[2];
  if (changed !== undefined) changed.size = 3;
  const expected = structuredClone(after);
  const shown = reuse(before, after);
  expect(shown).toEqual(expected);
  expect(shown.items[1]).toBe(before.items[0]);
  expect(shown.items[2]).not.toBe(before.items[1]);
  expect(shown.items[2]?.luns).toBe(before.items[1]?.luns);
});

test("what differs is the answer that came", () => {
  for (const [before, after] of [
    [undefined, { a: 1 }],
    [{ a: 1 }, { a: undefined }],
    [{ a: 1, b: 2 }, { a: 1 }],
    [{ a: 1 }, { b: undefined }],
    [[1, 2], [1]],
    [[1], { 0: 1 }],
    [null, []],
    [[{ id: 1, x: 1 }], [{ id: 2, x: 1 }]],
  ]) {
    expect(reuse(before, after)).toStrictEqual(after);
    expect(reuse(before, after)).not.toBe(before);
  }
});
