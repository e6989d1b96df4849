// Preferences kept in this browser: colours, and single keys on or off.

import { createSignal } from "solid-js";

export type Theme = "system" | "light" | "dark";

const read = (key: string): string | null => localStorage.getItem(`windlass-${key}`);
const themeOf = (text: string | null): Theme => (text === "light" || text === "dark" ? text : "system");

const [theme, setThemeSignal] = createSignal<Theme>(themeOf(read("theme")));
const [keys, setKeysSignal] = createSignal(read("keys") !== "off");

export { keys, theme };

/** Applies the chosen colours to the page. */
export function applyTheme(): void {
  if (theme() === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme();
}

export function setTheme(next: Theme): void {
  localStorage.setItem("windlass-theme", next);
  setThemeSignal(next);
  applyTheme();
}

export function setKeys(next: boolean): void {
  localStorage.setItem("windlass-keys", next ? "on" : "off");
  setKeysSignal(next);
}
