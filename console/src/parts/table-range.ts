// Which rows of a long table are in the page, and orders of rows.

/** Rows above and below those on the screen. */
const MARGIN = 10;

/** Positions of the rows in view and a margin around them. */
export function rowsInView(
  scrollTop: number,
  height: number,
  rowHeight: number,
  total: number,
): { first: number; end: number } {
  const first = Math.max(0, Math.min(total, Math.floor(scrollTop / rowHeight)) - MARGIN);
  const end = Math.min(total, Math.ceil((scrollTop + height) / rowHeight) + MARGIN);
  return { first, end: Math.max(first, end) };
}

/** Names in the order of people: `vm-9` before `vm-10`. */
const names = new Intl.Collator("en", { numeric: true });

/** Compares two values to sort by. */
export function compare(one: string | number, other: string | number): number {
  return typeof one === "number" && typeof other === "number" ? one - other : names.compare(String(one), String(other));
}

/** Rows in an order; equal ones stay as they were. */
export function ordered<Row>(rows: Row[], by: (row: Row) => string | number, descending: boolean): Row[] {
  return rows.toSorted((one, other) => (descending ? compare(by(other), by(one)) : compare(by(one), by(other))));
}
