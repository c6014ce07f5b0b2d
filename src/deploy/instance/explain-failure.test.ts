import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { packArchive } from '../../bosh/archive/pack-archive.ts';
import { isProductError } from '../../errors/product-error.ts';
import { errorChain } from '../../platform/error-chain.ts';
import { createEnv } from '../create-env.ts';
import { testEnvironment } from '../testing/test-environment.ts';

const failed = (name: string): string =>
  `2 of 3 ${name} scripts failed. Failed Jobs: app, web. Successful Jobs: other.`;

const includes = (args: readonly string[]) => (error: unknown) => {
  const chain = errorChain(error).join('\n');
  assert.ok(isProductError(error, 'AGENT_ERROR'), chain);
  for (const word of args) assert.ok(chain.includes(word), `${word} is not in ${chain}`);
  return true;
};

for (const [name, verb, next] of [
  ['pre-stop', 'run_script', ['/var/vcap/jobs/app/bin/pre-stop', '--skip-drain', 'delete the VM']],
  ['drain', 'drain', ['/var/vcap/jobs/app/bin/drain', '--skip-drain']],
] as const) {
  test(`the error of a failed ${name} script names its log and the next step`, async (t) => {
    const { options, ports, agent } = await testEnvironment(t);
    const { vmCid } = await createEnv(options, ports);
    agent.faults.failing = { verb, message: failed(name) };
    const logs = ['app', 'web'].map((job) => `/var/vcap/sys/log/${job}/${name}.stderr.log`);

    await assert.rejects(
      createEnv({ ...options, recreate: true }, ports),
      includes([failed(name).slice(0, -1), ...logs, vmCid, ...next]),
    );

    const commandInVm = (cid: string, args: readonly string[]): string => `in ${cid}: ${args.join(' ')}`;
    await assert.rejects(
      createEnv({ ...options, recreate: true, commandInVm }, ports),
      includes([`in ${vmCid}: cat ${logs.join(' ')}`]),
    );
  });
}

test('the error of a failed pre-start script names its log in the new VM', async (t) => {
  const { options, ports, agent, cloud } = await testEnvironment(t);
  agent.faults.failing = {
    verb: 'run_script',
    message: '1 of 1 pre-start scripts failed. Failed Jobs: app.',
  };

  await assert.rejects(createEnv(options, ports), (error) =>
    includes(['/var/vcap/sys/log/app/pre-start.stderr.log', ...cloud.vms(), 'same command again'])(error),
  );
});

test('an error of the agent that comes from no script is reported unchanged', async (t) => {
  const { options, ports, agent } = await testEnvironment(t);
  agent.faults.failing = { verb: 'run_script', message: 'no space left on device' };

  await assert.rejects(createEnv(options, ports), (error) => {
    assert.match(errorChain(error).join('\n'), /no space left on device$/);
    return true;
  });
});

test('the error of a failed script shows the last lines of its logs instead of a command', async (t) => {
  const { directory, options, ports, agent, cloud } = await testEnvironment(t);
  agent.faults.failing = {
    verb: 'run_script',
    message: '1 of 1 pre-start scripts failed. Failed Jobs: app.',
  };
  const archive = join(directory, 'logs.tgz');
  const pack = async (stderr: string): Promise<void> => {
    const name = 'app/pre-start.stderr.log';
    await packArchive([{ name, kind: 'content', mode: 0o644, content: stderr }], archive);
    agent.blobs.set('logs', await readFile(archive));
  };
  await pack(`${Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n')}\nno database\n`);
  agent.answers.set('fetch_logs', { blobstore_id: 'logs', sha1: '' });
  const commandInVm = (): string => 'kubectl';
  const failure = (): Promise<string> =>
    createEnv({ ...options, commandInVm }, ports).then(
      () => 'no error',
      (error: unknown) => errorChain(error).join('\n'),
    );

  const shown = await failure();
  assert.match(
    shown,
    /Failed Jobs: app\. \/var\/vcap\/sys\/log\/app\/pre-start\.stderr\.log ends with:\nline 21\n[^]*\nno database\nFix the job/,
  );
  assert.doesNotMatch(shown, /kubectl/);
  assert.deepEqual(agent.calls.find(({ method }) => method === 'fetch_logs')?.arguments, [
    'job',
    ['app/pre-start.stdout.log', 'app/pre-start.stderr.log'],
  ]);

  await pack('');
  const empty = await failure();
  assert.ok(empty.includes(`Its logs below /var/vcap/sys/log of VM '${cloud.vms()[0]}' are empty.`), empty);
});
