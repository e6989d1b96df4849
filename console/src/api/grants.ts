// Grantees of volumes and shares: a host, `group:NAME`, a network as `ADDRESS/PREFIX`, or `any`.

import type { Export, Host, HostGroup, HostLun, VolumeLun } from "./schema";

const GROUP = "group:";

/** Name of the host group that a grant is for. */
export const groupOf = (grantee: string): string | undefined =>
  grantee.startsWith(GROUP) ? grantee.slice(GROUP.length) : undefined;

/** Name of a grantee in words. */
export function granteeName(grantee: string): string {
  if (grantee === "any") return "everybody";
  const group = groupOf(grantee);
  return group === undefined ? grantee : `group ${group}`;
}

const isNetwork = (grantee: string): boolean => grantee.includes("/");

/** Options of `windlass access` that name the grantee. */
export function granteeOptions(grantee: string): string[] {
  if (grantee === "any") return ["--any"];
  const group = groupOf(grantee);
  if (group !== undefined) return ["--group", group];
  return [isNetwork(grantee) ? "--network" : "--host", grantee];
}

/** True if a grant covers a host: by name, by group, by a network that contains one of its addresses, or as `any`. */
export function covers(grantee: string, host: Pick<Host, "name" | "addresses">, groups: HostGroup[]): boolean {
  if (grantee === "any" || grantee === host.name) return true;
  const group = groupOf(grantee);
  if (group !== undefined) return groups.some(({ name, hosts }) => name === group && hosts.includes(host.name));
  return isNetwork(grantee) && (host.addresses ?? []).some((address) => inNetwork(address, grantee));
}

/** Grantee of the grant through which a host sees a logical unit: a group of the host, or the host itself. */
export function granteeOf(unit: HostLun, host: string, groups: HostGroup[]): string {
  const group = groups.find(
    ({ hosts, luns }) =>
      hosts.includes(host) && luns.some(({ volume, lun }) => volume === unit.volume && lun === unit.lun),
  );
  return group === undefined ? host : GROUP + group.name;
}

/** True if a host may use a volume or share. */
export function mayUse(
  content: { luns: VolumeLun[] } | { exports: Export[] },
  host: Pick<Host, "name" | "addresses">,
  groups: HostGroup[],
): boolean {
  const grants = "luns" in content ? content.luns : content.exports;
  return grants.some((grant) => covers(grant.host, host, groups));
}

/** Bits of an IP address; `undefined` if it is none. */
function bits(address: string): string | undefined {
  const binary = (digits: string, radix: number, width: number) =>
    Number.parseInt(digits, radix).toString(2).padStart(width, "0");
  const v4 = /^\d+\.\d+\.\d+\.\d+$/;
  if (v4.test(address))
    return address
      .split(".")
      .map((part) => binary(part, 10, 8))
      .join("");
  if (!address.includes(":")) return undefined;
  const groups = (half: string | undefined) =>
    (half === undefined || half === "" ? [] : half.split(":")).map((part) =>
      v4.test(part) ? (bits(part) ?? "") : binary(part, 16, 16),
    );
  const [head, tail] = address.split("::");
  const [before, after] = [groups(head).join(""), groups(tail).join("")];
  return before + "0".repeat(Math.max(0, 128 - before.length - after.length)) + after;
}

function inNetwork(address: string, network: string): boolean {
  const [base = "", prefix] = network.split("/");
  const [one, other] = [bits(address), bits(base)];
  if (one === undefined || other === undefined || one.length !== other.length) return false;
  return one.slice(0, Number(prefix)) === other.slice(0, Number(prefix));
}
