/* The language of the app: every text that people read stands in the tables of `texts/`. */
import type { ComponentChildren } from "preact";
import { grouped } from "../shared/amount";
import { EN } from "./texts/en";
import { ZH } from "./texts/zh";

/** The name of a text. */
export type Text = keyof typeof EN;
/** A language: every text by its name. */
export type Table = Readonly<Record<Text, string>>;

/** The names of the places in a text: `{name}`, or `{name|one|many}` for a number with its noun. */
type Places<T> = T extends `${string}{${infer Place}}${infer Rest}`
  ? (Place extends `${infer Name}|${string}` ? Name : Place) | Places<Rest>
  : never;
/** The name of a text without places. */
export type Plain = { [K in Text]: [Places<(typeof EN)[K]>] extends [never] ? K : never }[Text];
type Values<K extends Text, V> = [Places<(typeof EN)[K]>] extends [never]
  ? []
  : [values: Readonly<Record<Places<(typeof EN)[K]>, V>>];

/** Languages with a table, and what each calls itself. */
export const LANGUAGES = [
  ["en", "English"],
  ["zh", "中文"],
] as const;
export type Language = (typeof LANGUAGES)[number][0];

const TABLES: Readonly<Record<Language, Table>> = { en: EN, zh: ZH };
const CHOSEN = "traceloom.language";

let table: Table = EN;

const isLanguage = (tag: string | undefined): tag is Language => LANGUAGES.some(([language]) => language === tag);

/** The language that was chosen, else the first of the browser's that has a table. */
export const languageOf = (chosen: string, browser: readonly string[]): Language =>
  [chosen, ...browser].map((tag) => tag.toLowerCase().split("-")[0]).find(isLanguage) ?? "en";

/** The language that was chosen in this browser; empty where that of the browser is taken. */
export const chosenLanguage = (): string => localStorage.getItem(CHOSEN) ?? "";

/** Takes the language that was chosen, else the browser's. */
export function startLanguage(): void {
  const language = languageOf(chosenLanguage(), navigator.languages);
  table = TABLES[language];
  document.documentElement.lang = language;
}

/** Chooses a language, or that of the browser; what is shown changes when it is drawn again. */
export function chooseLanguage(language: Language | ""): void {
  if (language) localStorage.setItem(CHOSEN, language);
  else localStorage.removeItem(CHOSEN);
  startLanguage();
}

const filled = (place: string, value: unknown): unknown => {
  if (typeof value !== "number") return value;
  const [, one, many] = place.split("|");
  return one === undefined ? grouped(value) : `${grouped(value)} ${value === 1 ? one : (many ?? one)}`;
};

/** A text cut at its places, each with its value; numbers are grouped, and followed by the form of their noun. */
export function pieces(text: string, values: Readonly<Record<string, unknown>>): unknown[] {
  return text
    .split(/\{([^}]+)\}/)
    .map((piece, at) => (at % 2 ? filled(piece, values[piece.split("|")[0] ?? ""]) : piece));
}

/** The text of a name in the language of the app. */
export const say = <K extends Text>(name: K, ...[values]: Values<K, string | number>): string =>
  pieces(table[name], values ?? {}).join("");

/** A text with elements in its places. */
export const show = <K extends Text>(name: K, ...[values]: Values<K, ComponentChildren>): ComponentChildren =>
  pieces(table[name], values ?? {}) as ComponentChildren;

/** Returns the text of a name that may be none. */
export const known = (name: string): string | undefined => (table as Readonly<Record<string, string>>)[name];
