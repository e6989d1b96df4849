// Changes of several objects, one request each.

/** The person stopped a change of several objects between two of them. */
export class Stopped extends Error {}

/**
 * Acts on each object from position `first` on, and notes how many are done. It ends at the first refusal, and between two
 * objects once `stopped` says so.
 */
export async function oneByOne<T>(
  objects: T[],
  first: number,
  act: (object: T) => Promise<unknown>,
  note: (done: number) => void,
  stopped: () => boolean,
): Promise<void> {
  for (const [index, object] of objects.entries()) {
    if (index < first) continue;
    if (stopped()) throw new Stopped();
    await act(object);
    note(index + 1);
  }
}
