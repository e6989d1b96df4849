// Two people change one object: what the dialog showed, what the object is now, and what is wanted.

import { createSignal, For, type JSX } from "solid-js";
import { read } from "../api/client";
import { Refused } from "../api/failure";
import { collides, differences, shortly } from "./differences";

/** The object that a dialog changes. */
export interface Edited {
  path: string;
  /** The object as the dialog shows it. */
  shown: object;
}

/** A change of an object that has to be as the dialog shows it. */
export interface Guarded {
  /** The present object, after another administrator has changed it. */
  present: () => object | undefined;
  /** Sends a change with the tag of the object. `Conflicted`: the object has changed; both versions are shown then. */
  change: <T>(send: (tag: string | undefined) => Promise<T>, wanted: object) => Promise<T>;
}

/** Shows in the dialog that another administrator has changed the object. */
export class Conflicted extends Error {}

/** Reads an object; without an answer, it is read again when it is needed. */
const attempt = (path: string) => read<object>(path).catch(() => undefined);

export function guarded(edited: () => Edited | undefined): Guarded {
  const [conflicted, setPresent] = createSignal<object>();
  const path = edited()?.path;
  // Read when the dialog opens: every later change of others is refused by the array.
  let known = path === undefined ? undefined : attempt(path);
  const conflict = async (of: string): Promise<never> => {
    const now = await read<object>(of);
    known = Promise.resolve(now);
    setPresent(() => now.object);
    throw new Conflicted();
  };
  return {
    present: conflicted,
    change: async (send, wanted) => {
      const [of, shown] = [edited(), conflicted()];
      if (of === undefined) return send(undefined);
      const present = (await known) ?? (await read<object>(of.path));
      // The dialog may show an older list, until it has shown the conflict.
      if (shown === undefined && collides(of.shown, present.object, wanted)) return conflict(of.path);
      try {
        return await send(present.tag);
      } catch (error) {
        if (!(error instanceof Refused) || error.problem.code !== "changed-meanwhile") throw error;
        return conflict(of.path);
      }
    },
  };
}

/** Both versions, and what is wanted. */
export function ConflictBox(props: { shown: object; now: object; wanted: object }): JSX.Element {
  return (
    <div class="failure" role="alert">
      <strong>It was changed meanwhile.</strong>
      <p>Nothing of yours was changed. Press the button again to make your change to the object as it is now.</p>
      <table>
        <thead>
          <tr>
            <th>Field</th>
            <th>When you began</th>
            <th>Now</th>
            <th>You want</th>
          </tr>
        </thead>
        <tbody>
          <For each={differences(props.shown, props.now, props.wanted)}>
            {({ field, before, now, wanted }) => (
              <tr>
                <th>{field.replaceAll("_", " ")}</th>
                <td>{shortly(before)}</td>
                <td>{shortly(now)}</td>
                <td>{field in props.wanted ? shortly(wanted) : "as it is now"}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}
