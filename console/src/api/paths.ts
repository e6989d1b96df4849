// Paths of the REST interface.

/** Path below `/api/v1`, each segment encoded. */
export const api = (...segments: string[]): string => `/api/v1/${segments.map(encodeURIComponent).join("/")}`;

/** A path with parameters; those without a value are left out. */
export function withQuery(path: string, parameters: Record<string, string | number | boolean | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`;
}

/** Full name of a snapshot: `volume@name`. */
export const full = ({ volume, name }: { volume: string; name: string }): string => `${volume}@${name}`;
