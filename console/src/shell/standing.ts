// The health of the array in words, the worst thing first.

import type { Severity, Status } from "../api/schema";

export interface Standing {
  level: "good" | "warning" | "critical" | "unknown";
  /** One word for the bar. */
  word: string;
  /** One sentence for the overview. */
  sentence: string;
  alerts: number;
}

const RANK: Record<Severity, number> = { critical: 2, warning: 1, info: 0 };

/** The state of the array; `lost` while it does not answer. */
export function standing(status: Status | undefined, lost: boolean): Standing {
  if (lost) return { level: "unknown", word: "no contact", sentence: "The array does not answer.", alerts: 0 };
  if (status === undefined) return { level: "unknown", word: "…", sentence: "", alerts: 0 };
  const alerts = (status.alerts ?? []).toSorted((one, other) => RANK[other.severity] - RANK[one.severity]);
  const worst = alerts[0];
  const serves = status.health === "failed" ? "The array does not serve." : "The array serves.";
  const level =
    status.health === "failed" || worst?.severity === "critical"
      ? "critical"
      : worst?.severity === "warning" || status.health === "degraded"
        ? "warning"
        : "good";
  if (worst === undefined) {
    const sentence =
      status.health === "healthy" ? `${serves} Nothing needs attention.` : `${serves} It is ${status.health}.`;
    return { level, word: status.health, sentence, alerts: 0 };
  }
  const more = alerts.length > 1 ? ` And ${alerts.length - 1} more.` : "";
  const message = worst.message.replace(/\.?$/, ".");
  return {
    level,
    word: status.health,
    sentence: `${serves} ${worst.severity}: ${message}${more}`,
    alerts: alerts.length,
  };
}
