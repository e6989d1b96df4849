// Results of the search box: pages by name, and objects from the array's search.

import { pagePath } from "../api/page-paths";
import { withQuery } from "../api/paths";
import type { Found } from "../api/schema";

/** Result of the search box. */
export interface Hit {
  kind: string;
  name: string;
  /** Text that matched, where that is not the name. */
  matched?: string | undefined;
  path: string;
}

/** Most characters of a search. */
export const LONGEST = 256;

/** Request for the objects that a text finds. */
export const searchPath = (text: string): string => withQuery("/api/v1/search", { q: text.trim() });

/** Found object with its page. */
export function hit({ kind, name, matched }: Found): Hit {
  return {
    kind: kind.replace("-", " "),
    name,
    matched: matched === name ? undefined : matched,
    path: pagePath(kind, name),
  };
}

/** Pages with the text in their names, those that begin with it first. */
export function pagesNamed(pages: Hit[], text: string): Hit[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const place = ({ name }: Hit) => name.toLowerCase().indexOf(wanted);
  return pages
    .filter((page) => place(page) >= 0)
    .toSorted((one, other) => Number(place(one) > 0) - Number(place(other) > 0));
}
