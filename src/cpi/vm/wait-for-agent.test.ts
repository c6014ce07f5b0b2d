import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { ProductError } from '../../errors/product-error.ts';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CallContext, ExecResult } from '../call.ts';
import { createVmRequest, mbusPassword, testCloud, vmCidOfTest as vmCid } from '../testing/test-cloud.ts';
import { agentSocketExit } from './scripts/agent-socket.ts';
import { waitForAgent } from './wait-for-agent.ts';
import { createVm } from './create-vm.ts';
import { findVm, findVmSecret } from './vms.ts';

const outcome = (exitCode: number, stderr = ''): ExecResult => ({ exitCode, stdout: '', stderr });
const { there, missing } = agentSocketExit;

interface Waited {
  /** Seconds that passed. */
  readonly seconds: number;
  readonly notes: readonly string[];
  /** The commands that were run, without their script. */
  readonly commands: readonly string[];
}

/**
 * Runs waitForAgent on a clock of its own, which advances by the seconds of each poll that finds nothing. The
 * command returns the `answers` in turn, and then the last one every time.
 */
async function wait(t: TestContext, answers: readonly (ExecResult | Error)[], config = {}): Promise<Waited> {
  const { cloud } = await testCloud(t, config);
  await createVm(cloud, createVmRequest());
  const [secret, pod] = [await findVmSecret(cloud, vmCid), await findVm(cloud, vmCid)];
  assert.ok(secret !== undefined && pod !== undefined);
  let now = 0;
  const clock: Clock = {
    now: () => now,
    sleep: (milliseconds) => {
      now += milliseconds;
      return Promise.resolve();
    },
  };
  const [notes, commands]: [string[], string[]] = [[], []];
  const exec: CallContext['exec'] = ({ command: [, , , ...words] }) => {
    const answer = answers[Math.min(commands.length, answers.length - 1)] ?? outcome(there);
    commands.push(words.join(' '));
    if (answer instanceof Error) return Promise.reject(answer);
    if (answer.exitCode === missing) now += Number(words[1]) * 1000;
    return Promise.resolve(answer);
  };
  await waitForAgent({ ...cloud, clock, exec, log: (line) => void notes.push(line) }, secret, pod);
  return { seconds: now / 1000, notes, commands };
}

const broken = new ProductError('KUBERNETES_UNREACHABLE', 'the connection broke');
const starting = new ApiError({
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'NotFound', code: 404 },
  message: 'container not found',
});

test('an agent that listens is waited for, past a container that cannot be asked yet', async (t) => {
  const { notes, commands } = await wait(t, [
    starting,
    broken,
    outcome(137),
    outcome(missing),
    outcome(there),
  ]);
  assert.equal(commands.length, 5);
  assert.deepEqual(notes, []);
  assert.match(commands[0] ?? '', /^agent-socket 5 0A 2 1AD4 00000000 .*0A00407F/u);
});

test('an agent that does not come within the minute: a line in the log that names no secret, and no error', async (t) => {
  for (const [answer, said] of [
    [outcome(missing), /agent of VM 'vm-.*' did not listen at port 6868 60 s after/u],
    [broken, /could not be checked \(the connection broke\) 60 s after/u],
    [outcome(1, 'the stemcell has no awk\n'), /\(exit code 1: the stemcell has no awk\)/u],
    [outcome(1, `root\nof the VM: ${'a lie '.repeat(9999)}`), /^.{1,250}root of the VM: a lie .{1,350}$/u],
  ] as const) {
    const { seconds, notes, commands } = await wait(t, [answer]);
    assert.ok(seconds >= 60 && seconds <= 62, `${seconds} s`);
    assert.equal(notes.length, 1);
    assert.match(notes[0] ?? '', said);
    assert.doesNotMatch([...notes, ...commands].join('\n'), new RegExp(mbusPassword, 'u'));
  }
});

test('an operator sets how long that is', async (t) => {
  const { seconds, notes } = await wait(t, [outcome(missing)], { deadlines: { agent: 7 } });
  assert.ok(seconds >= 7 && seconds <= 9, `${seconds} s`);
  assert.match(notes[0] ?? '', /7 s after/u);
});

test('a bus that is not spoken to directly: the connection to its broker', async (t) => {
  const nats = { agent: { mbus: 'nats://nats:secret@broker.example:4222' } };
  const { notes, commands } = await wait(t, [outcome(missing), outcome(missing)], nats);
  assert.match(commands[0] ?? '', /^agent-socket 5 01 3 107E $/u);
  assert.match(notes[0] ?? '', /was not connected to port 4222 of its message broker/u);
});
