// The steps of Connect, and what was chosen in them: in the address, and kept for this tab.

import { withQuery } from "../../api/paths";

/** What was chosen so far. */
export interface Choice {
  system?: string | undefined;
  host?: string | undefined;
  volume?: string | undefined;
  share?: string | undefined;
  adapter?: string | undefined;
}

export type StepName = "system" | "host" | "volume" | "commands" | "watch";

interface Step {
  id: StepName;
  title: string;
  done: (choice: Choice) => boolean;
  /** What was chosen, for the list of steps. */
  chosen: (choice: Choice) => string | undefined;
}

export const STEPS: Step[] = [
  { id: "system", title: "System", done: ({ system }) => system !== undefined, chosen: ({ system }) => system },
  { id: "host", title: "Host", done: ({ host }) => host !== undefined, chosen: ({ host }) => host },
  {
    id: "volume",
    title: "Volume",
    done: ({ volume, share }) => (volume ?? share) !== undefined,
    chosen: ({ volume, share }) => volume ?? share,
  },
  { id: "commands", title: "Commands", done: () => false, chosen: () => undefined },
  { id: "watch", title: "Watch", done: () => false, chosen: () => undefined },
];

const NAMES = ["system", "host", "volume", "share", "adapter"] as const;
const KEY = "windlass-connect";

/** Choice in the parameters of an address or in what was kept; others are left out, and so are empty ones. */
export function choiceOf(parameters: Record<string, unknown>): Choice {
  const choice: Choice = {};
  for (const name of NAMES) {
    const value = parameters[name];
    if (typeof value === "string" && value !== "") choice[name] = value;
  }
  return choice;
}

/** Address of a step. */
export const connectPath = (step: StepName, choice: Choice): string =>
  withQuery(`/hosts/connect/${step}`, { ...choice });

/** Keeps a choice while this tab is open. */
export function remember(choice: Choice): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(choiceOf({ ...choice })));
  } catch {
    // Without storage the address alone has it.
  }
}

/** The choice that was kept. */
export function remembered(): Choice {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
    return typeof kept === "object" && kept !== null ? choiceOf({ ...kept }) : {};
  } catch {
    return {};
  }
}

/** A text with a placeholder of a plan replaced wherever it is a word of its own. */
export function replaced(text: string, placeholder: string, by: string): string {
  const word = new RegExp(`(?<![\\w.-])${placeholder}(?![\\w.-])`, "g");
  return text.replace(word, () => by);
}

/** Commands as lines for a shell. The content of a file is a command that writes it. */
export const script = (commands: { text: string; file?: string | null }[]): string =>
  commands
    .map(({ text, file }) => (file == null ? `${text}\n` : `cat >${file} <<'END'\n${text.replace(/\n+$/, "")}\nEND\n`))
    .join("");
