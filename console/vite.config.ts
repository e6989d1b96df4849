import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import solid from "vite-plugin-solid";

// SHA-256 of each file of dist, and nothing else. The build script of the crate console_assets compares them.
function manifest(): Plugin {
  let directory = "dist";
  return {
    name: "manifest",
    apply: "build",
    configResolved({ build }) {
      directory = build.outDir;
    },
    closeBundle() {
      const names = readdirSync(directory).filter((name) => name !== "manifest.json");
      const digest = (name: string) =>
        createHash("sha256")
          .update(readFileSync(`${directory}/${name}`))
          .digest("hex");
      const lines = names.sort().map((name) => `  "${name}": "${digest(name)}"`);
      writeFileSync(`${directory}/manifest.json`, `{\n${lines.join(",\n")}\n}\n`);
    },
  };
}

// The array that `npm run dev` shows: WINDLASS_SERVER=https://127.0.0.1:8443 npm run dev
const server = process.env.WINDLASS_SERVER ?? "https://127.0.0.1:8443";
const proxied = { target: server, secure: false };

// Modules that pages with tables share, those of dialogs, and those that all pages share.
const TABLE = /src\/parts\/(table|rows|events|order|sessions|snapshots|content-bar|hosts-tabs)/;
const DIALOG = /src\/(parts\/(dialog|form|one-by-one|same-lines|command-lines)|shell\/(sign-in|key-list))/;
const SHARED =
  /src\/(?!pages|main|actions|connect|api\/volume-rows|live\/charts|shell\/(sign-in|key-list)|parts\/(chart|offload|table|rows|events|order|sessions|snapshots|content-bar|hosts-tabs|dialog|form|one-by-one|same-lines|command-lines))/;

export default defineConfig({
  plugins: [solid(), manifest()],
  base: "./",
  server: { proxy: { "/api": proxied, "/metrics": proxied, "/health": proxied } },
  build: {
    target: "es2022",
    assetsDir: "",
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Names have no digest, so that a change touches few files in git: the array serves them below one.
    rolldownOptions: {
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: ({ name, facadeModuleId }) =>
          `${/pages\/([^/]+)\/page\.tsx$/.exec(facadeModuleId ?? "")?.[1] ?? name}.js`,
        assetFileNames: "[name][extname]",
        // One file of libraries, one for charts, one of what pages share, and one a page.
        codeSplitting: {
          groups: [
            { name: "libraries", test: /node_modules\/(solid-js|@solidjs)/, priority: 2 },
            { name: "chart", test: /node_modules\/uplot|src\/parts\/chart|src\/live\/charts/, priority: 1 },
            { name: "dialog", test: DIALOG, priority: 1 },
            { name: "actions", test: /src\/actions/, priority: 1 },
            { name: "offload-parts", test: /src\/parts\/offload/, priority: 1 },
            { name: "table", test: TABLE, priority: 1 },
            { name: "shared", test: SHARED, priority: 2 },
          ],
        },
      },
    },
  },
});
