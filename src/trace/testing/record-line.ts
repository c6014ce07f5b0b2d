import { type CpiRecord, cpiRecordKey, cpiRecordVersion } from '../../bosh/cpi-record.ts';

export const startOfDay = Date.parse('2026-01-01T00:00:00Z');

/** Returns the record of a call that starts `at` milliseconds after the start of the day. */
export function recordLine(
  at: number,
  ms: number,
  rest: Partial<Record<keyof CpiRecord, unknown>> = {},
): string {
  return JSON.stringify({
    [cpiRecordKey]: cpiRecordVersion,
    method: 'has_vm',
    cids: ['vm-1'],
    start: new Date(startOfDay + at).toISOString(),
    end: new Date(startOfDay + at + ms).toISOString(),
    requests: { reads: 1, writes: 0, execs: 0 },
    phases: [{ kind: 'read', at: 0, ms, of: 'pods vm-1' }],
    result: 'ok',
    ...rest,
  });
}
