// Server-Sent Events (HTML Standard, §9.2) in the form that the array sends them: each line ends with LF.

/** One event. */
export interface ServerEvent {
  name: string;
  data: string;
  /** Position to go on from, if the event has one. */
  id: string | undefined;
}

/** Longest event in characters. */
const LONGEST = 1 << 20;

/** Takes a stream in pieces of any length and returns the events that are complete. */
export function eventReader(): (text: string) => ServerEvent[] {
  let rest = "";
  return (text) => {
    const parts = (rest + text).split("\n\n");
    rest = parts.pop() ?? "";
    if (rest.length > LONGEST) throw new Error("an event of the stream is too long");
    return parts.map(eventOf).filter((event) => event !== undefined);
  };
}

/** Reads the lines of an event; `undefined` for a comment. */
function eventOf(text: string): ServerEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    const before = fields.get(name);
    fields.set(name, name === "data" && before !== undefined ? `${before}\n${value}` : value);
  }
  const data = fields.get("data");
  return data === undefined ? undefined : { name: fields.get("event") ?? "message", data, id: fields.get("id") };
}
