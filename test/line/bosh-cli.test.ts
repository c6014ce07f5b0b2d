import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { text } from 'node:stream/consumers';
import {
  assertConverged,
  assertKilled,
  assertNothingLeft,
  assertSucceeded,
} from '../crash/support/converged.ts';
import { OperatorEnvironment, type Outcome } from '../crash/support/operator-environment.ts';
import { CpiControl, killingCpi } from '../crash/support/killing-cpi.ts';
import { boshCli, withoutBoshCli } from '../support/upstream-programs.ts';

const program = boshCli() ?? 'bosh';
const unchanged = /No deployment, stemcell or release changes\. Skipping deploy\./;

describe('bosh-kubernetes and the bosh CLI with one state file', { skip: withoutBoshCli() }, () => {
  let line: OperatorEnvironment;
  let control: CpiControl;

  before(async () => {
    line = await OperatorEnvironment.prepare({ address: '127.64.78.30', cpi: killingCpi });
    control = new CpiControl(line.controlDirectory);
    await control.killNever();
    assertSucceeded(await line.command(['cluster', 'start']));
  });
  after(() => line.remove());

  test('the bosh CLI deploys, and our deployer sees no change, recreates and deletes', async () => {
    assertSucceeded(await bosh('create-env'));
    const content = await assertConverged(line);

    const again = await line.createEnv();
    assertSucceeded(again);
    assert.match(again.stdout, unchanged);
    assertSucceeded(await line.createEnv({}, '--recreate'));
    assert.equal(await assertConverged(line), content);
    assertSucceeded(await line.deleteEnv());
    await assertNothingLeft(line);
  });

  test('our deployer deploys, and the bosh CLI sees no change, recreates and deletes', async () => {
    assertSucceeded(await line.createEnv());
    const content = await assertConverged(line);

    const again = await bosh('create-env');
    assertSucceeded(again);
    assert.match(again.stdout, unchanged);
    assertSucceeded(await bosh('create-env', '--recreate'));
    assert.equal(await assertConverged(line), content);
    assertSucceeded(await bosh('delete-env'));
    await assertNothingLeft(line);
  });

  test('the bosh CLI continues a run in which our deployer was killed', async () => {
    await control.killAt(5, 'after');
    assertKilled(await line.createEnv());
    const killedAt = (await control.calls()).at(-1);
    await control.killNever();

    assertSucceeded(await bosh('create-env'));

    await assertConverged(line);
    assert.equal(killedAt, 'set_vm_metadata');
    assertSucceeded(await bosh('delete-env'));
    await assertNothingLeft(line);
  });

  test('our deployer continues a run in which the bosh CLI was killed', async () => {
    await control.killAt(7, 'after');
    assertKilled(await bosh('create-env'));
    const killedAt = (await control.calls()).at(-1);
    await control.killNever();

    assertSucceeded(await line.createEnv());

    await assertConverged(line);
    assert.equal(killedAt, 'set_vm_metadata');
    assertSucceeded(await line.deleteEnv());
    await assertNothingLeft(line);
  });

  /**
   * Runs `bosh COMMAND` on the line's manifest, with its state file and vars store. On a pipe it prints
   * stages only with --tty.
   */
  async function bosh(command: string, ...flags: readonly string[]): Promise<Outcome> {
    const child = spawn(
      program,
      [command, ...line.envArgs(), '--state', line.statePath, '-n', '--tty', ...flags],
      {
        cwd: line.directory,
        env: { PATH: process.env['PATH'], HOME: line.directory, CPI_CONTROL: line.controlDirectory },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const ended = new Promise<Pick<Outcome, 'exitCode' | 'signal'>>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (exitCode, signal) => resolve({ exitCode, signal }));
    });
    const [stdout, stderr, end] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    return { ...end, stdout, stderr };
  }
});
