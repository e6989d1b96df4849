// Answers that are read again at an interval: what did not change stays the same object, so that the page leaves it, with
// its focus and its opened details, as it is.

type Fields = Record<string, unknown>;

/** `after`, with each part that equals its counterpart in `before` replaced by that. */
export function reuse<T>(before: unknown, after: T): T {
  if (before === after || !isObject(before) || !isObject(after) || Array.isArray(before) !== Array.isArray(after)) {
    return after;
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const present = new Map(before.map((row, index) => [keyOf(row, index), row]));
    const merged = after.map((row, index) => reuse(present.get(keyOf(row, index)), row));
    const equal = merged.length === before.length && merged.every((row, index) => row === before[index]);
    return (equal ? before : merged) as T;
  }
  const [old, next] = [before as Fields, after as Fields];
  const names = Object.keys(next);
  const merged = Object.fromEntries(names.map((name) => [name, reuse(old[name], next[name])]));
  const equal =
    names.length === Object.keys(old).length && names.every((name) => name in old && merged[name] === old[name]);
  return (equal ? before : merged) as T;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Key of a row: its id, key or name, else its position. */
function keyOf(row: unknown, index: number): unknown {
  const { id, key, name } = isObject(row) ? (row as Fields) : {};
  return id ?? key ?? name ?? index;
}
