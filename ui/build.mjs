// Bundles the pages' scripts and styles into the folder of the crate that embeds them; `--check` compares instead.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const ASSETS = here("../crates/analysis/assets/");

const options = {
  bundle: true,
  write: false,
  minify: true,
  charset: "utf8",
  legalComments: "none",
  target: ["chrome111", "firefox119", "safari17"],
  logLevel: "warning",
};

/** Every built file by its name. */
async function built() {
  const files = new Map();
  for (const page of ["flame", "timeline", "report", "svg"]) {
    const script = await build({ ...options, entryPoints: [here(`src/pages/${page}.ts`)], format: "iife" });
    files.set(`${page}.js`, script.outputFiles[0].text);
    const style = await build({ ...options, entryPoints: [here(`src/pages/${page}.css`)] });
    files.set(`${page}.css`, style.outputFiles[0].text);
  }
  for (const [name, text] of [...files]) {
    files.set(`${name}.sha256`, `${createHash("sha256").update(text).digest("base64")}\n`);
  }
  return files;
}

const files = await built();
if (files.get("svg.js").includes("]]>")) throw new Error("svg.js would end the section of the picture that holds it");
mkdirSync(ASSETS, { recursive: true });
if (process.argv.includes("--check")) {
  const there = readdirSync(ASSETS).filter((name) => /\.(js|css|sha256)$/.test(name));
  const isSame = (name) => there.includes(name) && readFileSync(ASSETS + name, "utf8") === files.get(name);
  const other = [...new Set([...files.keys(), ...there])].filter((name) => !files.has(name) || !isSame(name));
  if (other.length) {
    console.error(`crates/analysis/assets is not what ui/ builds: ${other.join(", ")}; run: npm run build --prefix ui`);
    process.exit(1);
  }
} else {
  for (const name of readdirSync(ASSETS))
    if (/\.(js|css|sha256)$/.test(name) && !files.has(name)) rmSync(ASSETS + name);
  for (const [name, text] of files) writeFileSync(ASSETS + name, text);
}
