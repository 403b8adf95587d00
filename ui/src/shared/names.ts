/*
 * Names of functions by the room there is: the method never yields to its class, nor the class to its package. The same
 * rules as `names/fit.rs`; `ui/examples/names.json` holds them together.
 */

/** Returns where the class begins in `package.Class.method`, or -1 when the name is no such thing. */
function classStart(name: string, separator: string): number {
  let start = 0;
  for (const part of name.split(separator)) {
    if (/^[\p{Lu}$]/u.test(part)) return start > 0 ? start : -1;
    if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(part)) return -1;
    start += part.length + 1;
  }
  return -1;
}

const MADE_UP = ["$$Lambda", "GeneratedMethodAccessor", "$Proxy", "$$FastClassByCGLIB"];

/** `Foo$$Lambda$14.run` becomes `Foo$$Lambda.run`. */
function withoutMadeUpNumbers(name: string): string {
  for (const marker of MADE_UP) {
    const at = name.indexOf(marker);
    if (at < 0) continue;
    const end = at + marker.length;
    const dot = name.lastIndexOf(".");
    return name.slice(0, end) + (dot >= end ? name.slice(dot) : "");
  }
  return name;
}

/** `lambda$bar$3` becomes `bar λ3`. */
const lambda = (method: string) => method.replace(/^lambda\$(.+)\$(\d+)$/, "$1 λ$2");

/** Levels of a Java method; none for names of another shape. */
function java(name: string): string[] | null {
  const plain = name.split("(")[0];
  const separator = plain.includes("/") ? "/" : ".";
  const start = classStart(plain, separator);
  if (start < 0) return null;
  const initials = plain
    .slice(0, start)
    .split(separator)
    .filter(Boolean)
    .map((part) => `${[...part][0]}.`)
    .join("");
  const owned = withoutMadeUpNumbers(plain.slice(start));
  const dot = owned.lastIndexOf(".");
  if (dot < 0) return [initials + owned, owned];
  const method = lambda(owned.slice(dot + 1));
  const short = owned.slice(0, dot + 1) + method;
  return [initials + short, short, method];
}

/** Returns text without what stands in angle brackets; none where they do not match. */
function withoutTemplates(name: string): string | null {
  let out = "";
  let depth = 0;
  for (let at = 0; at < name.length; at++) {
    const c = name[at];
    const isArrow = c === ">" && name[at - 1] === "-";
    if (c === "<" && depth++ === 0) out += "<…";
    if (c === ">" && !isArrow && --depth < 0) return null;
    if (depth === 0) out += c;
  }
  return depth === 0 ? out : null;
}

/** Levels of a Rust or C++ name. */
function scoped(name: string): string[] {
  const plain = name.includes("operator") ? null : withoutTemplates(name);
  if (plain === null) return [name];
  // Arguments begin behind a name, not at the start of one, as `(anonymous namespace)` does.
  const open = plain.search(/(?<=[^:])\(/);
  const parts = (open < 0 ? plain : plain.slice(0, open)).split("::");
  let last = parts.pop() ?? "";
  // A closure says nothing without what it stands in.
  while (last.startsWith("{") && parts.length) last = `${parts.pop()}::${last}`;
  if (!parts.length) return [last];
  return [...parts, last].length > 2
    ? [[...parts, last].join("::"), `${parts.at(-1)}::${last}`, last]
    : [`${parts[0]}::${last}`, last];
}

/** Levels of a name of parts between dots, perhaps behind a path: Go, Python, JavaScript. */
function dotted(name: string): string[] {
  if (!/^[\p{L}\p{N}_$<>()*[\]·{}#@%/.,;-]+$/u.test(name)) return [name];
  const levels = [name];
  const from = name.lastIndexOf("/") + 1;
  if (from > 0) levels.push(name.slice(from));
  let depth = 0;
  for (let at = from; at < name.length - 1; at++) {
    const c = name[at];
    if (c === "(" || c === "[") depth++;
    else if (c === ")" || c === "]") depth--;
    else if (c === "." && depth === 0 && at > from) levels.push(name.slice(at + 1));
  }
  return levels;
}

/** A name and its shorter forms, the longest first; each ends with the last one, the method. */
export function levels(name: string): string[] {
  // `std::12` is a path, what else ends in a number is a line of a function.
  const line = /[^:](:\d+)$/.exec(name)?.[1] ?? "";
  return levelsOf(name.slice(0, name.length - line.length)).map((level) => level + line);
}

/** Files of native code, with the version behind. */
const LIBRARY = /\.(so(\.\d+)*|dll|dylib|jnilib)$/;

function levelsOf(name: string): string[] {
  if (name.includes("+0x")) return [name];
  if (LIBRARY.test(name)) return [...new Set([name, name.slice(name.lastIndexOf("/") + 1)])];
  if (name.includes("::")) return scoped(name);
  return java(name) ?? (/\s/.test(name) ? [name] : dotted(name));
}

/** A name's method, and what it belongs to: class and package of Java, else what stands before the method. */
export function parts(name: string): { method: string; owner: string } {
  const forms = levels(name);
  const method = forms[forms.length - 1];
  const plain = name.split("(")[0];
  const start = classStart(plain, plain.includes("/") ? "/" : ".");
  if (java(name)) {
    const owned = plain.slice(start);
    const dot = owned.lastIndexOf(".");
    const held = plain.slice(0, start - 1).replaceAll("/", ".");
    return { method, owner: dot < 0 ? held : `${owned.slice(0, dot)} · ${held}` };
  }
  return { method, owner: forms[0].slice(0, forms[0].length - method.length).replace(/(::|[./])$/, "") };
}

/** What stands before the last part of a name: `com.acme.Order` of `com.acme.Order.save`; empty where nothing does. */
export function classOf(name: string): string {
  const plain = name.split("(")[0] || name;
  return plain.slice(0, Math.max(plain.lastIndexOf("."), plain.lastIndexOf(":"), 0)).replace(/:+$/, "");
}

/** The package of a Java name, the crate of one of Rust, else the module; empty where a name has none. */
export function packageOf(name: string): string {
  const plain = name.split("(")[0] || name;
  const start = classStart(plain, plain.includes("/") ? "/" : ".");
  if (start > 0) return plain.slice(0, start - 1).replaceAll("/", ".");
  if (plain.includes("::")) return plain.split("::")[0];
  const dot = plain.indexOf(".", plain.lastIndexOf("/") + 1);
  return plain.slice(0, Math.max(dot, 0));
}

/** Cuts a text to a number of characters: in the middle, and at the end where few remain. */
export function cut(text: string, room: number): string {
  const all = [...text];
  if (all.length <= room) return text;
  if (room < 3) return "";
  const head = room < 9 ? room - 1 : Math.ceil(((room - 1) * 65) / 100);
  const tail = all.slice(all.length - (room - 1 - head));
  return `${all.slice(0, head).join("")}…${tail.join("")}`;
}

/** The longest form of a name that fits; of a method that does not, as much as fits. */
export function fit(forms: readonly string[], room: number, width: (text: string) => number): string {
  for (const form of forms) if (width(form) <= room) return form;
  const method = forms[forms.length - 1];
  let low = 2;
  let high = [...method].length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (width(cut(method, middle)) <= room) low = middle;
    else high = middle - 1;
  }
  const text = cut(method, low);
  return width(text) <= room ? text : "";
}

/** Characters of a text. */
export const characters = (text: string): number => [...text].length;
