import { expect, test } from "vitest";
import { covers, granteeOf, granteeOptions, mayUse } from "./grants";
import type { Export, HostGroup, VolumeLun } from "./schema";

const group = (name: string, hosts: string[]) => ({ name, hosts }) as HostGroup;
const groups = [group("cluster", ["esx01", "esx02"]), group("esx01", ["esx03"])];
const host = (name: string, addresses: string[] = []) => ({ name, addresses });
const volume = (...hosts: string[]) => ({ luns: hosts.map((each) => ({ host: each }) as VolumeLun) });
const share = (...hosts: string[]) => ({ exports: hosts.map((each) => ({ host: each }) as Export) });

test("a host may use what is granted to it, to one of its groups, or to everybody", () => {
  expect(mayUse(volume("esx01"), host("esx01"), groups)).toBe(true);
  expect(mayUse(volume("group:cluster"), host("esx02"), groups)).toBe(true);
  expect(mayUse(share("group:cluster"), host("esx02"), groups)).toBe(true);
  expect(mayUse(volume("any"), host("other"), groups)).toBe(true);
});

test("a host may not use what is granted to others, or to a group with its name", () => {
  expect(mayUse(volume("esx02", "group:cluster"), host("esx03"), groups)).toBe(false);
  expect(mayUse(volume("group:esx01"), host("esx01"), groups)).toBe(false);
  expect(mayUse(volume("group:absent"), host("esx01"), groups)).toBe(false);
  expect(mayUse(volume(), host("esx01"), groups)).toBe(false);
});

test("a network covers the hosts with an address in it", () => {
  const on = (network: string, ...addresses: string[]) => covers(network, host("h", addresses), []);
  expect(on("10.1.0.0/16", "10.2.0.1", "10.1.255.9")).toBe(true);
  expect(on("10.1.0.0/16", "10.2.0.1")).toBe(false);
  expect(on("192.0.2.128/25", "192.0.2.127")).toBe(false);
  expect(on("0.0.0.0/0", "192.0.2.127")).toBe(true);
  expect(on("2001:db8::/33", "2001:db8:7fff::1")).toBe(true);
  expect(on("2001:db8::/33", "2001:db8:8000::1", "10.0.0.1")).toBe(false);
  expect(on("::/0", "10.0.0.1")).toBe(false);
  expect(on("10.0.0.0/8")).toBe(false);
});

test("a line of the command line says who the grant is for", () => {
  expect(granteeOptions("esx01")).toEqual(["--host", "esx01"]);
  expect(granteeOptions("group:cluster")).toEqual(["--group", "cluster"]);
  expect(granteeOptions("10.0.0.0/24")).toEqual(["--network", "10.0.0.0/24"]);
  expect(granteeOptions("any")).toEqual(["--any"]);
});

test("a logical unit of a host is granted to the group that has it, or else to the host", () => {
  const unit = (volume: string, lun: number) => ({ volume, lun, iscsi_url: "" });
  const having = [{ ...group("cluster", ["esx01"]), luns: [unit("db", 3)] }];
  expect(granteeOf(unit("db", 3), "esx01", having)).toBe("group:cluster");
  expect(granteeOf(unit("web", 3), "esx01", having)).toBe("esx01");
  expect(granteeOf(unit("db", 4), "esx01", having)).toBe("esx01");
  expect(granteeOf(unit("db", 3), "esx02", having)).toBe("esx02");
});
