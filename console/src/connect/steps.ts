// Commands that connect a Linux host to a volume or share, as `windlass connect linux` prints them.

import type { Host, Portal, Share, Volume } from "../api/schema";

/** Lines for one purpose. */
export interface Step {
  purpose: string;
  where: "host" | "array";
  lines: string[];
}

/** Steps for a volume. */
export function volumeSteps(volume: Volume, host: Host, portals: Portal[]): Step[] {
  const target = portals[0]?.target ?? "";
  return [
    {
      purpose: "Once: the initiator",
      where: "host",
      lines: [
        "apt-get install open-iscsi               # Debian, Ubuntu",
        "dnf install iscsi-initiator-utils        # Fedora, RHEL",
      ],
    },
    {
      purpose: `Log in on ${host.name}, as root`,
      where: "host",
      lines: [
        ...portals.map((portal) => `iscsiadm -m discovery -t sendtargets -p ${portal.advertised}`),
        `iscsiadm -m node -T ${target} -l`,
        `iscsiadm -m node -T ${target} -o update -n node.startup -v automatic`,
      ],
    },
    {
      purpose: "What to look at, on the host",
      where: "host",
      lines: ["lsblk -o NAME,VENDOR,MODEL,SIZE,DISC-MAX", `ls -l /dev/disk/by-id/ | grep -i ${volume.naa}`],
    },
    {
      purpose: "What to look at, on the array",
      where: "array",
      lines: [`windlass offload stats ${volume.name}`, `windlass offload log ${volume.name}`],
    },
  ];
}

/** Port of NFS, which clients take by themselves. */
const NFS_PORT = "2049";

/** Address and port of an NFS server, apart; an IPv6 address with a port is in brackets. */
export function splitAddress(server: string): { address: string; port: string } {
  const match = /^(\[.*\]|[^:]*):(\d{1,5})$/.exec(server);
  return { address: match?.[1] ?? server, port: match?.[2] ?? NFS_PORT };
}

/** Options of mount(8). There is no lock manager of NFSv3, and MOUNT has the port of NFS. */
export function mountOptions(share: Share, port: string): string {
  const version = share.protocols.includes("v4")
    ? ["vers=4.2", "hard"]
    : ["vers=3", "hard", "proto=tcp", "nolock", `mountport=${port}`];
  return [...version, ...(port === NFS_PORT ? [] : [`port=${port}`])].join(",");
}

/** Steps for a share; `server` is one of its portals. */
export function shareSteps(share: Share, host: Host, server: string): Step[] {
  const { address, port } = splitAddress(server);
  const v4 = share.protocols.includes("v4");
  const options = mountOptions(share, port);
  const source = `${address}:${share.path}`;
  const directory = `/mnt/${share.name}`;
  return [
    {
      purpose: "Once: the client of NFS",
      where: "host",
      lines: ["apt-get install nfs-common     # Debian, Ubuntu", "dnf install nfs-utils          # Fedora, RHEL"],
    },
    {
      purpose: `Mount share ${share.name} on ${host.name}, as root`,
      where: "host",
      lines: [`mkdir -p ${directory}`, `mount -t nfs -o ${options} ${source} ${directory}`],
    },
    {
      purpose: "Mount it at each start: a line of /etc/fstab",
      where: "host",
      lines: [`${source}  ${directory}  nfs  ${options},_netdev,nofail  0  0`],
    },
    {
      purpose: "What to look at, on the host",
      where: "host",
      lines: [
        `nfsstat -m                     # ${v4 ? "vers=4.2" : "vers=3"}`,
        ...(v4
          ? [
              `cp --reflink=always ${directory}/A ${directory}/B     # a clone: no data is moved`,
              `fallocate -l 1G ${directory}/C            # reserves space`,
              `fallocate -p -o 0 -l 1G ${directory}/C    # gives it back`,
              `grep -A999 ${directory} /proc/self/mountstats | grep -E 'CLONE|ALLOCATE|COPY'`,
            ]
          : []),
      ],
    },
    {
      purpose: "What to look at, on the array",
      where: "array",
      lines: [
        `windlass offload stats ${share.name} --by client`,
        `windlass offload log ${share.name}`,
        `windlass share stat ${share.name}`,
      ],
    },
  ];
}
