// Bundles the pages' scripts and styles into the folder of the crate that embeds them; `--check` compares instead.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const ASSETS = here("../crates/analysis/assets/");
const APP = here("../crates/server/assets/");
/** Bytes that the app may take on the wire. */
const MOST_OF_APP = 500_000;

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

/** The app's script and style. */
async function builtApp() {
  const jsx = { jsx: "automatic", jsxImportSource: "preact", loader: { ".html": "text" } };
  const script = await build({ ...options, ...jsx, entryPoints: [here("src/pages/app.tsx")], format: "iife" });
  const style = await build({ ...options, entryPoints: [here("src/pages/app.css")] });
  return new Map([
    ["app.js", script.outputFiles[0].text],
    ["app.css", style.outputFiles[0].text],
  ]);
}

const isBuilt = (name) => /\.(js|css|sha256)$/.test(name);

/** Names of files in a folder that are not what is built. */
function differing(folder, files) {
  const there = readdirSync(folder).filter(isBuilt);
  const isSame = (name) => there.includes(name) && readFileSync(folder + name, "utf8") === files.get(name);
  return [...new Set([...files.keys(), ...there])].filter((name) => !files.has(name) || !isSame(name));
}

function write(folder, files) {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (isBuilt(name) && !files.has(name)) rmSync(folder + name);
  for (const [name, text] of files) writeFileSync(folder + name, text);
}

const folders = new Map([
  [ASSETS, await built()],
  [APP, await builtApp()],
]);
if (folders.get(ASSETS).get("svg.js").includes("]]>")) {
  throw new Error("svg.js would end the section of the picture that holds it");
}
const ofApp = [...folders.get(APP).values()].reduce((sum, text) => sum + gzipSync(text).length, 0);
if (ofApp > MOST_OF_APP) throw new Error(`the app takes ${ofApp} bytes on the wire, ${MOST_OF_APP} are promised`);
if (process.argv.includes("--check")) {
  const other = [...folders].flatMap(([folder, files]) => differing(folder, files));
  if (other.length) {
    console.error(`committed bundles are not what ui/ builds: ${other.join(", ")}; run: npm run build --prefix ui`);
    process.exit(1);
  }
} else {
  for (const [folder, files] of folders) write(folder, files);
}
