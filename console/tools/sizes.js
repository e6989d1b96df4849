// Prints what the page loads, compressed, and fails above the budget.   usage: node tools/sizes.js DIRECTORY

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

// Bytes as gzip: the first page with all that it needs, styles, a page by itself, and everything.
const BUDGET = { scripts: 60_000, styles: 12_000, page: 15_000, all: 165_000 };

const directory = process.argv[2] ?? "dist";
const names = readdirSync(directory);
const size = (name) => gzipSync(readFileSync(join(directory, name)), { level: 9 }).length;
const imports = (name) =>
  [...readFileSync(join(directory, name), "utf8").matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)].map(([, other]) => other);

/** A script and all that it loads at once. */
function loaded(name, seen = new Set()) {
  if (!seen.has(name)) {
    seen.add(name);
    for (const other of imports(name)) loaded(other, seen);
  }
  return seen;
}

const first = loaded("overview.js", loaded("index.js"));
const shared = new Set([...first, "actions.js", "dialog.js", "table.js", "offload-parts.js"]);
const pages = names.filter((name) => name.endsWith(".js") && !shared.has(name));
const sum = (of) => [...of].map(size).reduce((all, one) => all + one, 0);
const sizes = {
  scripts: sum(first),
  styles: sum(names.filter((name) => name.endsWith(".css"))),
  page: Math.max(...pages.map(size)),
  all: sum(names),
};
for (const [what, bytes] of Object.entries(sizes)) {
  console.log(`${what.padEnd(8)} ${String(bytes).padStart(7)} bytes as gzip, of ${BUDGET[what]}`);
}
if (Object.entries(sizes).some(([what, bytes]) => bytes > BUDGET[what])) {
  console.error("above the budget");
  process.exit(1);
}
