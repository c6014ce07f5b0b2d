import assert from 'node:assert/strict';
import type { OperatorEnvironment, Outcome } from './operator-environment.ts';
import type { Moment } from './killing-cpi.ts';

/** A kill of the deployer at one CPI call of a command. */
export interface KillCase {
  /** The number of the call in the command, from 1. */
  readonly call: number;
  readonly method: string;
  readonly moment: Moment;
}

const lasting = new Set([
  'create_vm',
  'delete_vm',
  'create_disk',
  'attach_disk',
  'delete_disk',
  'delete_stemcell',
]);

/**
 * Returns a kill during and one after each call that creates or deletes something.
 * src/deploy/deploy.crash.test.ts kills before and after every call, with a CPI that has no cluster.
 */
export function killCases(methods: readonly string[]): KillCase[] {
  return methods.flatMap((method, index) =>
    lasting.has(method)
      ? (['during', 'after'] as const).map((moment) => ({ call: index + 1, method, moment }))
      : [],
  );
}

export function assertSucceeded({ exitCode, stdout, stderr }: Outcome): void {
  assert.equal(exitCode, 0, stdout + stderr);
}

export function assertKilled({ exitCode, signal, stdout, stderr }: Outcome): void {
  assert.equal(signal, 'SIGKILL', `it ended with ${exitCode}: ${stdout}${stderr}`);
}

/**
 * Asserts that there are one VM and one attached disk, that they are those of the state file, and that the
 * job responds. `unclaimed` more disks may exist; `status` must name each. Returns the output of `status`.
 */
export async function assertConverged(line: OperatorEnvironment, { unclaimed = 0 } = {}): Promise<string> {
  const [{ vms, attachments, disks, secrets }, state] = await Promise.all([line.objects(), line.state()]);
  const [current] = state.disks;
  assert.ok(current !== undefined && state.disks.length === 1, JSON.stringify(state.disks));
  assert.equal(current.id, state.current_disk_id);
  assert.deepEqual(vms, [state.current_vm_cid]);
  assert.deepEqual(secrets, [state.current_vm_cid]);
  assert.deepEqual(attachments, [`attach-${current.cid}`]);
  assert.equal(disks.length, 1 + unclaimed, disks.join());
  const others = disks.filter((cid) => cid !== current.cid);
  assert.equal(others.length, unclaimed);
  const status = await line.command(['status']);
  assertSucceeded(status);
  for (const cid of others)
    assert.match(
      status.stdout,
      new RegExp(`^disk '${cid}' \\(.*\\): it was created and then neither attached`, 'm'),
    );
  return line.jobResponse();
}

export async function assertNothingLeft(line: OperatorEnvironment): Promise<void> {
  assert.deepEqual(await line.objects(), { vms: [], attachments: [], disks: [], secrets: [] });
  await assert.rejects(line.state(), { code: 'ENOENT' });
  await assert.rejects(line.jobResponse());
}
