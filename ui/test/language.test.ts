import assert from "node:assert/strict";
import { test } from "node:test";
import { languageOf, pieces, say } from "../src/app/language";
import { EN } from "../src/app/texts/en";
import { ZH } from "../src/app/texts/zh";

const tables: Readonly<Record<string, Readonly<Record<string, string>>>> = { EN, ZH };
const places = (text: string) => [...text.matchAll(/\{([^}|]+)[^}]*\}/g)].map(([, name]) => name).sort();

test("every language has every text, with the same places", () => {
  for (const [name, table] of Object.entries(tables)) {
    assert.deepEqual(Object.keys(table), Object.keys(EN), name);
    for (const [key, text] of Object.entries(table)) {
      assert.ok(text, `${key} of ${name} is empty`);
      assert.deepEqual(places(text), places(EN[key as keyof typeof EN]), `${key} of ${name}`);
      assert.doesNotMatch(text.replace(/\{[^{}]+\}/g, ""), /[{}]/, `${key} of ${name}`);
    }
  }
});

test("a text is Chinese, unless it is the same in every language", () => {
  const same = Object.entries(ZH).filter(([key, text]) => text === EN[key as keyof typeof EN] && /[a-z]{3}/.test(text));
  assert.deepEqual(
    same.map(([, text]) => text),
    ["Heph"],
  );
});

test("numbers are grouped, with the form of their noun", () => {
  assert.equal(say("calls.found.some", { calls: 1 }), "1 call");
  assert.equal(say("calls.found.some", { calls: 1200 }), "1,200 calls");
  assert.equal(pieces(ZH["calls.found.some"], { calls: 1200 }).join(""), "1,200 次调用");
  assert.equal(say("memory.objects.count", { classes: 2 }), "2 classes");
  assert.equal(say("capture.of", { capture: "{name}" }), "capture {name}");
});

test("the language that was chosen comes before those of the browser", () => {
  assert.equal(languageOf("", ["zh-CN", "en"]), "zh");
  assert.equal(languageOf("", ["fr-FR", "zh-TW", "en"]), "zh");
  assert.equal(languageOf("", ["en-GB", "zh"]), "en");
  assert.equal(languageOf("en", ["zh-CN"]), "en");
  assert.equal(languageOf("constructor", ["fr"]), "en");
  assert.equal(languageOf("", []), "en");
});
