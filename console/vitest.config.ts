import { defineConfig } from "vitest/config";

// Tests of pure modules, and tests that drive a browser: none needs a document of its own.
export default defineConfig({
  test: {
    environment: "node",
    pool: "threads",
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    include: ["**/*.test.ts"],
  },
});
