// A table of any length: only the rows that are on the screen are in the page.

import {
  createComputed,
  createEffect,
  createMemo,
  createSignal,
  For,
  type JSX,
  on,
  onCleanup,
  onMount,
  Show,
} from "solid-js";
import "./table.css";
import { type Action, Menu } from "./menu";
import { rowsInView } from "./table-range";

/** One column. */
export interface Column<Row> {
  key: string;
  title: string;
  /** Definition of the value, for the title of the heading. */
  about?: string;
  number?: boolean;
  /** 1: always shown; 2: not on telephones; 3: only on wide screens. */
  rank?: 1 | 2 | 3;
  cell: (row: Row) => JSX.Element;
  /** Value to sort by; a column without one cannot be sorted. */
  by?: (row: Row) => string | number;
}

/** Order of rows. */
export interface Order {
  key: string;
  descending: boolean;
}

export interface TableProps<Row> {
  /** Name of the table for screen readers. */
  label: string;
  columns: Column<Row>[];
  total: number;
  /** A row by its position; `undefined` while it is loaded. */
  row: (index: number) => Row | undefined;
  id: (row: Row) => string;
  /** Words for a row, for screen readers; absent: its id. */
  name?: (row: Row) => string;
  order?: Order;
  /** Called with a new order; without it, the table has no sort buttons. */
  onOrder?: (order: Order) => void;
  sortable?: (column: Column<Row>) => boolean;
  /** Positions that are on the screen. */
  onView?: (first: number, end: number) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (id: string, selected: boolean) => void;
  actions?: (row: Row) => Action[];
  /** The shown rows are those for an earlier filter or order. */
  changing?: boolean;
  /** Identity of the query; another value scrolls to the first row. */
  query?: unknown;
}

/** Height of a row in pixels, as the style says. */
const ROW_PX = 37;
/** Tables up to this length are part of the page; longer ones scroll by themselves. */
const SHORT = 60;

export function Table<Row>(props: TableProps<Row>): JSX.Element {
  let box: HTMLDivElement | undefined;
  const [view, setView] = createSignal({ first: 0, end: SHORT });
  const long = () => props.total > SHORT;
  const look = () => {
    if (box === undefined) return;
    const next = rowsInView(box.scrollTop, box.clientHeight, ROW_PX, props.total);
    const present = view();
    if (next.first !== present.first || next.end !== present.end) setView(next);
  };
  onMount(() => {
    const resized = new ResizeObserver(look);
    if (box !== undefined) resized.observe(box);
    onCleanup(() => resized.disconnect());
  });
  createEffect(on(() => props.total, look));
  createEffect(
    on(
      () => [props.order, props.query],
      () => {
        if (box !== undefined) box.scrollTop = 0;
        look();
      },
      { defer: true },
    ),
  );
  const range = createMemo(() => (long() ? view() : { first: 0, end: props.total }));
  createEffect(on(range, ({ first, end }) => props.onView?.(first, end)));
  const indices = createMemo(() =>
    Array.from({ length: Math.max(0, range().end - range().first) }, (_, i) => range().first + i),
  );
  const width = () => props.columns.length + (props.onSelect ? 1 : 0) + (props.actions ? 1 : 0);
  return (
    <div
      class="table"
      classList={{ long: long(), changing: props.changing ?? false }}
      ref={box}
      onScroll={look}
      tabindex={long() ? 0 : undefined}
      role="region"
      aria-label={props.label}
      aria-busy={props.changing}
    >
      <table aria-rowcount={props.total + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <Show when={props.onSelect}>
              <th class="tick">
                <span class="unseen">Selected</span>
              </th>
            </Show>
            <For each={props.columns}>{(column) => <Heading {...props} column={column} />}</For>
            <Show when={props.actions}>
              <th class="menu">
                <span class="unseen">Actions</span>
              </th>
            </Show>
          </tr>
        </thead>
        <tbody>
          <Space rows={range().first} columns={width()} />
          <For each={indices()}>{(index) => <Row {...props} index={index} width={width()} />}</For>
          <Space rows={props.total - range().end} columns={width()} />
        </tbody>
      </table>
    </div>
  );
}

/** Room for the rows that are not in the page. */
function Space(props: { rows: number; columns: number }): JSX.Element {
  const height = (cell: HTMLTableCellElement) =>
    createEffect(() => cell.style.setProperty("height", `${props.rows * ROW_PX}px`));
  return (
    <Show when={props.rows > 0}>
      <tr class="space">
        <td colspan={props.columns} ref={height} />
      </tr>
    </Show>
  );
}

function Heading<Row>(props: TableProps<Row> & { column: Column<Row> }): JSX.Element {
  const { column } = props;
  const present = () => (props.order?.key === column.key ? props.order : undefined);
  const sortable = () => props.onOrder !== undefined && (props.sortable?.(column) ?? column.by !== undefined);
  const direction = () => (present() === undefined ? undefined : present()?.descending ? "descending" : "ascending");
  return (
    <th scope="col" class={classes(column)} aria-sort={direction()} title={column.about}>
      <Show when={sortable()} fallback={column.title}>
        <button
          type="button"
          onClick={() => props.onOrder?.({ key: column.key, descending: present()?.descending === false })}
        >
          {column.title}
          <span class="arrow" aria-hidden="true">
            {present() === undefined ? "" : present()?.descending ? "↓" : "↑"}
          </span>
        </button>
      </Show>
    </th>
  );
}

function Row<Row>(props: TableProps<Row> & { index: number; width: number }): JSX.Element {
  return (
    <Show
      when={props.row(props.index)}
      fallback={
        <tr class="waiting" aria-rowindex={props.index + 2}>
          <td colspan={props.width}>
            <span class="bone" />
            <span class="unseen">loading</span>
          </td>
        </tr>
      }
    >
      {(row) => {
        let line: HTMLTableRowElement | undefined;
        createComputed(on(row, () => keepFocus(line), { defer: true }));
        const id = () => props.id(row());
        const name = () => (props.name ?? props.id)(row());
        const selected = () => props.selected?.has(id()) ?? false;
        return (
          <tr ref={line} aria-rowindex={props.index + 2} data-row="" classList={{ selected: selected() }}>
            <Show when={props.onSelect}>
              <td class="tick">
                <input
                  type="checkbox"
                  aria-label={`select ${name()}`}
                  checked={selected()}
                  onChange={(event) => props.onSelect?.(id(), event.currentTarget.checked)}
                />
              </td>
            </Show>
            <For each={props.columns}>
              {(column, position) =>
                position() === 0 ? (
                  <th scope="row" class={classes(column)}>
                    {column.cell(row())}
                  </th>
                ) : (
                  <td class={classes(column)}>{column.cell(row())}</td>
                )
              }
            </For>
            <Show when={props.actions}>
              {(actions) => (
                <td class="menu">
                  <Menu label={`actions for ${name()}`} actions={() => actions()(row())} />
                </td>
              )}
            </Show>
          </tr>
        );
      }}
    </Show>
  );
}

/** Gives the focus back to a link or button of a row whose cells are about to be replaced. */
function keepFocus(line: HTMLTableRowElement | undefined): void {
  const all = () => [...(line?.querySelectorAll<HTMLElement>("a, button, input") ?? [])];
  const place = all().indexOf(document.activeElement as HTMLElement);
  if (place >= 0) queueMicrotask(() => document.activeElement === document.body && all()[place]?.focus());
}

const classes = <Row,>(column: Column<Row>): string => `rank${column.rank ?? 1}${column.number ? " number" : ""}`;
