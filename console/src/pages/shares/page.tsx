// Shares: files that hosts use over NFS.

import { useNavigate } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { ChangeShare, CreateShare, DeleteShare, GrantShare } from "../../actions/share";
import { TakeSnapshot } from "../../actions/snapshot";
import { granteeName } from "../../api/grants";
import { useList } from "../../api/list";
import { pagePath } from "../../api/page-paths";
import type { Share } from "../../api/schema";
import { ListPage } from "../../parts/list-page";
import { Bytes } from "../../parts/numbers";
import type { Column } from "../../parts/table";

const COLUMNS: Column<Share>[] = [
  {
    key: "name",
    title: "Name",
    cell: ({ name }) => <a href={pagePath("share", name)}>{name}</a>,
    by: ({ name }) => name,
  },
  {
    key: "mapped",
    title: "Stored",
    number: true,
    about: "Bytes of files that are mapped",
    cell: ({ mapped_bytes }) => <Bytes of={mapped_bytes} />,
    by: ({ mapped_bytes }) => mapped_bytes,
  },
  {
    key: "quota",
    title: "Quota",
    number: true,
    cell: ({ quota_bytes }) => <Bytes of={quota_bytes ?? undefined} />,
    by: ({ quota_bytes }) => quota_bytes ?? 0,
  },
  {
    key: "unique",
    title: "Unique",
    number: true,
    rank: 2,
    about: "Bytes that deleting it would free",
    cell: ({ unique_bytes }) => <Bytes of={unique_bytes ?? null} />,
    by: ({ unique_bytes }) => unique_bytes ?? -1,
  },
  {
    key: "snapshots",
    title: "Snaps",
    number: true,
    rank: 2,
    cell: ({ snapshots }) => snapshots,
    by: ({ snapshots }) => snapshots,
  },
  {
    key: "access",
    title: "Access",
    rank: 2,
    cell: ({ exports }) => (
      <Show when={!exports.some(({ host }) => host === "any")} fallback={<span class="tag warn">everybody</span>}>
        {exports.map(({ host }) => granteeName(host)).join(", ") || <span class="soft">none</span>}
      </Show>
    ),
  },
  { key: "protocols", title: "NFS", rank: 3, cell: ({ protocols }) => protocols.join(", ") },
  { key: "copy", title: "Copies", rank: 3, cell: ({ copy }) => (copy === "share" ? "share blocks" : "physical") },
];

export default function Shares(): JSX.Element {
  const shares = useList<Share>(() => "/api/v1/shares");
  const go = useNavigate();
  const [open, setOpen] = createSignal<
    { verb: "create" } | { verb: "grant" | "snapshot" | "change" | "delete"; share: Share }
  >();
  const close = () => setOpen(undefined);
  return (
    <ListPage
      title="Shares"
      about="Files that hosts use over NFS"
      same={[
        { what: "list the shares", windlass: "windlass share list", path: "/api/v1/shares" },
        {
          what: "create a share",
          windlass: "windlass share create NAME",
          method: "POST",
          path: "/api/v1/shares",
          body: { name: "NAME" },
        },
      ]}
      add={{ label: "New share", run: () => setOpen({ verb: "create" }) }}
      of={shares}
      empty={<>A share is a file system that hosts mount over NFS. Copies within it are clones: no data moves.</>}
      columns={COLUMNS}
      id={({ name }) => name}
      actions={(share) => [
        { label: "Open", run: () => go(pagePath("share", share.name)) },
        {
          label: "Connect a host",
          run: () => go(`/hosts/connect?system=linux&share=${encodeURIComponent(share.name)}`),
        },
        { label: "Grant access…", needs: "operator", run: () => setOpen({ verb: "grant", share }) },
        { label: "Snapshot…", needs: "operator", run: () => setOpen({ verb: "snapshot", share }) },
        { label: "Change…", needs: "operator", run: () => setOpen({ verb: "change", share }) },
        { label: "Delete…", needs: "operator", danger: true, run: () => setOpen({ verb: "delete", share }) },
      ]}
    >
      <Show when={open()} keyed>
        {(present) =>
          present.verb === "create" ? (
            <CreateShare onClose={close} onDone={({ name }) => go(pagePath("share", name))} />
          ) : present.verb === "grant" ? (
            <GrantShare share={present.share.name} onClose={close} />
          ) : present.verb === "snapshot" ? (
            <TakeSnapshot of={[present.share.name]} share onClose={close} />
          ) : present.verb === "change" ? (
            <ChangeShare share={present.share} onClose={close} />
          ) : (
            <DeleteShare share={present.share} onClose={close} />
          )
        }
      </Show>
    </ListPage>
  );
}
