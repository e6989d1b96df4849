import { expect, test } from "vitest";
import type { Share } from "../api/schema";
import { mountOptions, splitAddress } from "./steps";

test("an address of IPv6 has its port outside the brackets", () => {
  expect(splitAddress("192.0.2.7:12049")).toEqual({ address: "192.0.2.7", port: "12049" });
  expect(splitAddress("[2001:db8::7]:2049")).toEqual({ address: "[2001:db8::7]", port: "2049" });
  expect(splitAddress("[2001:db8::7]")).toEqual({ address: "[2001:db8::7]", port: "2049" });
  expect(splitAddress("2001:db8::7")).toEqual({ address: "2001:db8::7", port: "2049" });
});

test("NFSv3 needs the port of MOUNT, and has no locks", () => {
  const share = (protocols: ("v3" | "v4")[]) => ({ protocols }) as Share;
  expect(mountOptions(share(["v3", "v4"]), "2049")).toBe("vers=4.2,hard");
  expect(mountOptions(share(["v4"]), "12049")).toBe("vers=4.2,hard,port=12049");
  expect(mountOptions(share(["v3"]), "12049")).toBe("vers=3,hard,proto=tcp,nolock,mountport=12049,port=12049");
});
