// Does steps of the acceptance suite with the client in TypeScript: driver.mjs URL, beside the compiled client. Each step is a line of JSON, and so is its answer.
import { createInterface } from "node:readline";
import { Client, IngatherError } from "./ingather.js";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
const raised = new Error("a step says so");
let source;
let results;

async function guarded(work) {
  try {
    return await work();
  } catch (error) {
    if (error === raised) return { raised: true };
    if (error instanceof TypeError) return { misused: true };
    if (!(error instanceof IngatherError)) throw error;
    return { error: [error.status, error.code], told: error.message.length > 5 && error.nextStep.length > 5 };
  }
}

const word = ({ result, code, was_there }) => (result === "refused" ? `refused ${code}` : was_there ? "replaced" : result);

function told(answers) {
  results = answers;
  return { results: answers.map(word), tickets: answers.flatMap(({ ticket }) => ticket ?? []) };
}

/** Does steps with a source or a run, up to one that ends the run. */
async function steps(target) {
  for (;;) {
    const { done, value } = await lines.next();
    if (done) return undefined;
    const step = JSON.parse(value);
    if (["end", "raise"].includes(step.do)) return step;
    tell(await guarded(() => does[step.do](step, target ?? source)));
  }
}

const does = {
  use({ key, source: name, attempts = 8, records_at_once: recordsAtOnce, bytes_at_once: bytesAtOnce }) {
    const bounds = recordsAtOnce ? { recordsAtOnce, bytesAtOnce } : {};
    source = new Client(process.argv[2], key, { attempts, ...bounds }).source(name);
    return {};
  },
  async delta({ mode, confirm, lease_seconds: leaseSeconds, name }) {
    const { deleted, veto } = await source.deltaRun({ mode, confirm, leaseSeconds, name }, async (run) => {
      tell({ opened: true });
      const last = await steps(run);
      if (!last || last.do === "raise") throw raised;
      run.complete = last.complete ?? true;
    });
    return { deleted, veto: Boolean(veto) };
  },
  async push({ records, slow, linger }, target) {
    if (!slow) return told(await target.push(records, { linger }));
    // A source that is so slow that half of the lease has passed.
    async function* slowly() {
      for (const [number, record] of records.entries()) {
        if (number > 0) target._renewAt = 0;
        yield record;
      }
    }
    return told(await target.push(slowly()));
  },
  async stream({ records }, target) {
    const answered = [];
    let hear;
    async function* each() {
      for (const record of records) {
        const heard = new Promise((resolve) => (hear = resolve));
        yield record;
        await heard;
      }
    }
    for await (const answer of target.pushEach(each(), { linger: 0.01 })) {
      answered.push(answer);
      hear();
    }
    return told(answered);
  },
  delete: async ({ keys }, target) => told(await target.delete(keys)),
  async touch({ keys }, target) {
    await target.touch(keys);
    return {};
  },
  wait: async ({ timeout = 200 }) => ({ outcomes: (await source.wait(results, timeout)).map((report) => report && report.outcome) }),
  async reports() {
    const all = [];
    for await (const { key, op, outcome } of source.reports()) all.push([key, op, outcome]);
    return { reports: all };
  },
  async state() {
    const { state, mode, records, deleted, touched } = await source.state();
    return { state, mode, records, deleted, touched };
  },
};

await steps(undefined);
process.exit(0);
