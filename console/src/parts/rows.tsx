// A table whose rows are all in the page: it sorts them itself, and keeps the order in the address.

import { useSearchParams } from "@solidjs/router";
import { createMemo, type JSX } from "solid-js";
import { orderOf, textOf } from "./order";
import { type Column, Table, type TableProps } from "./table";
import { ordered } from "./table-range";

export type RowsProps<Row> = Pick<
  TableProps<Row>,
  "label" | "columns" | "id" | "name" | "actions" | "selected" | "onSelect" | "changing"
> & {
  rows: Row[];
  /** Name of the parameter with the order; tables of one page differ. */
  parameter?: string;
};

export function Rows<Row>(props: RowsProps<Row>): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const name = () => props.parameter ?? "sort";
  const order = () =>
    orderOf(
      search[name()],
      props.columns.map((column) => column.key),
    );
  const rows = createMemo(() => {
    const present = order();
    const by = props.columns.find((column: Column<Row>) => column.key === present?.key)?.by;
    return present === undefined || by === undefined ? props.rows : ordered(props.rows, by, present.descending);
  });
  return (
    <Table
      label={props.label}
      columns={props.columns}
      id={props.id}
      name={props.name}
      actions={props.actions}
      selected={props.selected}
      onSelect={props.onSelect}
      changing={props.changing}
      total={rows().length}
      row={(index) => rows()[index]}
      order={order()}
      onOrder={(next) => setSearch({ [name()]: textOf(next) }, { replace: true })}
    />
  );
}
