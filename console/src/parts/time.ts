// Instants and durations as text. Times of day are UTC, as in the array's log and on its command line.

const two = (value: number): string => String(value).padStart(2, "0");

/** `12:03:22` in UTC. */
export function clock(milliseconds: number): string {
  const time = new Date(milliseconds);
  return [time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds()].map(two).join(":");
}

/** Start of the day of this machine's time zone, as the array takes it. */
export function midnight(milliseconds: number): string {
  const time = new Date(milliseconds);
  time.setHours(0, 0, 0, 0);
  return time.toISOString();
}

/** `2026-11-23 12:03:22 UTC`. */
export function instant(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 10)} ${clock(milliseconds)} UTC`;
}

/** `41 d 3 h`, `4 min 12 s`, `3 s`: the two largest units. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  if (first < 0) return "0 s";
  const shown = parts.slice(first, first + 2).filter(([value]) => value > 0);
  return shown.map(([value, unit]) => `${value} ${unit}`).join(" ");
}

/** `4 min ago`: the largest unit. */
export function ago(milliseconds: number, present: number): string {
  const seconds = Math.round((present - milliseconds) / 1000);
  if (seconds < 5) return "just now";
  return `${duration(seconds).split(" ").slice(0, 2).join(" ")} ago`;
}
