// Loads files with the importer of the npm package speedscope, and prints what it understood.
// usage: node speedscope.mjs PACKAGE FILE...
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [folder, ...files] = process.argv.slice(2);
const release = path.join(folder, 'dist', 'release');
const bundle = fs.readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name));
let text = fs.readFileSync(path.join(release, bundle), 'utf8');

// The bundle exports nothing: the importer is the function called after this message, and the module
// that it lies in is initialised by the first lazy wrapper behind it.
const importer = /Importing as speedscope json file"\),([\w$]+)\(/.exec(text)[1];
const definition = text.indexOf(`function ${importer}(`);
const initialise = /var ([\w$]+)=[\w$]+\(\(\)=>\{"use strict";/.exec(text.slice(definition))[1];
const head = '(()=>{';
const begin = text.indexOf(head) + head.length;
const hook = `globalThis.load=file=>(${initialise}(),${importer}(file));`;
text = text.slice(0, begin) + hook + text.slice(begin);

// There is no page to start in, which the bundle finds out after the hook is set.
const context = vm.createContext({ console: { log() {}, warn() {}, error() {}, assert() {} } });
try {
  vm.runInContext(text, context);
} catch (error) {
  if (typeof context.load !== 'function') throw error;
}

for (const file of files) {
  const group = context.load(JSON.parse(fs.readFileSync(file, 'utf8')));
  const profiles = group.profiles.map(profile => {
    let opened = 0;
    let depth = 0;
    let deepest = 0;
    let last = -Infinity;
    let backwards = 0;
    const tick = at => {
      backwards += at < last;
      last = at;
    };
    const enter = (node, at) => {
      tick(at);
      opened += 1;
      depth += 1;
      deepest = Math.max(deepest, depth);
    };
    const leave = (node, at) => {
      tick(at);
      depth -= 1;
    };
    profile.forEachCall(enter, leave);
    const frames = [];
    profile.forEachFrame(frame =>
      frames.push([frame.name, frame.getSelfWeight(), frame.getTotalWeight()]),
    );
    return {
      name: profile.getName(),
      unit: profile.weightUnit ?? profile.getWeightUnit?.(),
      total: profile.getTotalNonIdleWeight(),
      weight: profile.getTotalWeight(),
      opened,
      open: depth,
      deepest,
      backwards,
      frames,
    };
  });
  console.log(JSON.stringify(profiles));
}
