// The engine, as the page sees it: questions to the worker, and promises of their answers.

export class Engine {
  constructor() {
    this.waiting = new Map();
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module", name: "seqzoo" });
    this.worker.addEventListener("message", ({ data: { id, value, error } }) => {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) resolve(value);
      else reject(new Error(error));
    });
    this.worker.addEventListener("error", (event) => {
      const error = new Error(`The engine could not start: ${event.message ?? "a file of this page is missing"}.`);
      for (const { reject } of this.waiting.values()) reject(error);
      this.waiting.clear();
    });
    this.asked = 0; // the number of the last question; 0 itself is the start of the engine
    this.ready = new Promise((resolve, reject) => this.waiting.set(0, { resolve, reject }));
    this.ready.catch(() => {}); // the first question says it, too
  }

  ask(method, ...words) {
    const id = (this.asked += 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, method, words });
    });
  }

  /** Settles when no question is open. */
  async rest() {
    while (this.waiting.size) await new Promise((resolve) => setTimeout(resolve, 200));
  }

  /** The answer of a model to a text: at least {ids, text}. */
  run(name, text, options = {}) {
    return this.ask("run", name, text, options);
  }

  /** Open a model that will be asked soon; whether that failed is said when it is asked. */
  prepare(name, options) {
    this.ask("prepare", name, options).catch(() => {});
  }

  /** What the model did on the way to a result of `run`. */
  inside(name, result) {
    return this.ask("inside", name, result);
  }
}
