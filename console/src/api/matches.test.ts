import { expect, test } from "vitest";
import { matches, type Named } from "./matches";

const named = (name: string, also: string[] = []): Named => ({ kind: "volume", name, also, path: `/volumes/${name}` });

test("the best match comes first", () => {
  const names = [named("old-db"), named("db-2"), named("other", ["6025db"]), named("db"), named("web")];
  expect(matches(names, " DB ", 9).map(({ name }) => name)).toEqual(["db", "db-2", "old-db", "other"]);
  expect(matches(names, "db", 2)).toHaveLength(2);
  expect(matches(names, "  ", 9)).toEqual([]);
});
