import { expect, test } from "vitest";
import { bandwidthWords, burstOf, burstText, heldWords, iopsWords, NO_BURST, sizeOf, wholeOf } from "./limit-words";

test("limits are read as they are written", () => {
  expect(wholeOf("2000")).toBe(2000);
  expect(wholeOf("")).toBe(0);
  expect(wholeOf("-1")).toBeUndefined();
  expect(burstOf("10000@30s", wholeOf)).toEqual({ per_second: 10_000, seconds: 30 });
  expect(burstOf("1G@2m", sizeOf)).toEqual({ per_second: 2 ** 30, seconds: 120 });
  expect(burstOf(" ", wholeOf)).toEqual(NO_BURST);
  for (const wrong of ["10000", "@30s", "x@30s", "1@", "1@2h"]) expect(burstOf(wrong, wholeOf), wrong).toBeUndefined();
  expect(burstText({ per_second: 10_000, seconds: 30 }, String)).toBe("10000@30s");
});

test("limits and what they held back are said", () => {
  expect(iopsWords(2000, { per_second: 10_000, seconds: 30 })).toMatch(/^2.?000, 10.?000 for 30s$/);
  expect(iopsWords(undefined, undefined)).toBe("–");
  expect(bandwidthWords(100 * 2 ** 20, undefined)).toBe("100M/s");
  expect(heldWords(undefined)).toBe("nothing");
  const held = { delayed_commands: 12, delay_us: 3_400_000, waiting_commands: 2, oldest_us: 0 };
  const charged = { operations: 0, bytes: 0, offload_operations: 0, offload_bytes: 0 };
  expect(heldWords({ ...held, ...charged })).toMatch(/^12 commands for 3[.,]4.* s, 2 wait$/);
});
