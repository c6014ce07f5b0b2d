import assert from 'node:assert/strict';
import * as faults from './faults.ts';
import { after, before, describe, test } from 'node:test';
import type { CpiResponse } from '../../../src/cpi/protocol/protocol.ts';
import { requestRows, type RequestRow } from '../../cpi/request-rows.ts';
import { startApiProxy } from '../../support/api-proxy.ts';
import { faultKinds, isWatch, watchFaults, type FaultKind, type Stroke, type Target } from './faults.ts';
import { type VerbCase, VerbWorld } from './verb-world.ts';

/** With any other type a director continues as if the resource did not exist or were not supported. */
const expectedTypes = new Set(['Bosh::Clouds::CloudError', 'Bosh::Clouds::VMCreationFailed']);
const isExpectedFailure = ({ againMayFail }: VerbCase, type: string): boolean =>
  expectedTypes.has(type) || againMayFail?.test(type) === true;

/** Long enough for a responding server, even on a busy machine. */
const silentDeadlines = { request: 3 };

/**
 * Calls that are tested with a silent API server: one that reads, and one each that creates, attaches and
 * detaches. Each has to wait for the request timeout, which is implemented in one place for all calls. The
 * effects of a write are then the same as for a lost response.
 */
const meetsSilence = new Set(['has_vm', 'create_disk', 'attach_disk', 'detach_disk']);

/** Faults that a call hides: one for any request, together with one for a watch. */
const survived = [
  ['429 with Retry-After', 'watch closed'],
  ['500 with Retry-After', 'watch answered with 410'],
  ['slow server', 'watch event 410'],
] as const;

/**
 * Describes tests that make each of these calls under faults of the API server and of the network, and then
 * again without them.
 */
export function describeFaults(title: string, cases: readonly VerbCase[]): void {
  describe(title, () => tests(cases));
}

function tests(cases: readonly VerbCase[]): void {
  let verbs: VerbWorld;
  let rows: Map<string, RequestRow>;
  /** How often each kind of fault was applied to a request, by row. */
  const met = new Map<string, Map<FaultKind, number>>();

  before(async () => {
    verbs = await VerbWorld.open();
    rows = await requestRows();
  });
  after(() => verbs.close());

  for (const each of cases) {
    test(`${each.row} under faults`, async () => {
      const { writes, execs } = rows.get(each.row) ?? assert.fail(`${each.row} is not in the table`);
      const empty = await verbs.everything();
      const strike = (...strokes: Stroke[]): Promise<CpiResponse> => faulted(each, { strokes, empty });
      for (const [kind, watchKind] of survived) {
        const requests = stroke(kind, 'each request', faults.eachOnce);
        const watches = stroke(watchKind, 'each watch', faults.everyWatch);
        const together = each.waits === true ? [[requests, watches]] : [[requests]];
        for (const strokes of each.writesBeforeItWaits === true ? [[requests], [watches]] : together) {
          const { error } = await strike(...strokes);
          const what = `${each.row}, ${kind} and ${watchKind}`;
          assert.equal(error, null, `${what}: ${error?.type}: ${error?.message}`);
        }
      }
      await strikeEachChange(strike, { writes, execs });
      if (meetsSilence.has(each.row)) {
        const first = writes === 0 ? stroke('silent', 'request 1', () => faults.request(1)) : silentWrite;
        const { error } = await strike(first);
        assert.match(error?.message ?? '', /no answer came in time/u, `${each.row}: the server was silent`);
      }
      await strikeReads(each, strike);
      const [done, where] = writes > 1 ? [1, 'what follows write 1'] : [0, 'all requests'];
      await strike(stroke('expired token', where, () => faults.after(done)));
    });
  }

  /**
   * Asserts that a read is retried until it gets a response, whatever the reason for the missing response.
   */
  async function strikeReads(
    each: VerbCase,
    strike: (...strokes: Stroke[]) => Promise<CpiResponse>,
  ): Promise<void> {
    if (!hasReads(each)) {
      await strike(stroke('503', 'request 1', () => faults.request(1)));
      return;
    }
    const { error } = await strike(
      stroke('503', 'read 1', () => faults.read(1)),
      stroke('502', 'read 2', () => faults.read(2)),
    );
    assert.equal(error, null, `${each.row}, 503 and 502 for reads: ${error?.type}: ${error?.message}`);
  }

  const hasReads = ({ row, readsNothing }: VerbCase): boolean =>
    readsNothing !== true && (rows.get(row)?.reads ?? 0) > 0;

  /**
   * Applies a fault to each write and exec of the method in turn, or to the first request of a method without
   * writes. A rejected write and a lost one have the same effect, so several writes alternate between them.
   */
  async function strikeEachChange(
    strike: (...strokes: Stroke[]) => Promise<unknown>,
    { writes, execs }: Pick<RequestRow, 'writes' | 'execs'>,
  ): Promise<void> {
    const strikeWrite = (kind: FaultKind, number: number): Promise<unknown> =>
      strike(stroke(kind, `write ${number}`, () => faults.write(number)));
    for (let number = 1; number <= writes; number += 1) {
      if (number <= 2) verbs.lookInside();
      await strikeWrite('unheard', number);
      if (number % 2 === 1) await strikeWrite('500', number);
      if (number % 2 === 0 || writes === 1) await strikeWrite('lost', number);
    }
    for (const kind of ['500', 'lost'] as const)
      for (let number = 1; number <= execs; number += 1)
        await strike(stroke(kind, `exec ${number}`, () => faults.exec(number)));
    if (writes === 0)
      for (const kind of ['500', 'lost', 'unheard'] as const)
        await strike(stroke(kind, 'request 1', () => faults.request(1)));
  }

  test('every kind of fault has met every verb', (t) => {
    let count = 0;
    for (const each of cases) {
      const { row } = each;
      const { reads, writes } = rows.get(row) ?? assert.fail(`${row} is not in the table`);
      if (reads + writes === 0) continue;
      const counts = met.get(row) ?? new Map<FaultKind, number>();
      const kinds = faultKinds.filter(
        (kind) =>
          (each.waits === true || !watchFaults.includes(kind)) &&
          (kind !== '502' || hasReads(each)) &&
          (kind !== 'silent' || meetsSilence.has(row)),
      );
      assert.deepEqual([...counts.keys()].toSorted(), kinds.toSorted(), row);
      const [refused = 0, lost = 0, unheard = 0] = (['500', 'lost', 'unheard'] as const).map((kind) =>
        counts.get(kind),
      );
      assert.ok(unheard >= writes, `${row}: ${unheard} writes were unheard`);
      assert.ok(refused + lost >= writes, `${row}: ${refused} writes were refused, ${lost} lost`);
      for (const number of counts.values()) count += number;
    }
    t.diagnostic(`${count} faults of ${faultKinds.length} kinds met ${met.size} kinds of calls`);
  });

  /**
   * Makes one call under the strokes and repeats it without them. Returns the response of the first call.
   * Each stroke must be applied, but a wait may end before it needs a watch: then everything is repeated.
   */
  async function faulted(
    each: VerbCase,
    { strokes, empty }: { strokes: readonly Stroke[]; empty: readonly string[] },
  ): Promise<CpiResponse> {
    for (let round = 1; ; round += 1) {
      const { first, missed, requests } = await once(each, { strokes, empty });
      if (missed.length === 0) return first;
      const isLast = round === 5 || missed.some(({ kind }) => !watchFaults.includes(kind));
      assert.ok(!isLast, `${each.row}: there is no ${missed[0]?.where}\n${requests.join('\n')}`);
    }
  }

  async function once(
    each: VerbCase,
    { strokes, empty }: { strokes: readonly Stroke[]; empty: readonly string[] },
  ): Promise<{ first: CpiResponse; missed: Stroke[]; requests: string[] }> {
    const args = await each.prepare(verbs);
    const what = strokes.map(({ kind, where }) => `${kind} at ${where}`).join(', ');
    const { first, ...rest } = await struck(each, args, strokes);
    if (first.error !== null) {
      const { type, message } = first.error;
      assert.ok(isExpectedFailure(each, type), `${each.row}, ${what}: ${type}: ${message}`);
      assert.match(first.error.message, /\S/u);
    }
    const { result, error } =
      first.error === null && each.isSlowAgain === true
        ? first
        : await verbs.world.request(each.method, args, { settings: each.settings ?? {} });
    const text = `${each.row} again, ${what}: ${error?.type}: ${error?.message}; at first: ${first.error?.message}`;
    if (error !== null) assert.ok(each.againMayFail?.test(error.type) === true, text);
    else if (first.error === null && each.mayLeave === undefined)
      assert.deepEqual(result, first.result, text);
    await each.check?.(verbs, args, error === null ? result : first.result);
    await verbs.isAsBefore(each, { empty, what });
    return { first, ...rest };
  }

  async function struck(
    each: VerbCase,
    args: readonly unknown[],
    strokes: readonly Stroke[],
  ): Promise<{ first: CpiResponse; missed: Stroke[]; requests: string[] }> {
    const counts = met.get(each.row) ?? new Map<FaultKind, number>();
    met.set(each.row, counts);
    const hits = new Set<Stroke>();
    const onHit = (hit: Stroke): void => {
      hits.add(hit);
      counts.set(hit.kind, (counts.get(hit.kind) ?? 0) + 1);
    };
    const decide = faults.decideBy(strokes, onHit);
    const isWatchMet = strokes.some(({ kind }) => watchFaults.includes(kind));
    const release = isWatchMet ? await each.hold?.(verbs, args) : undefined;
    let released: Promise<void> | undefined;
    const letGo = async (): Promise<void> => (released ??= release?.());
    const proxy = await startApiProxy({
      access: verbs.world.target.access,
      decide: async (request) => {
        if (isWatch(request)) await letGo();
        return decide(request);
      },
    });
    try {
      const through = await verbs.through(proxy, each);
      const isSilent = strokes.some(({ kind }) => kind === 'silent');
      const settings = isSilent ? { ...through, deadlines: silentDeadlines } : through;
      const first = await verbs.world.request(each.method, args, { settings });
      const requests = proxy.requests.map(({ method, url }) => `${method} ${url}`);
      return { first, missed: strokes.filter((one) => !hits.has(one)), requests };
    } finally {
      await letGo();
      await proxy.close();
    }
  }
}

const stroke = (kind: FaultKind, where: string, aim: () => Target): Stroke => ({ kind, where, aim });

/** The server performs the write and never responds. */
const silentWrite = stroke('silent', 'write 1', () => faults.write(1));
