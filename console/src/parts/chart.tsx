// A chart over time: lines from 0, 24 h, gaps for what is unknown, and a legend with latest, max, min and average.

import { createEffect, createSignal, For, type JSX, on, onCleanup, onMount, Show } from "solid-js";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./chart.css";
import { summary, ticks } from "./chart-scale";
import { clock, duration, instant } from "./time";
import { NONE } from "./units";

/** One line. */
export interface Line {
  name: string;
  /** Custom property with its colour. */
  tone: "array" | "network" | "bad" | "other";
  dashed?: boolean;
  values: (number | null)[];
}

export interface ChartProps {
  title: string;
  /** Definition of the values. */
  about: string;
  /** Times in seconds since 1970. */
  times: number[];
  lines: Line[];
  format: (value: number) => string;
  base?: 10 | 1024;
  /** First and last time of the axis, in seconds since 1970. */
  range: [number, number];
  /** Values come each second; otherwise they are of the stored history. */
  live: boolean;
  /** The range was chosen, and does not end now. */
  chosen?: boolean;
  /** Reason why there are no values. */
  failure?: string | undefined;
}

const DAY_SECONDS = 86_400;

/** A time on the axis of a chart: with the day if it has several. */
/** The range in words. */
const span = ({ live, chosen, range: [from, to] }: ChartProps): string =>
  chosen ? `${instant(from * 1000)} to ${instant(to * 1000)}` : `${live ? "live, " : ""}last ${duration(to - from)}`;

const moment = (milliseconds: number, { range }: ChartProps): string =>
  range[1] - range[0] > 3600 ? instant(milliseconds) : `${clock(milliseconds)} UTC`;

/** A label of the axis, in steps of this many seconds. */
const label = (milliseconds: number, step: number): string =>
  step < DAY_SECONDS ? clock(milliseconds).slice(0, step < 60 ? 8 : 5) : instant(milliseconds).slice(5, 10);

/** All charts of a page have one cursor. */
const cursor = uPlot.sync("page");

function colour(element: HTMLElement, name: string): string {
  return getComputedStyle(element).getPropertyValue(`--c-${name}`).trim() || "gray";
}

export function Chart(props: ChartProps): JSX.Element {
  let figure: HTMLElement | undefined;
  let box: HTMLDivElement | undefined;
  const [at, setAt] = createSignal<number>();
  const top = () => {
    const most = Math.max(0, ...props.lines.flatMap((line) => line.values.map((value) => value ?? 0)));
    return ticks(most, 4, props.base ?? 10);
  };
  onMount(() => {
    const [holder, target] = [figure, box];
    if (holder === undefined || target === undefined) return;
    let plot = make(target, holder, props, top, setAt);
    const remake = () => {
      plot.destroy();
      plot = make(target, holder, props, top, setAt);
    };
    const resized = new ResizeObserver(() => plot.setSize({ width: target.clientWidth, height: target.clientHeight }));
    resized.observe(target);
    // The canvas takes colours when it is made.
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", remake);
    const themed = new MutationObserver(remake);
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    let frame = 0;
    createEffect(
      on(
        () => [props.times, props.lines, props.range] as const,
        () => {
          cancelAnimationFrame(frame);
          frame = requestAnimationFrame(() => plot.setData(dataOf(props)));
        },
        { defer: true },
      ),
    );
    onCleanup(() => {
      cancelAnimationFrame(frame);
      resized.disconnect();
      themed.disconnect();
      scheme.removeEventListener("change", remake);
      plot.destroy();
    });
  });
  return (
    <figure class="chart" ref={figure}>
      <figcaption>
        <h3 title={props.about}>{props.title}</h3>
        <span class="soft small">{at() === undefined ? span(props) : moment((at() ?? 0) * 1000, props)}</span>
      </figcaption>
      <Show when={props.times.length === 0}>
        <p class="waiting soft small">
          {props.failure ?? (props.live ? "The first sample comes in a second." : "Reading …")}
        </p>
      </Show>
      <div class="plot" ref={box} role="img" aria-label={`${props.title}: ${props.about}`} />
      <Legend {...props} at={at()} />
    </figure>
  );
}

/** A table of the same data, which readers find too. */
function Legend(props: ChartProps & { at: number | undefined }): JSX.Element {
  const shown = (value: number | null | undefined) =>
    value === undefined || value === null ? NONE : props.format(value);
  const under = (line: Line) => line.values[props.times.indexOf(props.at ?? -1)];
  return (
    <table class="legend">
      <thead>
        <tr>
          <th scope="col">
            <span class="unseen">Line</span>
          </th>
          <th scope="col">{props.at === undefined ? "latest" : "here"}</th>
          <th scope="col">max</th>
          <th scope="col">min</th>
          <th scope="col">avg</th>
        </tr>
      </thead>
      <tbody>
        <For each={props.lines}>
          {(line) => {
            const total = () => summary(line.values);
            return (
              <tr>
                <th scope="row">
                  <i class={`key ${line.tone}`} classList={{ dashed: line.dashed ?? false }} />
                  {line.name}
                </th>
                <td>
                  <Show when={props.at !== undefined} fallback={shown(total().latest)}>
                    {shown(under(line))}
                  </Show>
                </td>
                <td>{shown(total().max)}</td>
                <td>{shown(total().min)}</td>
                <td>{shown(total().average)}</td>
              </tr>
            );
          }}
        </For>
      </tbody>
    </table>
  );
}

const dataOf = (props: ChartProps): uPlot.AlignedData => [props.times, ...props.lines.map((line) => line.values)];

function make(
  box: HTMLElement,
  figure: HTMLElement,
  props: ChartProps,
  top: () => number[],
  setAt: (at: number | undefined) => void,
): uPlot {
  const axis = {
    stroke: colour(figure, "soft"),
    font: "11px system-ui, sans-serif",
    ticks: { show: false },
    grid: { stroke: colour(figure, "grid"), width: 1 },
  };
  const options: uPlot.Options = {
    width: box.clientWidth,
    height: box.clientHeight,
    legend: { show: false },
    cursor: { sync: { key: cursor.key }, drag: { setScale: false }, points: { size: 6 }, y: false },
    padding: [8, 22, 0, 0],
    scales: {
      x: { time: true, range: () => props.range },
      y: { range: () => [0, top().at(-1) ?? 1] },
    },
    axes: [
      {
        ...axis,
        space: 70,
        size: 22,
        values: (_, splits, __, ___, step) => splits.map((at) => label(at * 1000, step)),
        incrs: [10, 30, 60, 120, 300, 600, 3600, 14_400, DAY_SECONDS, 5 * DAY_SECONDS],
      },
      { ...axis, size: 76, splits: top, values: (_, splits) => splits.map(props.format) },
    ],
    series: [
      {},
      ...props.lines.map((line) => ({
        label: line.name,
        stroke: colour(figure, line.tone),
        width: 1.5,
        ...(line.dashed ? { dash: [5, 4] } : {}),
        // A single sample has no line.
        points: { show: (plot: uPlot) => plot.data[0].length < 3, size: 5, fill: colour(figure, line.tone) },
        spanGaps: false,
      })),
    ],
    hooks: {
      setCursor: [(plot) => setAt(plot.cursor.idx == null ? undefined : plot.data[0][plot.cursor.idx])],
    },
  };
  return new uPlot(options, dataOf(props), box);
}
