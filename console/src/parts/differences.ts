// Fields in which an object differs from what a dialog shows, and from what is wanted.

/** A field that another administrator has changed, or that this dialog changes. */
export interface Difference {
  field: string;
  before: unknown;
  now: unknown;
  wanted: unknown;
}

const fieldOf = (of: object, field: string): unknown => (of as Record<string, unknown>)[field] ?? undefined;
const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Fields that matter: those of the change, and those that differ in what can be changed. */
export function differences(shown: object, now: object, wanted: object): Difference[] {
  return Object.keys({ ...now, ...wanted })
    .map((field) => ({
      field,
      before: fieldOf(shown, field),
      now: fieldOf(now, field),
      wanted: fieldOf(wanted, field),
    }))
    .filter(({ field, before, now: present }) => field in wanted || (MAY_CHANGE.has(field) && !same(before, present)));
}

/** Fields that people change; others, such as usage, differ by themselves. */
const MAY_CHANGE = new Set(
  "name size_bytes write_cache reserve overwrite_reserve_percent zero_detection warn_percent critical_percent labels \
protocols copy quota_bytes iqns addresses chap hosts enabled min_severity codes quiet_hours settings \
when zone volumes label keep keep_last lock_seconds paused".split(" "),
);

/** True if the object was changed in a field that the change is about. */
export const collides = (shown: object, now: object, wanted: object): boolean =>
  Object.keys(wanted).some((field) => MAY_CHANGE.has(field) && !same(fieldOf(shown, field), fieldOf(now, field)));

/** A value in few characters. */
export function shortly(value: unknown): string {
  if (value === undefined || value === null) return "–";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
