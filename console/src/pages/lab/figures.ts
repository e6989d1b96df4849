// Figures of the laboratory as text and as lengths of bars.

import type { LabCase, LabMeasure, LabResult, LabRun } from "../../api/schema";
import { bytes, grouped, rate, times } from "../../parts/units";

/** Cases of one paper. */
export interface Paper {
  name: string;
  system: string;
  /** Reason for which the array runs none of them. */
  unavailable: string | undefined;
  cases: LabCase[];
}

/** Cases by paper, in their order: `P1, XCOPY 1` is a test of P1. */
export function papers(cases: LabCase[]): Paper[] {
  const found = new Map<string, Paper>();
  for (const each of cases) {
    const name = /^P\d+/.exec(each.test)?.[0] ?? "Others";
    const paper = found.get(name) ?? { name, system: each.system, unavailable: undefined, cases: [] };
    paper.cases.push(each);
    paper.unavailable = paper.cases.every(({ unavailable }) => unavailable != null)
      ? (each.unavailable ?? undefined)
      : undefined;
    found.set(name, paper);
  }
  return [...found.values()].toSorted((one, other) => one.name.localeCompare(other.name));
}

/** The figure of a case that its bars show: a time if both sides have one, else what the paper has, else the first. */
export function headline(result: LabResult): LabMeasure | undefined {
  const both = result.measures.filter(({ off, on }) => off != null && on != null);
  return (
    both.find(({ name }) => name === "seconds") ??
    both.find(({ paper_ratio }) => paper_ratio != null) ??
    both.find(({ better }) => better !== "neither") ??
    result.measures[0]
  );
}

/** `69×` faster, or what the on side has in comparison. */
export function gain({ off, on, better }: LabMeasure): string | undefined {
  if (off == null || on == null || better === "neither") return undefined;
  const [more, less] = better === "lower" ? [off, on] : [on, off];
  if (less === 0) return more === 0 ? "no difference" : "to none";
  return times(more / less);
}

/** A value with its unit. */
export function figure(value: number | null | undefined, unit: string): string {
  if (value == null) return "–";
  switch (unit) {
    case "seconds":
      return value < 1 ? `${grouped(value * 1000)} ms` : `${value.toFixed(value < 100 ? 1 : 0)} s`;
    case "bytes":
      return bytes(value);
    case "bytes_per_second":
      return `${bytes(value)}/s`;
    case "per_second":
      return `${rate(value)}/s`;
    case "ratio":
      return `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;
    default:
      return grouped(value);
  }
}

/** The change that a paper reports: `−14 %`, `to none`. */
export function paperChange(ratio: number): string {
  if (ratio === 0) return "to none";
  const percent = (ratio - 1) * 100;
  return Math.abs(percent) < 200 ? `${percent < 0 ? "−" : "+"}${Math.abs(percent).toFixed(0)} %` : times(ratio);
}

/** Name of a measure in words. */
export const words = (name: string): string => name.replaceAll("_", " ");

/** Scale of a run: a word, or the size of its largest disk. */
export const sizeWord = (size: string): string => (/^\d+$/.test(size) ? bytes(Number(size)) : size);

/** Sum of a run in words: `3 of 4 passed, 5 of 6 goals`. */
export function summary({ results, cases, state }: LabRun): string {
  if (results.length === 0) return state === "running" ? "no case has ended yet" : "no case has ended";
  const passed = results.filter(({ outcome }) => outcome === "passed").length;
  const goals = results.reduce((sum, { goals }) => sum + goals, 0);
  const reached = results.reduce((sum, { goals_reached }) => sum + goals_reached, 0);
  return `${passed} of ${cases.length} passed${goals === 0 ? "" : `, ${reached} of ${goals} goals`}`;
}

/** Last result of each case that this array has measured: runs come newest first. */
export function lastResults(runs: LabRun[]): Map<string, LabResult> {
  const last = new Map<string, LabResult>();
  for (const run of runs.filter(({ state }) => state !== "uploaded")) {
    for (const result of run.results) if (!last.has(result.case)) last.set(result.case, result);
  }
  return last;
}

/** Parts of the width of the longest bar, from 0 to 1: off, on, and on as the paper has it. */
export function lengths({ off, on, paper_ratio }: LabMeasure): { off: number; on: number; paper: number | undefined } {
  const paper = paper_ratio == null || off == null ? undefined : off * paper_ratio;
  const most = Math.max(off ?? 0, on ?? 0, paper ?? 0);
  const part = (value: number) => (most > 0 ? Math.max(0, value) / most : 0);
  return { off: part(off ?? 0), on: part(on ?? 0), paper: paper === undefined ? undefined : part(paper) };
}

/** Duration in seconds from a field of milliseconds; `undefined` if it is empty, `null` if it is none. */
export function limitOf(text: string): number | null | undefined {
  if (text.trim() === "") return undefined;
  const value = Number(text.trim().replace(",", "."));
  return Number.isFinite(value) && value > 0 && value <= 3_600_000 ? Math.max(1, Math.round(value * 1000)) : null;
}
