// Dialog that removes the reservation of a volume and all registrations.

import type { JSX } from "solid-js";
import { api } from "../../api/paths";
import { DestroyDialog } from "../../parts/destroy";
import { windlass } from "../../parts/shell-lines";
import type { Closing } from "../closing";

/** Clusters keep their nodes apart by reservations, so the name is typed. */
export function ClearReservations(props: Closing & { volume: string }): JSX.Element {
  return (
    <DestroyDialog
      title={`Clear reservations of ${props.volume}`}
      verb="Clear reservations"
      typed={props.volume}
      onClose={props.onClose}
      same={{
        what: "clear the reservations",
        windlass: windlass("reservation", "clear", props.volume, "--yes"),
        method: "DELETE",
        path: api("volumes", props.volume, "reservations"),
      }}
    >
      <p>
        For what hosts that are gone have left. The nodes of a running cluster keep apart by reservations: without them,
        two nodes may write to the volume at once and damage its file system.
      </p>
    </DestroyDialog>
  );
}
