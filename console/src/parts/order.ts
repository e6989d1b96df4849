// The order of rows as text, in addresses and requests: `-size_bytes` is descending.

import type { Order } from "./table";

/** Reads an order; `undefined` if it is none, or of a column that does not exist. */
export function orderOf(text: string | string[] | undefined, keys: string[]): Order | undefined {
  const first = Array.isArray(text) ? text[0] : text;
  if (first === undefined) return undefined;
  const descending = first.startsWith("-");
  const key = descending ? first.slice(1) : first;
  return keys.includes(key) ? { key, descending } : undefined;
}

/** Writes an order. */
export const textOf = (order: Order): string => (order.descending ? `-${order.key}` : order.key);
