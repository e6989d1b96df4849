// Columns of sessions.

import { pagePath } from "../api/page-paths";
import type { Session, SessionParameters } from "../api/schema";
import { Ago, Bytes } from "./numbers";
import type { Column } from "./table";
import { bytes, grouped, NONE } from "./units";

/** What a login has negotiated, in one line. */
function negotiated(of: SessionParameters): string {
  const digests = [of.header_digest ? "header" : "", of.data_digest ? "data" : ""].filter((word) => word !== "");
  return [
    `bursts ${bytes(of.max_burst_bytes)}, first ${bytes(of.first_burst_bytes)}`,
    `segments ${bytes(of.initiator_segment_bytes)} and ${bytes(of.target_segment_bytes)}`,
    `${of.immediate_data ? "" : "no "}immediate data`,
    digests.length === 0 ? "no digests" : `${digests.join(" and ")} digest`,
  ].join("; ");
}

/** Columns of a table of sessions; `hosts` shows whose each is. */
export function sessionColumns(hosts: boolean): Column<Session>[] {
  const host: Column<Session> = {
    key: "host",
    title: "Host",
    cell: (session) =>
      session.host == null ? (
        <span title={session.initiator}>{session.initiator}</span>
      ) : (
        <a href={pagePath("host", session.host)}>{session.host}</a>
      ),
    by: ({ host: name, initiator }) => name ?? initiator,
  };
  const rest: Column<Session>[] = [
    { key: "from", title: "From", cell: ({ peer_address }) => peer_address, by: ({ peer_address }) => peer_address },
    { key: "portal", title: "Portal", rank: 2, cell: ({ portal }) => portal, by: ({ portal }) => portal },
    { key: "since", title: "Since", rank: 2, cell: ({ since }) => <Ago at={since} />, by: ({ since }) => since },
    { key: "io", title: "Last I/O", cell: ({ last_io }) => <Ago at={last_io} />, by: ({ last_io }) => last_io ?? "" },
    {
      key: "commands",
      title: "Commands",
      number: true,
      rank: 2,
      cell: ({ commands }) => grouped(commands),
      by: ({ commands }) => commands,
    },
    {
      key: "read",
      title: "Read",
      number: true,
      rank: 2,
      about: "Bytes sent to the initiator",
      cell: ({ read_bytes }) => <Bytes of={read_bytes} />,
      by: ({ read_bytes }) => read_bytes,
    },
    {
      key: "written",
      title: "Written",
      number: true,
      rank: 2,
      about: "Bytes received from the initiator",
      cell: ({ written_bytes }) => <Bytes of={written_bytes} />,
      by: ({ written_bytes }) => written_bytes,
    },
    {
      key: "mss",
      title: "MSS",
      number: true,
      rank: 3,
      about: "Largest TCP segment in bytes",
      cell: ({ mss_bytes }) => (mss_bytes == null ? NONE : grouped(mss_bytes)),
      by: ({ mss_bytes }) => mss_bytes ?? 0,
    },
    {
      key: "parameters",
      title: "Negotiated",
      rank: 3,
      about: "MaxBurstLength and FirstBurstLength; segments to the initiator and to the array; digests",
      cell: ({ parameters }) => (parameters === undefined ? NONE : negotiated(parameters)),
    },
    {
      key: "initiator",
      title: "Initiator",
      rank: 3,
      cell: ({ initiator }) => <code>{initiator}</code>,
      by: ({ initiator }) => initiator,
    },
  ];
  return hosts ? [host, ...rest] : rest;
}
