// Bundles the unit tests for node and runs them.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = fileURLToPath(new URL("test/", import.meta.url));
const outdir = mkdtempSync(join(tmpdir(), "traceloom-ui-"));
const tests = readdirSync(folder).filter((name) => name.endsWith(".test.ts"));
await build({
  entryPoints: tests.map((name) => folder + name),
  outdir,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  logLevel: "warning",
});
const run = spawnSync(process.execPath, ["--test", ...tests.map((name) => join(outdir, name.replace(/ts$/, "mjs")))], {
  stdio: "inherit",
});
rmSync(outdir, { recursive: true });
process.exit(run.status ?? 1);
