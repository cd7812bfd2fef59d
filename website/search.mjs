// Asks the search of a built site, which is a script for browsers: node search.mjs SITE, a question a line on standard
// input, a JSON list of the places that it finds a line on standard output.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const site = process.argv[2];
const folder = join(site, "assets/javascripts/workers");
const script = readdirSync(folder).find((name) => name.startsWith("search"));
const index = JSON.parse(readFileSync(join(site, "search.json"), "utf8"));

let answer;
const worker = { postMessage: (message) => answer(message) };
const ask = (message) => new Promise((resolve) => ((answer = resolve), worker.onmessage({ data: message })));
new Function("self", readFileSync(join(folder, script), "utf8"))(worker);

await ask({ type: 0, data: index });
for (const question of readFileSync(0, "utf8").trim().split("\n")) {
  const { data } = await ask({ type: 2, data: { input: question } });
  console.log(JSON.stringify(data.items.map((item) => index.items[item.id].location)));
}
