import { expect, test } from "vitest";
import { oneByOne, Stopped } from "./one-by-one";

test("it stops between two objects, and goes on with the next", async () => {
  const acted: string[] = [];
  let done = 0;
  const act = async (name: string) => void acted.push(name);
  const run = (stopped: () => boolean) =>
    oneByOne(
      ["a", "b", "c"],
      done,
      act,
      (count) => {
        done = count;
      },
      stopped,
    );
  await expect(run(() => acted.length === 2)).rejects.toBeInstanceOf(Stopped);
  expect([acted.join(), done]).toEqual(["a,b", 2]);
  await run(() => false);
  expect([acted.join(), done]).toEqual(["a,b,c", 3]);
});

test("it ends at the first refusal, which is not counted as done", async () => {
  let done = 0;
  const act = async (name: string) => {
    if (name === "b") throw new Error("refused");
  };
  const note = (count: number) => {
    done = count;
  };
  await expect(oneByOne(["a", "b", "c"], 0, act, note, () => false)).rejects.toThrow("refused");
  expect(done).toBe(1);
});
