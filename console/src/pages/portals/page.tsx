// Portals: the addresses that hosts connect to, and the access state of their groups.

import type { JSX } from "solid-js";
import { useList } from "../../api/list";
import type { Portal, PortGroup } from "../../api/schema";
import { Head } from "../../parts/head";
import { HostsTabs } from "../../parts/hosts-tabs";
import { Rows } from "../../parts/rows";
import { Shown } from "../../parts/state";
import type { Column } from "../../parts/table";

const state = (of: string): JSX.Element => (
  <span class={of === "active-optimized" ? "tag good" : of === "unavailable" ? "tag bad" : "tag warn"}>
    {of.replaceAll("-", " ")}
  </span>
);

const PORTALS: Column<Portal>[] = [
  {
    key: "advertised",
    title: "Address",
    about: "As the array announces it to hosts",
    cell: ({ advertised }) => advertised,
    by: ({ advertised }) => advertised,
  },
  { key: "listen", title: "Listens at", rank: 2, cell: ({ listen }) => listen, by: ({ listen }) => listen },
  { key: "group", title: "Group", number: true, cell: ({ group }) => group, by: ({ group }) => group },
  { key: "state", title: "State", cell: (portal) => state(portal.state), by: ({ state: present }) => present },
  {
    key: "redirect",
    title: "Redirects to",
    rank: 2,
    cell: ({ redirect }) => redirect ?? "–",
    by: ({ redirect }) => redirect ?? "",
  },
  { key: "target", title: "Target", rank: 3, cell: ({ target }) => <code>{target}</code> },
];

const GROUPS: Column<PortGroup>[] = [
  { key: "id", title: "Group", cell: ({ id }) => String(id), by: ({ id }) => id },
  { key: "state", title: "State", cell: (group) => state(group.state), by: ({ state: present }) => present },
  { key: "portals", title: "Portals", cell: ({ portals }) => portals.join(", "), by: ({ portals }) => portals.length },
  {
    key: "sessions",
    title: "Sessions",
    number: true,
    rank: 2,
    cell: ({ sessions }) => sessions,
    by: ({ sessions }) => sessions,
  },
  {
    key: "preferred",
    title: "Preferred",
    rank: 2,
    cell: ({ preferred }) => (preferred ? "yes" : "no"),
    by: ({ preferred }) => Number(preferred),
  },
  {
    key: "origin",
    title: "Set by",
    rank: 2,
    cell: ({ origin }) => ({ none: "–", explicit: "a host", implicit: "the array" })[origin],
  },
];

export default function Portals(): JSX.Element {
  const portals = useList<Portal>(() => "/api/v1/portals", false);
  const groups = useList<PortGroup>(() => "/api/v1/portal-groups", false);
  return (
    <>
      <Head
        title="Portals"
        about="Addresses that hosts connect to, and target port groups (ALUA)"
        same={[
          { what: "list the portals", windlass: "windlass portal list", path: "/api/v1/portals" },
          {
            what: "list the target port groups",
            windlass: "windlass portal-group list",
            path: "/api/v1/portal-groups",
          },
        ]}
      />
      <HostsTabs />
      <Shown of={portals}>
        {(items) => <Rows label="Portals" columns={PORTALS} rows={items()} id={({ id }) => String(id)} />}
      </Shown>
      <h2 class="under">Target port groups</h2>
      <Shown of={groups}>
        {(items) => (
          <Rows
            label="Target port groups"
            columns={GROUPS}
            rows={items()}
            id={({ id }) => String(id)}
            parameter="groups"
          />
        )}
      </Shown>
    </>
  );
}
