// Works for some seconds. With an address, Pyroscope's agent profiles it; Datadog's tracer is loaded from outside.
const [, , address] = process.argv;
const pyroscope = address && require("@pyroscope/nodejs");
if (pyroscope) {
  pyroscope.init({ serverAddress: address, appName: "shop", tags: { region: "north" }, flushIntervalMs: 2000 });
  pyroscope.start();
}

const held = [];

function busy() {
  const end = Date.now() + 100;
  let sum = 0;
  while (Date.now() < end) {
    sum += Math.sqrt(sum + 1);
    held.push([sum]);
    if (held.length > 100000) held.length = 0;
  }
}

const end = Date.now() + 5000;
function again() {
  busy();
  if (Date.now() < end) setTimeout(again, 10);
  else if (pyroscope) pyroscope.stop();
}
again();
