import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentClient } from '../../bosh/agent-client/agent-client.ts';
import { errorChain } from '../error-chain.ts';
import type { Run } from '../run.ts';
import { PrintedStage } from '../stage/printed-stage.ts';
import { shutDownInstance } from './shut-down-instance.ts';

// An agent in the hands of root of its VM, at the end of that VM.

const honest = {
  ping: async () => {},
  getState: async () => ({ jobState: 'running', addresses: {} }),
  runScript: async () => {},
  drain: async () => 0,
  stop: async () => {},
  listDisks: async () => [],
  unmountDisk: async () => {},
};

/** What a shutdown prints, how long it sleeps in seconds, and what the agent was told. */
async function shutDown(hostile: Partial<AgentClient>) {
  const slept: number[] = [];
  const told: string[] = [];
  let printed = '';
  const clock = {
    now: () => new Date(0),
    sleep: async (milliseconds: number) => void slept.push(milliseconds / 1000),
  };
  const agent = { ...honest, stop: async () => void told.push('stop'), ...hostile };
  const run = { agent, clock, state: { state: {} }, warn: () => assert.fail('no warning') };
  const stage = new PrintedStage({ clock, write: (text) => (printed += text) });
  const options = { instance: 'a/0', vmCid: 'vm-1', skipDrain: false };
  const error: unknown = await shutDownInstance(run as unknown as Run, stage, options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { printed, slept, told, error };
}

test('an agent whose disk has a name of several lines prints no line of its own', async () => {
  const cid = "d'... Finished (00:00:00)\n\nSucceeded\n$ \r\u001b[2J";
  const { printed, error } = await shutDown({ listDisks: async () => [cid] });
  assert.equal(error, undefined);
  assert.doesNotMatch(printed, /^(?:Succeeded|\$)/mu);
  assert.equal(printed.split('\n').filter((line) => line !== '').length, 6);
});
