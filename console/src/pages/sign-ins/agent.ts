// Names of browser and system, from the agent that the browser sends.

const BROWSERS: [RegExp, string][] = [
  [/Edg(?:e|A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\//, "Firefox"],
  [/(?:Headless)?Chrom(?:e|ium)\//, "Chrome"],
  [/Safari\//, "Safari"],
];
const SYSTEMS: [RegExp, string][] = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
];

const first = (of: [RegExp, string][], agent: string): string | undefined => of.find(([form]) => form.test(agent))?.[1];

/** `Firefox on Linux`; an agent that is no browser by its own beginning. */
export function browserName(agent: string): string {
  const [browser, system] = [first(BROWSERS, agent), first(SYSTEMS, agent)];
  if (browser === undefined) return agent.slice(0, 40) || "unknown";
  return system === undefined ? browser : `${browser} on ${system}`;
}
