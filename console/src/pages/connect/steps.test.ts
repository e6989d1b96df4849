import { expect, test } from "vitest";
import { choiceOf, connectPath, replaced, script } from "./steps";

test("a choice has what the address names, and nothing else", () => {
  expect(choiceOf({ system: "esxi", host: "", volume: ["a"], other: "x" })).toEqual({ system: "esxi" });
});

test("a step has an address with the choice", () => {
  expect(connectPath("watch", { host: "a&b", volume: undefined })).toBe("/hosts/connect/watch?host=a%26b");
});

test("a secret stands where its placeholder is a word of its own", () => {
  expect(replaced("--secret=CHAP-SECRET 'CHAP-SECRET'", "CHAP-SECRET", "a$&b")).toBe("--secret=a$&b 'a$&b'");
  expect(replaced("MY-CHAP-SECRET CHAP-SECRETS", "CHAP-SECRET", "x")).toBe("MY-CHAP-SECRET CHAP-SECRETS");
});

test("a file among the commands that are copied is written, and does not run", () => {
  const commands = [{ text: "<disk/>\n", file: "disk.xml" }, { text: "virsh attach-device DOMAIN disk.xml" }];
  expect(script(commands)).toBe("cat >disk.xml <<'END'\n<disk/>\nEND\nvirsh attach-device DOMAIN disk.xml\n");
});
