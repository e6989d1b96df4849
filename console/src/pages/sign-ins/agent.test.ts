import { expect, test } from "vitest";
import { browserName } from "./agent";

test("browsers by their agents", () => {
  const chrome =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36";
  expect(browserName(chrome)).toBe("Chrome on Linux");
  expect(browserName(`${chrome} Edg/143.0`)).toBe("Edge on Linux");
  expect(browserName("Mozilla/5.0 (Windows NT 10.0; rv:146.0) Gecko/20100101 Firefox/146.0")).toBe(
    "Firefox on Windows",
  );
  expect(browserName("curl/8.5.0")).toBe("curl/8.5.0");
  expect(browserName("")).toBe("unknown");
});
