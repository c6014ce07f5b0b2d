import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type CpiPhase, type CpiRecord, cpiPhaseKinds, maxCpiRecordBytes } from '../../bosh/cpi-record.ts';
import { CallRecorder } from './call-recorder.ts';

const request = { arguments: [], apiVersion: 2 };

test('a record has what the call told, and nothing of its arguments', () => {
  let now = 1_767_225_600_000;
  const recorder = new CallRecorder({ startedAt: now, now: () => now });
  recorder.setRequest({
    ...{ method: 'has_vm', apiVersion: 2, arguments: ['secret'] },
    context: { request_id: 'cpi-1', director_uuid: 'secret', kubernetes: { token: 'secret' } },
  });
  recorder.cids = ['vm-1'];
  recorder.observation = { requests: { reads: 1, writes: 0, execs: 0 }, phases: () => [] };
  now += 1500;

  const line = recorder.line('ok');

  assert.deepEqual(JSON.parse(line), {
    bosh_kubernetes_cpi: 1,
    method: 'has_vm',
    cids: ['vm-1'],
    request_id: 'cpi-1',
    start: '2026-01-01T00:00:00.000Z',
    end: '2026-01-01T00:00:01.500Z',
    requests: { reads: 1, writes: 0, execs: 0 },
    phases: [],
    result: 'ok',
  });
  assert.ok(line.endsWith('}\n'));
});

test('of many or long cids the last one stays, which is that of the result', () => {
  for (const context of ['', `${'c'.repeat(190)}:`, `${'c'.repeat(1000)}:`]) {
    const recorder = new CallRecorder();
    recorder.cids = [...Array.from({ length: 30 }, (_, index) => `${context}disk-${index}`), 'vm-1'];
    const { cids } = JSON.parse(recorder.line('ok')) as CpiRecord;
    assert.equal(cids.at(-1), 'vm-1');
    assert.equal(cids[0], `${context}disk-0`);
    assert.ok(cids.length <= 8);
  }
});

test('an id of a request that is not the id of a director is left out', () => {
  for (const id of ['a b', 'x'.repeat(65), '', 7, null, { a: 1 }, 'ü']) {
    const recorder = new CallRecorder();
    recorder.setRequest({ ...request, method: 'info', context: { request_id: id } });
    assert.equal('request_id' in (JSON.parse(recorder.line('ok')) as object), false, JSON.stringify(id));
  }
});

test('a record fits into its limit whatever the call did, and keeps the time of its phases', () => {
  const text = fc.string({ unit: 'binary', maxLength: 500 });
  const lengths = fc.array(fc.nat({ max: 100_000 }), { maxLength: 300 });
  fc.assert(
    fc.property(
      text,
      fc.array(text, { maxLength: 20 }),
      lengths,
      fc.nat({ max: 5000 }),
      (message, cids, times, length) => {
        const of = `pods ${'ü'.repeat(length)}`;
        let at = 0;
        const phases = times.map((ms, index): CpiPhase => {
          at += ms;
          return {
            kind: cpiPhaseKinds[index % cpiPhaseKinds.length] ?? 'read',
            at: at - ms,
            ms,
            of,
          };
        });
        const recorder = new CallRecorder();
        recorder.setRequest({ ...request, method: message, context: {} });
        recorder.cids = cids;
        recorder.observation = { requests: { reads: 0, writes: 0, execs: 0 }, phases: () => phases };

        const line = recorder.line('Bosh::Clouds::CloudError', message);

        assert.ok(Buffer.byteLength(line) <= maxCpiRecordBytes);
        assert.equal(line.indexOf('\n'), line.length - 1);
        const record = JSON.parse(line) as CpiRecord;
        assert.equal(
          record.phases.reduce((sum, { ms }) => sum + ms, 0),
          at,
        );
        const n = record.phases.reduce((sum, phase) => sum + (phase.n ?? 1), 0);
        assert.equal(n, phases.length);
      },
    ),
    { numRuns: 30 },
  );
});
