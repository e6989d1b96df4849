// Reservation of a volume, and the initiators that are registered with it.

import { createSignal, type JSX, Show } from "solid-js";
import { ClearReservations } from "../../actions/volume/reservations";
import { api } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Registration, Reservations } from "../../api/schema";
import { Act } from "../../parts/act";
import { Rows } from "../../parts/rows";
import { Shown } from "../../parts/state";
import type { Column } from "../../parts/table";
import { grouped, NONE } from "../../parts/units";

const COLUMNS: Column<Registration>[] = [
  { key: "initiator", title: "Initiator", cell: (row) => row.initiator, by: ({ initiator }) => initiator },
  { key: "host", title: "Host", rank: 2, cell: (row) => row.host ?? NONE, by: ({ host }) => host ?? "" },
  { key: "key", title: "Key", cell: (row) => <code>{row.key ?? NONE}</code>, by: ({ key }) => key ?? "" },
  {
    key: "holder",
    title: "Holder",
    cell: (row) => (row.holder ? <span class="tag good">holder</span> : ""),
    by: ({ holder }) => Number(holder),
  },
];

export function ReservationsTab(props: { name: string }): JSX.Element {
  const query = useQuery<Reservations>(() => api("volumes", props.name, "reservations"));
  const [clearing, setClearing] = createSignal(false);
  return (
    <Shown of={query}>
      {(present) => (
        <>
          <dl class="facts">
            <dt>Reservation</dt>
            <dd>{present().reservation_type ?? "none"}</dd>
            <dt>Survives a restart</dt>
            <dd>{present().persistent ? "yes" : "no"}</dd>
            <dt>Generation</dt>
            <dd>{grouped(present().generation)}</dd>
            <dt>Conflicts</dt>
            <dd>{grouped(present().conflicts)} commands since the array started</dd>
          </dl>
          <Show
            when={present().registrations.length > 0}
            fallback={<p class="soft under">No initiator is registered.</p>}
          >
            <Rows
              label={`Registrations of ${props.name}`}
              columns={COLUMNS}
              rows={present().registrations}
              id={(row) => `${row.initiator} ${row.isid}`}
            />
            <p class="under">
              <Act class="danger" onClick={() => setClearing(true)}>
                Clear reservations…
              </Act>
            </p>
          </Show>
          <Show when={clearing()}>
            <ClearReservations volume={props.name} onClose={() => setClearing(false)} />
          </Show>
        </>
      )}
    </Shown>
  );
}
