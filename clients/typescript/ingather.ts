// SPDX-License-Identifier: Apache-2.0
/**
 * Pushes records into a source of an Ingather service. One file without dependencies, for Node.js 18 and later and for browsers;
 * `clients/README.md` shows how. All of its types can be erased: a program that strips types runs it as it stands.
 */

// generated: types and bounds of the service; `cargo x generate` writes them, and changes here are lost
const RECORDS_AT_ONCE_MAX = 1000; // Records in one call.
const RECORDS_BYTES_MAX = 8388608; // Bytes of the body of one call.
const RECORD_KEY_BYTES_MAX = 4096; // Bytes of a key, in UTF-8.
const RECORD_HASH_BYTES_MAX = 1024; // Bytes of a hash, in UTF-8.

/** One record, in place of all that was pushed of it before; or the end of one. */
export interface PushedItem {
  key: string; // What names it in its source: an address, or any text. Slashes make folders of it.
  delete?: boolean; // It is deleted; nothing but its key and its version counts.
  hash?: string | null; // Tells its versions; only compared.
  version?: number | null; // What its client counts its versions by: what has a lower number than what was taken of it before is stale, and changes nothing. For several clients that may overtake each other.
  if_changed?: boolean; // Nothing is done where it is there with this hash already.
  compound?: "keep" | "drop" | null; // Others are in it, such as of an archive or a folder: while its hash stays, so do they; when it is deleted, so are they. In a delta run its hash counts once that is finished.
  parents?: Array<string>; // Keys of the compounds that it is in; these need not be there. In a delta run they are added to those that it was in.
  access?: Array<string> | null; // Who may see it: access tokens, or `everybody` alone; nobody, where the list is empty. As the source says when left out.
  deny?: Array<string> | null; // Who may not, whatever else they hold. Only with `access`.
  title?: string | null; // Title.
  text?: string | null; // Its content as text.
  content?: string | null; // Its content as bytes of any format that is read, in base64.
  file?: string | null; // Its content as a file of the machine of the service, below the folder of the source (`files`).
  media_type?: string | null; // Media type of the content; `text/plain` of a text.
  language?: string | null; // ISO 639-1 code of its language.
  author?: string | null; // Author or owner.
  modified?: unknown; // Last change: milliseconds since 1970 UTC, or a text such as `2026-11-27T09:00:00Z`.
  created?: unknown; // When it was made, likewise.
  user_ref?: string | null; // What comes back with each report of a channel; only handed through.
  fields?: Record<string, unknown>; // Everything else: texts, numbers, truth values, lists of them, and objects of them, whose names are joined by dots.
}

/** It is on disk, and is done. */
export interface PushResultPending {
  result: "pending";
  ticket: number; // Number of its ticket.
  was_there?: boolean | null; // The record was there before; left out where that was not looked at.
}

/** Its ticket is completed already. Only through a channel. */
export interface PushResultCompleted {
  result: "completed";
  ticket: number; // Number of its ticket.
  outcome: string; // As in `TicketReport::outcome`.
  code: string; // Why, a stable word; empty where it went well.
  message: string; // Why, in a sentence.
}

/** It is there with this hash already; nothing is done. */
export interface PushResultUnchanged {
  result: "unchanged";
}

/** It was not taken, and nothing of it is kept. */
export interface PushResultRefused {
  result: "refused";
  code: string; // Why, a stable word.
  message: string; // Why, in a sentence.
}

/** What became of one record. */
export type PushResult = PushResultPending | PushResultCompleted | PushResultUnchanged | PushResultRefused;

/** What became of a ticket. */
export interface TicketReport {
  report: number; // Its place among all reports.
  at: number; // When that was known, milliseconds since 1970 UTC.
  outcome: string; // `indexed`, `unchanged`, `deleted`, `noop`, `superseded`, `stale`, `skipped`, `failed` or `aborted`.
  code: string; // Why, a stable word; empty where it went well.
  message: string; // Why, in a sentence.
}

/** A ticket. */
export interface TicketLook {
  ticket: number; // Its number.
  source: string; // Name of the job of the source.
  key: string; // Key of the record.
  op: string; // `put` or `delete`.
  accepted_at: number; // When it was accepted, milliseconds since 1970 UTC.
  report?: TicketReport | null; // What became of it; none while it is open.
}

/** One report. */
export interface ListedReport {
  report: number; // Its place among all reports.
  ticket: number; // Number of the ticket.
  key: string; // Key of the record.
  op: string; // `put` or `delete`.
  accepted_at: number; // When it was accepted, milliseconds since 1970 UTC.
  at: number; // When this was known.
  outcome: string; // As in `TicketReport::outcome`.
  code: string; // Why, a stable word; empty where it went well.
  message: string; // Why, in a sentence.
}

/** How a delta run goes over its source. */
export type DeltaMode = "full" | "additive";

/** What a check found of one record. */
export type CheckedItem = "new" | "changed" | "unchanged";

/** Records that a delta run would delete. */
export interface HeldObsolete {
  obsolete: number; // So many.
  records: number; // Of so many.
}

/** How a delta run ended. */
export interface EndedDeltaRun {
  run: number; // The delta run.
  deleted: number; // Records that it has not met, and that are deleted.
  veto?: string | null; // Why nothing was deleted.
  held?: HeldObsolete | null; // It goes on: so much would be deleted that somebody has to confirm it (`confirm`).
}

/** How a source stands. */
export interface DeltaRunLook {
  source: string; // Name of the job of the source.
  run?: number | null; // Its last delta run; none where there was none, and then nothing is said of one.
  mode: string; // `full` or `additive`.
  client: string; // Who opened it.
  state: string; // `open`, `finished`, `rolled_back`, `expired` or `unlocked`.
  opened_at: number; // When it was opened, milliseconds since 1970 UTC.
  seen_at: number; // The last sign of life of its client.
  lease_seconds: number; // How long after that it is its client's.
  ended_at?: number | null; // When it ended.
  touched: number; // Records that its client could not read.
  veto?: string | null; // Why it deleted nothing.
  deleted: number; // Records that it deleted.
  drained_at?: number | null; // When nothing of what was pushed until its end was open any more, and outputs had committed it.
  of?: string | null; // Key of the compound that it goes over; none: over the whole source.
  records: number; // Records of the source.
  buffered: number; // Records of which something is buffered.
  buffered_since?: number | null; // Since when the first of these is, milliseconds since 1970 UTC.
}
// end of what is generated

/** Records: a list, or what gives one after the other. Where there is none for a while, `null` sends what waits. */
export type Records = Iterable<PushedItem | null> | AsyncIterable<PushedItem | null>;

export interface ClientOptions {
  timeout?: number; // Seconds without an answer after which an attempt has failed; 60.
  attempts?: number; // How often a request is sent at most; 8.
  retrySeconds?: number; // Seconds within which it is sent again; 300.
  allowHttp?: boolean; // Over `http:` the key is sent to other machines, too: nobody listens on the way.
  recordsAtOnce?: number; // Records in one call at most; 1,000, which is what the service takes.
  bytesAtOnce?: number; // Bytes in one call at most, but for a single record that is longer; 8 MiB, which is what the service takes.
  fetch?: typeof fetch; // What asks, such as one that trusts a certificate of your own.
}

/** `linger`: seconds that a record waits for others to be sent with it; 0.25. */
export type PushOptions = { linger?: number };

export interface DeltaRunOptions {
  mode?: DeltaMode; // `full`: what the run has not met is deleted at its end; `additive`: nothing is.
  confirm?: boolean; // Also where that is most of a source, or all of it.
  leaseSeconds?: number; // How long the run lasts without a sign of life.
  name?: string; // What others read who find the source locked.
}

/** Bytes of an answer that are read. */
const ANSWER_BYTES_MAX = 64 << 20;
/** Bytes that are left in the body of a call for what stands beside its records. */
const ENVELOPE_BYTES = 1_024;
/** Answers that say nothing of the request itself: it is sent again. */
const PASSING = [429, 502, 503, 504];
/** The longest wait before a request is sent again, where the answer names none, and between two looks at a ticket: seconds. */
const [PAUSE_MAX, LOOK_MAX] = [20, 1];
/** Attempts at giving a delta run up after a failure, which is to be told soon. */
const ROLLBACK_ATTEMPTS = 3;
/** What says that the service has not taken a body: nothing was done with any of its records. */
const NOT_TAKEN = ["too_large", "wrong_use"];
const IS_IT = "Is this the address of an Ingather service?";
/** Where Node.js has what browsers have globally; a variable, so that programs that bundle do not look for it. */
const NODE_CRYPTO: string = "node:crypto";

/**
 * Why something was not done. `status` is that of the answer over HTTP; 0 where there was none. `code` is a stable word: one of the service, or
 * `unreachable`, `certificate`, `bad_answer`, `http`, `timeout`, `deletions_held` or `nothing_pushed`. `nextStep` says what to do.
 */
export class IngatherError extends Error {
  readonly status: number;
  readonly code: string;
  readonly nextStep: string;
  readonly retryAfter: number;

  constructor(status: number, code: string, message: string, nextStep: string, retryAfter = 0, cause?: unknown) {
    super(message, { cause });
    this.name = "IngatherError";
    [this.status, this.code, this.nextStep, this.retryAfter] = [status, code, nextStep, retryAfter];
  }
}

/** A service, and the API key by which it is asked; the key needs the role `pusher`. It keeps nothing between calls. */
export class Client {
  readonly _options: Required<Omit<ClientOptions, "recordsAtOnce" | "bytesAtOnce">>;
  readonly _bounds: number[]; // Records and bytes of one call at most.
  readonly _base: string;
  readonly _key: string;

  constructor(url: string, apiKey: string, options: ClientOptions = {}) {
    const address = new URL(url);
    if (!["http:", "https:"].includes(address.protocol) || address.search || address.hash || address.username) {
      throw new TypeError(`${url} is no address of a service; give https://HOST:PORT`);
    }
    if (address.protocol === "http:" && !options.allowHttp && !/^(localhost|127\.[0-9.]+|\[::1\])$/.test(address.hostname)) {
      throw new TypeError(`${url} is another machine, and http: encrypts nothing; use https:, or say allowHttp: true`);
    }
    if (!/^[\x20-\x7e]+$/.test(apiKey)) {
      throw new TypeError("an API key is a text of ASCII characters; `ingather api-key create NAME --role pusher` makes one");
    }
    const asks: typeof fetch = (input, init) => fetch(input, init);
    const { recordsAtOnce: count = RECORDS_AT_ONCE_MAX, bytesAtOnce: bytes = RECORDS_BYTES_MAX, ...asked } = options;
    this._bounds = [Math.min(count, RECORDS_AT_ONCE_MAX), Math.min(bytes, RECORDS_BYTES_MAX) - ENVELOPE_BYTES];
    this._options = { timeout: 60, attempts: 8, retrySeconds: 300, allowHttp: false, fetch: asks, ...asked };
    this._base = `${address.origin}${address.pathname.replace(/\/+$/, "")}/api/v1`;
    this._key = apiKey;
  }

  /** The source of this name. Whether it is there is told by the first call that asks it. */
  source(name: string): Source {
    return new Source(this, name);
  }

  /** What became of one push. */
  async ticket(number: number): Promise<TicketLook> {
    return this._call("GET", `/tickets/${Math.trunc(number)}`);
  }

  /** One request, sent again where its answer was lost; by its key the service knows it, and does it once. */
  async _call(method: string, path: string, body?: string, attempts?: number): Promise<any> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this._key}`, Accept: "application/json" };
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      headers["Idempotency-Key"] = hex((await webcrypto()).getRandomValues(new Uint8Array(16)));
    }
    const most = Math.max(1, attempts ?? this._options.attempts);
    const end = Date.now() + this._options.retrySeconds * 1_000;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this._once(method, path, body, headers);
      } catch (error) {
        if (!(error instanceof IngatherError) || attempt >= most) throw error;
        // An earlier attempt, whose answer was lost, may still be at work.
        const isAtWork = attempt > 1 && error.code === "running";
        if (error.code !== "unreachable" && !PASSING.includes(error.status) && !isAtWork) throw error;
        const backoff = Math.min(PAUSE_MAX, 0.25 * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
        const pause = Math.max(backoff, error.retryAfter) * 1_000;
        if (Date.now() + pause > end) throw error;
        await slept(pause);
      }
    }
  }

  async _once(method: string, path: string, body: string | undefined, headers: Record<string, string>): Promise<any> {
    const ending = new AbortController();
    const { timeout } = this._options;
    const timer = setTimeout(() => ending.abort(new Error(`no answer within ${timeout} s`)), timeout * 1_000);
    let response: Response;
    let text: string | undefined;
    try {
      const never = { redirect: "error", credentials: "omit", cache: "no-store" } as const;
      response = await this._options.fetch(this._base + path, { ...never, method, headers, body, signal: ending.signal });
      text = await bounded(response);
    } catch (error) {
      throw unreachable(this._base, error);
    } finally {
      clearTimeout(timer);
    }
    if (text === undefined) throw new IngatherError(response.status, "bad_answer", "the answer is too long", IS_IT);
    const answer = await Promise.resolve(text).then(JSON.parse).catch(() => undefined);
    if (response.status === 200 && isObject(answer)) return answer;
    throw problem(response.status, answer, response.headers.get("Retry-After"));
  }
}

/** A source of a service. */
export class Source {
  readonly client: Client;
  readonly name: string;
  readonly _path: string;

  constructor(client: Client, name: string) {
    [this.client, this.name, this._path] = [client, name, `/sources/${encodeURIComponent(name)}`];
  }

  _post(path: string, body: Record<string, unknown>, attempts?: number): Promise<any> {
    return this.client._call("POST", this._path + path, encoded(body), attempts);
  }

  /** Pushes any number of records, and answers for each in their order; `pushEach` does it for those that never end. */
  async push(records: Records, options: PushOptions = {}): Promise<PushResult[]> {
    return listed(this.pushEach(records, options));
  }

  /** The same, one answer after the other, while somebody takes them. Records are sent together; none waits for others longer than `linger`. */
  pushEach(records: Records, options: PushOptions = {}): AsyncGenerator<PushResult> {
    return pushed(records, this.client._bounds, options.linger ?? 0.25, undefined, (items) => this._send(items, ""));
  }

  /** Deletes records by their keys; for each there is an answer, in their order. */
  async delete(keys: Iterable<string>): Promise<PushResult[]> {
    return this.push(keysOf(keys).map((key) => ({ key, delete: true })));
  }

  /** What became of pushes, in the order in which that was known, behind the report with this number, up to the last one now. */
  async *reports(after = 0): AsyncGenerator<ListedReport> {
    for (let more = true; more; ) {
      const page = await this.client._call("GET", `${this._path}/reports?after=${Math.trunc(after)}&limit=1000`);
      yield* page.reports;
      ({ last: after, more } = page);
    }
  }

  /**
   * Waits until tickets are completed: numbers, or what `push` answered. The report of each in their order; none of what has no ticket. Throws an
   * IngatherError with the code `timeout` when some are open after so many seconds.
   */
  async wait(pushed: number | PushResult | Iterable<number | PushResult>, timeout = 60): Promise<Array<TicketReport | null>> {
    const asked = typeof pushed === "number" || "result" in pushed ? [pushed] : [...pushed];
    const tickets = asked.map((one) => (typeof one === "number" ? one : one.result === "pending" ? one.ticket : null));
    const found = new Map<number, TicketReport>();
    const open = new Set(tickets.filter((ticket): ticket is number => ticket !== null));
    const all = open.size;
    const end = Date.now() + timeout * 1_000;
    for (let pause = 0.05; open.size > 0; ) {
      const first = [...open].reduce((least, ticket) => Math.min(least, ticket));
      const { report } = await this.client.ticket(first);
      if (!report) {
        if (Date.now() + pause * 1_000 > end) {
          const step = "Wait again; `ingather status` says what the source waits for.";
          throw new IngatherError(0, "timeout", `${open.size} of ${all} tickets are open after ${timeout} s`, step);
        }
        await slept(pause * 1_000);
        pause = Math.min(LOOK_MAX, pause * 2);
        continue;
      }
      found.set(first, report);
      open.delete(first);
      if (open.size === 0) break;
      // Most others were completed after it: they stand behind it, many on each page.
      for await (const { ticket, report: number, at, outcome, code, message } of this.reports(report.report)) {
        if (open.delete(ticket)) found.set(ticket, { report: number, at, outcome, code, message });
      }
    }
    return tickets.map((ticket) => (ticket === null ? null : found.get(ticket) ?? null));
  }

  /** How the source stands: its records, and its last delta run. */
  async state(): Promise<DeltaRunLook> {
    return this.client._call("GET", `${this._path}/run`);
  }

  /**
   * A pass over the whole source: what the block has not met is deleted at its end. A block that throws gives the run up: nothing is deleted, and
   * what was pushed stays. How many records were deleted is answered, and where none was, as `veto`, why.
   */
  async deltaRun(options: DeltaRunOptions, block: (run: DeltaRun) => Promise<unknown>): Promise<EndedDeltaRun> {
    const { mode = "full", confirm = false, leaseSeconds, name } = options;
    const run = new DeltaRun(this, await this._post("/runs", { mode, lease_seconds: leaseSeconds, client: name }));
    try {
      await block(run);
    } catch (error) {
      await run._rollBack();
      throw error;
    }
    if (!run._met && run.complete && !confirm && mode === "full") {
      await run._rollBack();
      const step = "Where the source is really empty, make the run with confirm: true.";
      throw new IngatherError(0, "nothing_pushed", "nothing was pushed in the delta run: nothing was deleted", step);
    }
    const ended: EndedDeltaRun = await run._run("finish", { complete: run.complete, confirm });
    if (ended.held) {
      await run._rollBack();
      const { obsolete, records } = ended.held;
      const sentence = `${obsolete} of ${records} records were not met, which is most of the source: nothing was deleted`;
      throw new IngatherError(0, "deletions_held", sentence, "Where that is right, make the run again with confirm: true.");
    }
    return ended;
  }

  /** Sends records in one call. Where the body is refused, it is halved until it is known by which record. */
  async _send(items: Item[], claim: string): Promise<PushResult[]> {
    const most = RECORDS_BYTES_MAX - ENVELOPE_BYTES;
    if (items.length === 1 && items[0].bytes > most) {
      const message = `the record has ${items[0].bytes} bytes as JSON; at most ${most} are sent`;
      return [{ result: "refused", code: "too_large", message }];
    }
    const body = `{${claim}"records":[${items.map((item) => item.text).join(",")}]}`;
    let results: PushResult[];
    try {
      ({ results } = await this.client._call("POST", `${this._path}/records`, body));
    } catch (error: any) {
      unlessNotTaken(error);
      if (items.length === 1) return [{ result: "refused", code: error.code, message: error.message }];
      const half = items.length >> 1;
      const first = await this._send(items.slice(0, half), claim);
      return [...first, ...(await this._send(items.slice(half), claim))];
    }
    if (results.length !== items.length) {
      throw new IngatherError(200, "bad_answer", "the service has not answered for each record", "Look at its log, then push again.");
    }
    return results;
  }
}

/** A delta run, while its block is at work. Of what is pushed only what is new or changed is sent. */
export class DeltaRun {
  /** Say false where not all of the source was gone over: nothing is deleted then. */
  complete = true;
  readonly source: Source;
  readonly _opened: { run: number; token: string; lease_seconds: number };
  _met = false;
  _renewAt = 0;

  constructor(source: Source, opened: { run: number; token: string; lease_seconds: number }) {
    this.source = source;
    this._opened = opened;
    this._seen();
  }

  /** As `Source.push`; what the source has already is answered as `unchanged`, and is not sent. */
  async push(records: Records, options: PushOptions = {}): Promise<PushResult[]> {
    return listed(this.pushEach(records, options));
  }

  /** As `Source.pushEach`. The lease is renewed while a record takes long to come. */
  pushEach(records: Records, options: PushOptions = {}): AsyncGenerator<PushResult> {
    return pushed(records, this.source.client._bounds, options.linger ?? 0.25, this, (items) => this._send(items));
  }

  /** Says that records are there which cannot be read now: they stay. Without keys, that this client lives. */
  async touch(keys: Iterable<string> = []): Promise<void> {
    const all = keysOf(keys);
    this._met ||= all.length > 0;
    for (let at = 0; at < Math.max(1, all.length); at += RECORDS_AT_ONCE_MAX) {
      await this._run("touch", { keys: all.slice(at, at + RECORDS_AT_ONCE_MAX) });
    }
  }

  async _send(items: Item[]): Promise<PushResult[]> {
    const checked = items.filter((item) => item.hash !== null);
    const asked = { records: checked.map(({ key, hash }) => ({ key, hash })) };
    // Keys of many signs that JSON writes as six letters can be too long: all are pushed, which is more than had to be.
    const answer = checked.length > 0 ? await this._run("check", asked).catch(unlessNotTaken) : undefined;
    const known: CheckedItem[] = answer?.results ?? [];
    const unchanged = new Set(checked.filter((_, at) => known[at] === "unchanged").map((item) => item.key));
    // Of several of one key the last one counts: they are sent together, or not at all.
    checked.forEach((item, at) => known[at] !== "unchanged" && unchanged.delete(item.key));
    items.forEach((item) => item.hash === null && unchanged.delete(item.key));
    const sent = items.filter((item) => !unchanged.has(item.key));
    const claim = `"run":${this._opened.run},"token":${JSON.stringify(this._opened.token)},`;
    const results = sent.length > 0 ? await this.source._send(sent, claim) : [];
    this._seen();
    this._met = true;
    for (const [at, result] of results.entries()) {
      // The service has not heard that this one is there; what it refuses itself, it keeps as it was.
      const key = sent[at].key;
      if (!key || result.result !== "refused" || !NOT_TAKEN.includes(result.code)) continue;
      // No record has a key that is not even read.
      await this._run("touch", { keys: [key] }).catch(unlessNotTaken);
    }
    const answers = results.values();
    return items.map((item) => (unchanged.has(item.key) ? { result: "unchanged" } : answers.next().value));
  }

  async _run(what: string, fields: Record<string, unknown>, attempts?: number): Promise<any> {
    const { run, token } = this._opened;
    const answer = await this.source._post(`/runs/${run}/${what}`, { token, ...fields }, attempts);
    this._seen();
    return answer;
  }

  _seen(): void {
    this._renewAt = Date.now() + this._opened.lease_seconds * 500;
  }

  async _rollBack(): Promise<void> {
    // What led here is the failure to tell; the run ends with its lease.
    await this._run("rollback", {}, ROLLBACK_ATTEMPTS).catch(() => undefined);
  }
}

/** A record as it is sent; with a hash where it can be checked. */
interface Item {
  text: string;
  bytes: number;
  key: string | null;
  hash: string | null;
}

type Send = (items: Item[]) => Promise<PushResult[]>;

async function* pushed(records: Records, [countMost, most]: number[], linger: number, run: DeltaRun | undefined, send: Send): AsyncGenerator<PushResult> {
  const given: any = records;
  const iterator = (given[Symbol.asyncIterator] ?? given[Symbol.iterator]).call(given);
  let batch: Item[] = [];
  let size = 0;
  let sendAt = Infinity;
  let isOver = false;
  const taken = (): Promise<PushResult[]> => {
    const items = batch;
    [batch, size, sendAt] = [[], 0, Infinity];
    return send(items);
  };
  try {
    for (;;) {
      let next = iterator.next();
      if (typeof next.then === "function") {
        while (!(await comes(next, Math.min(sendAt, run?._renewAt ?? Infinity)))) {
          if (Date.now() >= sendAt) for (const result of await taken()) yield result;
          if (run && Date.now() >= run._renewAt) await run.touch();
        }
        next = await next;
      }
      if (run && Date.now() >= run._renewAt) await run.touch();
      isOver = next.done === true;
      const record = isOver ? null : await next.value;
      const item = record === null || record === undefined ? null : await itemOf(record);
      const isFull = item === null || batch.length >= countMost || size + item.bytes + 1 > most;
      if (batch.length > 0 && (isFull || Date.now() >= sendAt)) for (const result of await taken()) yield result;
      if (isOver) return;
      if (item !== null) {
        if (batch.length === 0) sendAt = Date.now() + linger * 1_000;
        batch.push(item);
        size += item.bytes + 1;
      }
    }
  } finally {
    // Whatever gives the records hears that nobody takes more of them.
    if (!isOver) void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

/** A record with a hash, made where it has none: of all that it says, so that who may see it counts too. */
async function itemOf(record: any): Promise<Item> {
  const plain = (text: string, key: string | null, hash: string | null) => ({ text, bytes: utf8(text).length, key, hash });
  if (!isObject(record) || typeof record.key !== "string") return plain(encoded(record), null, null);
  const { key, hash: given, ...rest } = record;
  if (record.delete) return plain(encoded(record), key, null);
  let text = encoded(record);
  let hash = given;
  if (given === undefined || given === null) {
    const { if_changed: _, ...covered } = rest;
    hash = await hashed(utf8(encoded({ key, ...covered })));
    text = encoded({ key, hash, ...rest });
  }
  const fits = (word: unknown, most: number) => typeof word === "string" && !/^$|\0|\p{Cs}/u.test(word) && utf8(word).length <= most;
  return plain(text, key, fits(key, RECORD_KEY_BYTES_MAX) && fits(hash, RECORD_HASH_BYTES_MAX) ? (hash as string) : null);
}

/** JSON with the fields of objects in order, so that equal records have equal texts. */
function encoded(value: unknown): string {
  const ordered = (_: string, inner: unknown) => {
    if (typeof inner === "number" && !Number.isFinite(inner)) throw new TypeError(`${inner} is no number of JSON; leave it out`);
    return isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner;
  };
  return JSON.stringify(value, ordered);
}

const keysOf = (keys: Iterable<string>): string[] => { if (typeof keys === "string") throw new TypeError(`keys are a list: write ["${keys}"]`); return [...keys]; };
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const isObject = (value: any): value is Record<string, any> => typeof value === "object" && value !== null && !Array.isArray(value);
const slept = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
const webcrypto = async (): Promise<Crypto> => globalThis.crypto ?? (await import(NODE_CRYPTO)).webcrypto;

/** Throws what failed, unless the service has not taken the body. */
function unlessNotTaken(error: any): void {
  if (!NOT_TAKEN.includes(error.code)) throw error;
}

async function listed<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const one of all) list.push(one);
  return list;
}

/** Whether something comes before a time, milliseconds since 1970. */
function comes(promise: Promise<unknown>, until: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = until === Infinity ? undefined : setTimeout(() => resolve(false), Math.max(0, until - Date.now()));
    promise.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}

async function hashed(bytes: Uint8Array): Promise<string> {
  const { subtle } = await webcrypto();
  if (!subtle) throw new TypeError("this page was not served by https:, so that nothing can be hashed; give each record a hash");
  return `sha256-${hex(new Uint8Array(await subtle.digest("SHA-256", bytes)))}`;
}

/** The text of an answer; none of one that is too long. */
async function bounded(response: Response): Promise<string | undefined> {
  if (!response.body) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > ANSWER_BYTES_MAX) {
      await reader.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}

function unreachable(base: string, error: any): IngatherError {
  const cause = error?.cause ?? error;
  const why = String(cause?.message || cause?.code || cause);
  if (/CERT|TLS|SELF_SIGNED|UNABLE_TO_VERIFY/.test(String(cause?.code ?? ""))) {
    const step = "Let NODE_EXTRA_CA_CERTS name the file of those who vouch for it.";
    return new IngatherError(0, "certificate", `the certificate of the service is not trusted: ${why}`, step, 0, error);
  }
  return new IngatherError(0, "unreachable", `the service at ${base} cannot be asked: ${why}`, "Is `ingather serve` running there?", 0, error);
}

function problem(status: number, answer: any, retryAfter: string | null): IngatherError {
  const seconds = /^\d+$/.test(retryAfter ?? "") ? Number(retryAfter) : 0;
  if (status === 200) return new IngatherError(status, "bad_answer", "the answer is no object of JSON", IS_IT);
  if (!isObject(answer) || typeof answer.code !== "string") {
    const step = "Look at what stands between this program and the service.";
    return new IngatherError(status, "http", `the answer has the status ${status} and says no more`, step, seconds);
  }
  return new IngatherError(status, answer.code, String(answer.detail ?? answer.title ?? ""), String(answer.next ?? ""), seconds);
}
