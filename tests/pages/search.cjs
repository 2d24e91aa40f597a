// Asks the worker of the site's search: node search.cjs WORKER INDEX QUESTION... prints {question: pages, the best first}.
const fs = require("fs");
const vm = require("vm");

const [worker, index, ...questions] = process.argv.slice(2);
let heard, answered;
const self = {
  addEventListener: (name, handle) => (heard = handle),
  postMessage: (message) => answered(message),
  console,
};
self.self = self;
vm.createContext(self);
vm.runInContext(fs.readFileSync(worker, "utf-8"), self);

const send = (type, data) =>
  new Promise((resolve) => {
    answered = resolve;
    heard({ data: { type, data } });
  });

(async () => {
  const { config, docs } = JSON.parse(fs.readFileSync(index, "utf-8"));
  await send(0, { config, docs, options: { suggest: false } });
  const found = {};
  for (const question of questions) {
    const { data } = await send(2, question);
    found[question] = data.items.map((group) => group[0].location.split("#")[0]);
  }
  console.log(JSON.stringify(found));
})();
