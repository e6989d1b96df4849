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
// The array takes changes from its own pages only.
const proxied = { target: server, secure: false, changeOrigin: true, headers: { Origin: server } };

// Modules below src that pages with tables share, those of dialogs, and those of charts. All others that more than one page has
// are one file.
const TABLE = [
  "parts/(table|rows|list-page|events|order|sessions|snapshots|schedule-words|act)",
  "parts/(audit-entries|file-link|explanation|content-bar|hosts-tabs|content-tabs|settings-tabs|grantee|shell-lines|limit-words)",
  "api/(grants|volume-query)",
];
const DIALOG = [
  "parts/(dialog|form|one-by-one|same-lines|command-lines|new-password|words)",
  "parts/(conflict|differences|destroy|effect|together|schedule-preview)",
  "api/asked",
  "shell/(sign-in|change-password|key-list)",
];
const CHART = ["parts/chart", "live/charts", "live/range", "live/series"];
const ELSEWHERE = [
  "pages",
  "main",
  "actions",
  "connect",
  "api/volume-rows",
  "parts/offload",
  "shell/search",
  "parts/forecast",
  "parts/kept-off",
  "live/(bytes-chart|followed)",
  ...TABLE,
  ...DIALOG,
  ...CHART,
];
const below = (names: string[]): RegExp => new RegExp(`src/(?:${names.join("|")})`);
const notBelow = (names: string[]): RegExp => new RegExp(`src/(?!${names.join("|")})`);

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
        // One file of libraries, one for charts, one of what pages share, one for pages that have the same tabs, and one
        // for each other page.
        codeSplitting: {
          groups: [
            { name: "libraries", test: /node_modules\/(solid-js|@solidjs)/, priority: 2 },
            { name: "chart", test: new RegExp(`node_modules/uplot|${below(CHART).source}`), priority: 1 },
            { name: "dialog", test: below(DIALOG), priority: 1 },
            { name: "actions", test: /src\/actions/, priority: 1 },
            { name: "offload-parts", test: /src\/parts\/offload/, priority: 1 },
            { name: "beside", test: /src\/(pages\/overview\/(busiest|below)|parts\/(forecast|kept-off))/, priority: 1 },
            { name: "table", test: below(TABLE), priority: 1 },
            { name: "administration", test: below(["pages/(people|settings|sign-ins|tokens)/"]), priority: 1 },
            { name: "hosts", test: below(["pages/(groups|host|hosts|portals|sessions)/"]), priority: 1 },
            { name: "contents", test: below(["pages/(schedules|shares|snapshots|trash|volumes)/"]), priority: 1 },
            { name: "shared", test: notBelow(ELSEWHERE), priority: 2 },
          ],
        },
      },
    },
  },
});
