// What the search box finds among names.

/** Something to find. */
export interface Named {
  kind: "page" | "volume" | "host" | "share" | "snapshot";
  name: string;
  /** Other texts by which it is found: NAA, serial, initiator names. */
  also: string[];
  path: string;
}

/** The best matches: names that begin with the text, then names that contain it, then other texts. */
export function matches(names: Named[], text: string, most: number): Named[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const grade = ({ name, also }: Named): number => {
    const lower = name.toLowerCase();
    if (lower === wanted) return 0;
    if (lower.startsWith(wanted)) return 1;
    if (lower.includes(wanted)) return 2;
    return also.some((other) => other.toLowerCase().includes(wanted)) ? 3 : 4;
  };
  const graded = names.map((named) => ({ named, grade: grade(named) })).filter(({ grade }) => grade < 4);
  return graded
    .toSorted((one, other) => one.grade - other.grade)
    .slice(0, most)
    .map(({ named }) => named);
}
