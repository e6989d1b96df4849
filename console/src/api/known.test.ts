import { expect, test } from "vitest";
import { NoContact } from "./failure";
import { type Answered, answerOf, type Known } from "./known";

const before: Answered = { of: "/volumes/a", value: "content of a" };
const awaited: Known = { data: undefined, failure: undefined, asOf: undefined };

test("the page of one object never shows the answer about another", () => {
  expect(answerOf(before, "/volumes/b", awaited, false)).toEqual({ of: "/volumes/b", value: undefined });
  const failed = { ...awaited, failure: new NoContact() };
  expect(answerOf(before, "/volumes/b", failed, false).value).toBeUndefined();
  expect(answerOf(before, undefined, undefined, false).value).toBeUndefined();
});

test("a view that asks for it keeps the answer before while it waits, and not after a failure", () => {
  expect(answerOf(before, "/events?code=x", awaited, true)).toBe(before);
  expect(answerOf(before, "/events?code=x", { ...awaited, failure: new NoContact() }, true).value).toBeUndefined();
  expect(answerOf(before, "/events?code=x", { ...awaited, data: "x", asOf: 1 }, true).value).toBe("x");
});

test("after a failure the last answer for the same path stays", () => {
  const known = { data: "content of a", failure: new NoContact(), asOf: 1 };
  expect(answerOf(before, "/volumes/a", known, false)).toBe(before);
});
