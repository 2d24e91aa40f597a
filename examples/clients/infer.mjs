// A client of a model on a server, for Node 18 or newer without packages: the Open Inference Protocol v2 over HTTP.
//
//   node infer.mjs http://127.0.0.1:8080 dates "3. März 2021" "24/12/1999"
//
// One answer a line; a text that is not answered has an empty line, and its reason on standard error.

const TRIES = 5;
const BATCH = 32;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// The outputs of one request by name. A server without room (503) is asked again, a little later each time.
async function infer(server, model, texts, seconds = 60) {
  const body = { inputs: [{ name: "text", datatype: "BYTES", shape: [texts.length], data: texts }] };
  const signal = AbortSignal.timeout(1000 * seconds);
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`${server}/v2/models/${encodeURIComponent(model)}/infer`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
    if (response.ok) {
      const { outputs } = await response.json();
      return Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
    }
    const said = await response.text();
    if (response.status !== 503 || attempt === TRIES) throw new Error(`${response.status}: ${said}`);
    await pause((0.5 + Math.random() / 2) * 100 * 2 ** (attempt - 1));
  }
}

const [server, model, ...texts] = process.argv.slice(2);
if (!texts.length) {
  console.error("usage: node infer.mjs SERVER MODEL TEXT...");
  process.exit(2);
}
try {
  for (let first = 0; first < texts.length; first += BATCH) {
    const part = texts.slice(first, first + BATCH);
    const found = await infer(server, model, part);
    const answers = found.output_text ?? found.label; // of a model that writes, or one that labels
    answers.forEach((answer, place) => {
      console.log(answer);
      if (found.errors[place]) {
        console.error(`text ${first + place + 1} is not answered: ${found.errors[place]}`);
        process.exitCode = 1;
      }
    });
  }
} catch (error) {
  console.error(`${server}: ${error.cause?.message ?? error.message}`);
  process.exit(1);
}
