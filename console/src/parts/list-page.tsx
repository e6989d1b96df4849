// A page with a list of one kind of object: what it is about, the button that makes one, the rows, and what stands there without any.

import { type JSX, Show } from "solid-js";
import type { ListQuery } from "../api/list";
import type { Role } from "../api/schema";
import { Act } from "./act";
import { Head } from "./head";
import { Rows, type RowsProps } from "./rows";
import type { Same } from "./shell-lines";
import { Empty, Shown } from "./state";

interface ListPageProps<Row> extends Omit<RowsProps<Row>, "rows" | "label"> {
  title: string;
  about: JSX.Element;
  same: Same[];
  /** The button that makes one. While there is none, it stands where the rows will be. */
  add: { label: string; needs?: Role; run: () => void };
  /** Further buttons of the head. */
  buttons?: JSX.Element;
  /** Tabs and filters above the rows. */
  above?: JSX.Element;
  of: Pick<ListQuery<Row>, "data" | "failure" | "asOf" | "refresh" | "more" | "total">;
  /** Rows that are shown; absent: all. */
  rows?: (all: Row[]) => Row[];
  /** What would be here. */
  empty: JSX.Element;
  /** Dialogs. */
  children?: JSX.Element;
}

export function ListPage<Row>(props: ListPageProps<Row>): JSX.Element {
  const add = () => (
    <Act class="primary" first needs={props.add.needs ?? "operator"} onClick={() => props.add.run()}>
      {props.add.label}
    </Act>
  );
  const isEmpty = () => props.of.data()?.length === 0;
  return (
    <>
      <Head title={props.title} about={props.about} same={props.same}>
        {props.buttons}
        <Show when={!isEmpty()}>{add()}</Show>
      </Head>
      {props.above}
      <Shown of={props.of}>
        {(items) => (
          <Show when={items().length > 0} fallback={<Empty action={add()}>{props.empty}</Empty>}>
            <Rows
              label={props.title}
              columns={props.columns}
              rows={props.rows?.(items()) ?? items()}
              id={props.id}
              actions={props.actions}
            />
          </Show>
        )}
      </Shown>
      {props.children}
    </>
  );
}
