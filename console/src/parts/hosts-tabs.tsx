// Tabs of the pages about hosts.

import type { JSX } from "solid-js";
import { Tabs } from "./head";

export function HostsTabs(props: { hosts?: number | undefined; sessions?: number | undefined }): JSX.Element {
  return (
    <Tabs
      label="Parts of hosts"
      tabs={[
        { name: "Hosts", path: "/hosts", count: props.hosts },
        { name: "Groups", path: "/groups" },
        { name: "Sessions", path: "/sessions", count: props.sessions },
        { name: "Portals", path: "/portals" },
        { name: "Connect", path: "/hosts/connect", parts: true },
      ]}
    />
  );
}
