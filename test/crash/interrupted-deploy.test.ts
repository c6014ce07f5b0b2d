import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { assertConverged, assertSucceeded } from './support/converged.ts';
import { OperatorEnvironment, type CommandOptions } from './support/operator-environment.ts';

let line: OperatorEnvironment;

before(async () => {
  line = await OperatorEnvironment.prepare({ address: '127.64.78.30' });
  // A cluster that is killed in this test does not restart by itself.
  await line.edit((text) =>
    text.replace('    kubernetes:\n', '    deadlines: {connect: 1}\n    kubernetes:\n'),
  );
  assertSucceeded(await line.command(['cluster', 'start']));
});
after(() => line.remove());

/** Calls the action once, as soon as the deployer has printed the text. */
function at(
  stage: string,
  act: (deployer: ChildProcess) => void,
): CommandOptions & { readonly met: () => boolean } {
  let met = false;
  return {
    met: () => met,
    onOutput: (stdout, deployer) => {
      if (met || !stdout.includes(stage)) return;
      met = true;
      act(deployer);
    },
  };
}

async function changeManifest(audience: string): Promise<void> {
  await line.edit((text) => text.replace(/audience: .*/, `audience: ${audience}`));
}

const stages = [
  "Compiling package 'bosh_kubernetes_cpi",
  'Uploading stemcell',
  'Creating VM for instance',
  'Attaching disk',
  "Updating instance 'hello/0'",
];

test('Ctrl-C at one stage after the other ends each run at a safe point, and the last run converges', async (t) => {
  for (const stage of stages) {
    await t.test(`at '${stage}'`, async () => {
      const interrupt = at(stage, (deployer) => deployer.kill('SIGINT'));
      const { exitCode, stdout, stderr } = await line.up(interrupt);

      assert.ok(interrupt.met(), stdout + stderr);
      assert.equal(exitCode, 1, stdout + stderr);
      assert.match(stderr, /\[INTERRUPTED\]/);
    });
  }
  assertSucceeded(await line.up());
  await assertConverged(line);
});

test('a Ctrl-C that arrives twice counts once, and the next run converges', async () => {
  const content = await line.jobResponse();
  await changeManifest('the impatient');
  const twice = at('Creating VM for instance', (deployer) => {
    for (const delay of [100, 130]) setTimeout(() => deployer.kill('SIGINT'), delay);
  });
  const ended = await line.up(twice);
  assert.equal(ended.exitCode, 1, ended.stdout + ended.stderr);
  assert.match(ended.stderr, /\[INTERRUPTED\]/);

  assertSucceeded(await line.up());
  assert.equal(await assertConverged(line), content);
});

async function killCluster(): Promise<void> {
  const record = await readFile(join(line.clusterDirectory, 'process'), 'utf8');
  process.kill(Number.parseInt(record, 10), 'SIGKILL');
}

for (const stage of ["Deleting VM '", 'Attaching disk']) {
  test(`kill -9 of the cluster at '${stage}': the run says so, and the next one converges with the same disk`, async () => {
    const content = await line.jobResponse();
    const { disks } = await line.state();
    await changeManifest(`those who saw the cluster die at ${stage.replaceAll(/[^a-zA-Z]/g, ' ')}`);
    let killed = Promise.resolve();
    const failed = await line.up(at(stage, () => void (killed = killCluster())));
    await killed;
    assert.equal(failed.exitCode, 1, failed.stdout + failed.stderr);
    assert.match(failed.stderr, /could not be reached|cannot be reached/);

    assertSucceeded(await line.up());
    assert.equal(await assertConverged(line), content);
    assert.deepEqual((await line.state()).disks, disks);
  });
}
