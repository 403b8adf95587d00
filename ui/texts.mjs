// Texts of the app stand in its tables: none in its elements, and none in a table that nothing shows.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";

const APP = fileURLToPath(new URL("src/app/", import.meta.url));
/** The same in every language: names, what is typed, and what stands for a key or a unit. */
const SAME = /^(traceloom|traceloom (token|serve) .*|UTC|TPTP|Ctrl K|tl_…)$/;
const TITLED = /(?:children|"aria-label"|title|placeholder|label): "((?:[^"\\]|\\.)*)"/g;
const ALONE = /(?<!\w\()\n\s*"((?:[^"\\]|\\.)*)",?(?=\n)/g;

const faults = [];
let sources = readFileSync(`${APP}../pages/app.tsx`, "utf8");
for (const name of readdirSync(APP).filter((name) => /\.tsx?$/.test(name))) {
  const source = readFileSync(APP + name, "utf8");
  sources += source;
  if (!name.endsWith(".tsx")) continue;
  const { code } = await transform(source, {
    loader: "tsx",
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "utf8",
  });
  for (const [, text] of [...code.matchAll(TITLED), ...code.matchAll(ALONE)]) {
    if (/[A-Za-z]{2}/.test(text) && !SAME.test(text.trim()))
      faults.push(`src/app/${name}: "${text}" stands in no table`);
  }
}
const english = readFileSync(`${APP}texts/en.ts`, "utf8");
for (const [, quoted, plain] of english.matchAll(/^ {2}(?:"([^"]+)"|(\w+)):/gm)) {
  const key = quoted ?? plain;
  // Some names are put together: those of kinds, columns, states.
  const family = key.includes(".") ? `\`${key.slice(0, key.lastIndexOf("."))}.$` : undefined;
  if (!sources.includes(`"${key}"`) && !(family && sources.includes(family))) faults.push(`nothing shows "${key}"`);
}
if (faults.length) {
  console.error(faults.join("\n"));
  process.exit(1);
}
