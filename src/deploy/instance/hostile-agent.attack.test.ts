import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentClient } from '../../bosh/agent-client/agent-client.ts';
import { startAgent } from '../../bosh/agent-client/testing/fake-agent.ts';
import { errorChain } from '../../platform/error-chain.ts';
import type { Run } from '../session.ts';
import { PrintedStage } from '../stage/stage.ts';
import { shutDownInstance } from './shut-down-instance.ts';

// An agent that is controlled by root in its VM, while that VM is shut down.

const honest = {
  ping: async () => {},
  getState: async () => ({ jobState: 'running', addresses: {}, failedProcesses: [] }),
  runScript: async () => {},
  drain: async () => 0,
  stop: async () => {},
  listDisks: async () => [],
  unmountDisk: async () => {},
};

/** Returns what a shutdown prints, how long it sleeps in seconds, and the requests to the agent. */
async function shutDown(hostile: Partial<AgentClient>) {
  const slept: number[] = [];
  const reported: string[] = [];
  let printed = '';
  const clock = {
    now: () => 0,
    sleep: async (milliseconds: number) => void slept.push(milliseconds / 1000),
  };
  const agent = { ...honest, stop: async () => void reported.push('stop'), ...hostile };
  const run = { agent, clock, state: { state: {} }, warn: () => assert.fail('no warning') };
  const stage = new PrintedStage({ clock, write: (text) => (printed += text) });
  const options = { instance: 'a/0', vmCid: 'vm-1', skipDrain: false };
  const error: unknown = await shutDownInstance(run as unknown as Run, stage, options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { printed, slept, told: reported, error };
}

test('an agent whose disk has a name of several lines prints no line of its own', async () => {
  const cid = "d'... Finished (00:00:00)\n\nSucceeded\n$ \r\u001b[2J";
  const { printed, error } = await shutDown({ listDisks: async () => [cid] });
  assert.equal(error, undefined);
  assert.doesNotMatch(printed, /^(?:Succeeded|\$)/mu);
  assert.equal(printed.split('\n').filter((line) => line !== '').length, 6);
});

test('a drain response of more than a day is not waited for, and the jobs keep running', async () => {
  for (const seconds of [86_401, 2_000_000, Infinity, Number.NaN]) {
    const { slept, told, error } = await shutDown({ drain: async () => seconds });
    assert.match(errorChain(error).join('\n'), new RegExp(`returned ${seconds} for drain`, 'u'));
    assert.deepEqual([slept, told], [[], []]);
  }
  const { slept, told, error } = await shutDown({ drain: async () => 86_400 });
  assert.deepEqual([slept, told, error], [[86_400], ['stop'], undefined]);
});

test('a list of more than 128 disks from an agent is refused', { timeout: 120_000 }, async (t) => {
  const agent = await startAgent(t, () => Array<string>(129).fill('d'));
  await assert.rejects(agent.client().listDisks(), { code: 'AGENT_ERROR', message: /more than 128 disks/u });
});
