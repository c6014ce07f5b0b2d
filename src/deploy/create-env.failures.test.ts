import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Manifest } from '../bosh/manifest/manifest.ts';
import { ProductError, isProductError } from '../errors/product-error.ts';
import type { ErrorCode } from '../errors/error-table.ts';
import { createEnv } from './create-env.ts';
import { errorChain } from '../platform/error-chain.ts';
import { packLightStemcell } from '../bosh/stemcell/pack-light-stemcell.ts';
import { embeddedAgentProperties } from '../bosh/stemcell/stemcell.ts';
import type { DeploymentState } from './state/deployment-state.ts';
import { currentDisk } from './state/state-changes.ts';
import { filesBelow, packApp, testEnvironment, tinyStemcell } from './testing/test-environment.ts';

const fails =
  (code: ErrorCode, ...args: string[]) =>
  (error: unknown) => {
    const chain = errorChain(error).join('\n');
    assert.ok(isProductError(error, code), `${String(isProductError(error) ? error.code : error)}: ${chain}`);
    for (const word of args) assert.ok(chain.includes(word), `${word} is not in ${chain}`);
    return true;
  };

for (const [what, verb, step, stage] of [
  ['a drain', 'drain', 'Draining VM', 'Draining jobs on instance'],
  ['a pre-stop script', 'run_script', 'Running the pre-stop script', 'Running the pre-stop scripts'],
] as const) {
  test(`${what} that fails aborts before the VM is deleted`, async (t) => {
    const { options, ports, agent, cloud } = await testEnvironment(t);
    const { vmCid } = await createEnv(options, ports);
    agent.faults.failing = { verb, message: 'the script said 3' };

    await assert.rejects(
      createEnv({ ...options, recreate: true }, ports),
      fails('AGENT_ERROR', 'Deploying', "Deleting existing instance 'hello/0'", step, 'the script said 3'),
    );

    assert.deepEqual(cloud.vms(), [vmCid]);
    assert.ok(!agent.verbs.slice(-2).includes('stop'), agent.verbs.join());
    assert.match(ports.output(), new RegExp(`${stage} 'hello/0'\\.\\.\\. Failed`));
  });
}

test('monit lines that our agent refuses are found before a change to a VM and before compilation', async (t) => {
  const { directory, options, ports, agent, cloud } = await testEnvironment(t);
  const monit = (more: string): string =>
    `check process app with pidfile /x.pid\n  start program "/bin/app"\n  group vcap\n  ${more}\n`;
  const refused = fails(
    'MONIT_INVALID',
    "release 'tinyapp', job 'app': monit line 4, column 3: ",
    "'if failed port 53 type udp then alert'",
  );
  // A stemcell with upstream's monit checks the monit files itself.
  await packApp(directory, '2', monit('if failed port 53 type udp then alert'));
  await createEnv(options, ports);

  const ours = { ...tinyStemcell, version: '1.1', cloudProperties: embeddedAgentProperties };
  await packLightStemcell(ours, join(directory, 'stemcell.tgz'));
  const [vms, verbs] = [cloud.vms(), agent.verbs.length];
  await assert.rejects(createEnv(options, ports), refused);
  assert.deepEqual(cloud.vms(), vms);
  assert.ok(!agent.verbs.slice(verbs).includes('stop'), agent.verbs.join());

  await packApp(directory, '3', monit('depends on db'));
  await assert.rejects(
    createEnv(options, ports),
    fails('MONIT_INVALID', "release 'tinyapp', job 'app': monit line 1", "depends on 'db', which no job"),
  );
  await packApp(directory, '4', monit('if failed port 53 then restart'));
  await createEnv(options, ports);
});

test('without a VM, monit lines that our agent refuses are found before compilation', async (t) => {
  const { directory, options, ports, agent } = await testEnvironment(t);
  await packLightStemcell(
    { ...tinyStemcell, cloudProperties: embeddedAgentProperties },
    join(directory, 'stemcell.tgz'),
  );
  await packApp(directory, '2', 'check system here\n');
  await assert.rejects(
    createEnv(options, ports),
    fails('MONIT_INVALID', "job 'app': monit line 1", 'check system'),
  );
  assert.ok(!agent.verbs.includes('compile_package'), agent.verbs.join());
});

test('the progress of the CPI is printed', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);
  await cloud.fail({ method: 'create_vm', kind: 'wait', message: 'the Kubernetes API at 10.0.0.1:6443' });

  await createEnv(options, ports);

  assert.deepEqual(ports.warnings, ['waiting for the Kubernetes API at 10.0.0.1:6443']);
});

test('an unreachable agent is a warning when its VM is replaced', async (t) => {
  const { options, ports, agent, cloud } = await testEnvironment(t);
  const first = await createEnv(options, ports);
  agent.faults.unreachable = true;
  const warn = (message: string) => {
    ports.warn(message);
    agent.faults.unreachable = false;
  };

  const second = await createEnv({ ...options, recreate: true }, { ...ports, warn });

  assert.match(ports.output(), /Waiting for the agent on VM '[^']+'\.\.\. Failed/);
  assert.equal(ports.warnings.length, 1);
  assert.notEqual(second.vmCid, first.vmCid);
  assert.deepEqual(cloud.attachedDisks(), [first.diskCid]);
});

test('an agent that never starts is an error with its causes, and the next run creates a new VM', async (t) => {
  const { options, ports, agent, cloud, state } = await testEnvironment(t);
  agent.faults.unreachable = true;
  let minutes = 0;
  const clock = {
    now: () => ports.clock.now() + minutes * 60_000,
    sleep: async () => void (minutes += 1),
  };

  await assert.rejects(
    createEnv(options, { ...ports, clock }),
    fails(
      'AGENT_UNREACHABLE',
      'Deploying',
      'Waiting until instance is ready',
      'did not answer a ping within 600 s',
    ),
  );
  assert.equal((await state())['current_manifest_sha'], '');

  agent.faults.unreachable = false;
  const { vmCid } = await createEnv(options, ports);
  assert.deepEqual(cloud.vms(), [vmCid]);
});

test('failing jobs are named with the last state from the agent', async (t) => {
  const { options, ports, agent } = await testEnvironment(t);
  agent.faults.startedState = 'failing';
  agent.faults.processes = [
    { name: 'web', state: 'failing', last_exit: 'exited with 4', output: 'no port\nno luck' },
    { name: 'db', state: 'running', output: 'all is well' },
    { name: 'two', job: 'pair', state: 'failing', problem: 'there is no pidfile', output: '' },
    // The format of upstream's agent.
    { name: 'worker', state: 'failing', uptime: {} },
  ];
  const commandInVm = (vm: string, args: readonly string[]): string => `in ${vm} ${args.join(' ')}`;

  await assert.rejects(createEnv({ ...options, commandInVm }, ports), (error) => {
    const [output = ''] = errorChain(error).slice(-1);
    assert.match(output, /'hello\/0' was not running after 10 s .*job_state 'failing'\.\n/);
    assert.match(
      output,
      /\nProcess 'web' is failing, its start program exited with 4; its programs printed last:\nno port\nno luck\n/,
    );
    assert.match(output, /\nProcess 'two' of job 'pair' is failing: there is no pidfile\n/);
    assert.match(output, /\nProcess 'worker' is failing\n/);
    assert.match(output, /\nThis shows more: in \S+ tail -n 100 \/var\/vcap\/monit\/log\/web\.log\n/);
    assert.ok(!output.includes('all is well'));
    return isProductError(error, 'INSTANCE_NOT_RUNNING');
  });
});

test('a CPI that returns an error, garbage or an exit code is reported with its message', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);

  await cloud.fail({ method: 'create_vm', kind: 'error' });
  await assert.rejects(createEnv(options, ports), (error) => {
    assert.deepEqual(errorChain(error), [
      'Deploying',
      "Creating instance 'hello/0'",
      'Creating VM',
      "Creating vm with stemcell cid 'stemcell-tiny-1.0'",
      `CPI 'create_vm' method responded with error: CmdError{"type":"Bosh::Clouds::CloudError","message":"the cloud says no","ok_to_retry":false}`,
    ]);
    return true;
  });
  await cloud.fail({ method: 'create_vm', kind: 'garbage' });
  await assert.rejects(
    createEnv(options, ports),
    fails('CPI_FAILED', 'not json at all', 'last words of the CPI'),
  );
  await cloud.fail({ method: 'create_disk', kind: 'exit' });
  await assert.rejects(
    createEnv(options, ports),
    fails('CPI_FAILED', 'exit status 7', 'last words of the CPI'),
  );
  await cloud.fail({ method: 'attach_disk', kind: 'hang' });
  // The earlier calls respond within this timeout even on a busy machine.
  await assert.rejects(
    createEnv({ ...options, cpiDeadline: 10_000 }, ports),
    fails('CPI_FAILED', "'attach_disk' did not answer"),
  );

  await createEnv(options, ports);
  assert.deepEqual([cloud.vms().length, cloud.attachedDisks().length], [1, 1]);
});

test('after a failed attach the existing disk is used, and no second one is created', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);
  await cloud.fail({ method: 'attach_disk', kind: 'error' });
  await assert.rejects(createEnv(options, ports), fails('CPI_ERROR', 'Attaching disk in the cloud'));
  const [disk] = cloud.disks();

  const { diskCid } = await createEnv(options, ports);

  assert.equal(diskCid, disk);
  assert.deepEqual(cloud.disks(), [disk]);
});

test('NotImplemented is tolerated for metadata, and NotFound for a deletion', async (t) => {
  const { options, ports, cloud, directory } = await testEnvironment(t);
  await cloud.fail({ method: 'set_vm_metadata', kind: 'error', type: 'Bosh::Clouds::NotImplemented' });
  const { vmCid } = await createEnv(options, ports);
  const write = (text: string): void => {
    ports.write(text);
    if (text.includes(`Deleting VM '${vmCid}'`))
      rmSync(join(directory, 'cloud', 'vms', `${vmCid}.json`), { force: true });
  };

  await createEnv({ ...options, recreate: true }, { ...ports, write });

  assert.match(ports.output(), /Deleting VM '[^']+'\.\.\. Skipped \[VM not found\]/);
});

test('after a failed migration the old disk stays the current one, and the next run starts over with a new disk', async (t) => {
  const { options, ports, cloud, agent, editManifest, state } = await testEnvironment(t);
  const { diskCid } = await createEnv(options, ports);
  await editManifest((text) => text.replace('disk_size: 64', 'disk_size: 128'));
  agent.faults.failing = { verb: 'migrate_disk', message: 'no space left' };

  await assert.rejects(createEnv(options, ports), fails('AGENT_ERROR', 'no space left'));
  assert.equal(currentDisk((await state()) as DeploymentState)?.cid, diskCid);
  assert.equal(cloud.disks().length, 2);

  delete agent.faults.failing;
  const result = await createEnv(options, ports);
  assert.notEqual(result.diskCid, diskCid);
  assert.deepEqual(cloud.disks(), [result.diskCid]);
  assert.deepEqual(agent.mountedDisks, [result.diskCid]);
});

test('a missing or corrupt release or stemcell is named, and nothing is changed', async (t) => {
  const { options, ports, cloud, directory, editManifest } = await testEnvironment(t);
  await editManifest((text) => text.replace('file://tinyapp.tgz', 'file://missing.tgz'));
  await assert.rejects(createEnv(options, ports), fails('FILE_NOT_FOUND', join(directory, 'missing.tgz')));

  await editManifest((text) =>
    text.replace('file://missing.tgz}', `file://tinyapp.tgz, sha1: 'sha256:${'0'.repeat(64)}'}`),
  );
  await assert.rejects(createEnv(options, ports), fails('DIGEST_MISMATCH', 'tinyapp.tgz', '0000'));

  await editManifest((text) => text.replace(/, sha1: '[^']*'/, ''));
  await writeFile(join(directory, 'stemcell.tgz'), 'not an archive');
  await assert.rejects(createEnv(options, ports), (error) =>
    errorChain(error).join('\n').includes('stemcell.tgz'),
  );
  assert.deepEqual(cloud.vms(), []);
});

test('a template that cannot be rendered is reported while the VM still runs, and the state is unchanged', async (t) => {
  const { options, ports, cloud, agent, state, directory, editManifest } = await testEnvironment(t);
  const { vmCid } = await createEnv(options, ports);
  const before = await state();
  agent.calls.length = 0;
  const template = join(directory, 'tinyapp/jobs/app/templates/config.erb');
  await writeFile(template, '<%= p("greeting.typo") %>\n');
  const { packRelease } = await import('../bosh/release/pack-release.ts');
  const app = { directory: join(directory, 'tinyapp'), outFile: join(directory, 'tinyapp.tgz') };
  await packRelease({ ...app, version: '2' });

  await assert.rejects(
    createEnv(options, ports),
    fails('TEMPLATE_INVALID', "Rendering job templates for instance 'hello/0'", 'greeting.typo'),
  );
  assert.deepEqual([cloud.vms(), agent.verbs, await state()], [[vmCid], ['get_state'], before]);

  // The address on a dynamic network is known only after the VM was created.
  await editManifest((text) =>
    text
      .replace(/  type: manual\n  subnets:\n.*\n/, '  type: dynamic\n')
      .replace(', static_ips: [127.0.0.1]', ''),
  );
  await assert.rejects(createEnv(options, ports), fails('TEMPLATE_INVALID', 'greeting.typo'));
  assert.notDeepEqual(cloud.vms(), [vmCid]);
});

test('a stemcell with a format that the CPI does not support is refused before it is uploaded', async (t) => {
  const { options, ports, cloud, directory } = await testEnvironment(t);
  const stemcell = {
    name: 's',
    version: '2',
    operatingSystem: 'tiny',
    formats: ['other'],
    imageReference: 'tiny:2',
  };
  await packLightStemcell(stemcell, join(directory, 'stemcell.tgz'));

  await assert.rejects(createEnv(options, ports), fails('CPI_NOT_USABLE', 'fake-format', 'other'));

  assert.deepEqual(cloud.calls(), []);
});

test('a packaging script that fails is reported with its last output', async (t) => {
  const { options, ports, directory } = await testEnvironment(t);
  const { packRelease } = await import('../bosh/release/pack-release.ts');
  await writeFile(join(directory, 'tinycpi/packages/base/packaging'), 'echo no compiler here >&2\nexit 9\n');
  await packRelease({
    directory: join(directory, 'tinycpi'),
    version: '2',
    outFile: join(directory, 'tinycpi.tgz'),
  });

  await assert.rejects(
    createEnv(options, ports),
    fails('INSTALLATION_FAILED', 'Installing CPI', "package 'base'", 'exit status 9', 'no compiler here'),
  );
});

test('a second run at the same time fails with an error that names the first', async (t) => {
  const { options, ports } = await testEnvironment(t);

  const runs = await Promise.allSettled([createEnv(options, ports), createEnv(options, ports)]);

  const refused = runs.find((run) => run.status === 'rejected');
  assert.ok(refused?.status === 'rejected');
  fails('DEPLOYMENT_LOCKED', `process ${process.pid}`)(refused.reason);
  assert.equal(runs.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('an interrupt ends the run at the next step and the next run converges', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);
  const interrupt = new AbortController();
  const write = (text: string) => {
    ports.write(text);
    if (text.includes('Creating disk')) interrupt.abort();
  };

  await assert.rejects(
    createEnv({ ...options, signal: interrupt.signal }, { ...ports, write }),
    fails('INTERRUPTED'),
  );
  assert.match(ports.output(), /Cleaning up rendered CPI jobs\.\.\. Finished/);

  const { vmCid, diskCid } = await createEnv(options, ports);
  assert.deepEqual([cloud.vms(), cloud.disks(), cloud.attachedDisks()], [[vmCid], [diskCid], [diskCid]]);
});

test("a state file in bosh's first format is not taken for a new deployment", async (t) => {
  const { options, ports, directory, cloud } = await testEnvironment(t);
  await writeFile(join(directory, 'bosh-deployments.yml'), '{}');

  await assert.rejects(createEnv(options, ports), fails('STATE_INVALID', 'bosh-deployments.yml'));

  assert.deepEqual(cloud.vms(), []);
});

test('a manifest that the caller does not accept is refused before any CPI call', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);
  const checkManifest = ({ tagPositions }: Manifest): void => {
    throw new ProductError('MANIFEST_INVALID', `${tagPositions['team']}: not this one`);
  };

  await assert.rejects(
    createEnv({ ...options, checkManifest }, ports),
    fails('MANIFEST_INVALID', 'tags.team: not this one'),
  );

  assert.throws(() => cloud.calls(), { code: 'ENOENT' });
});

test('a missing manifest or directory is named', async (t) => {
  const { options, ports, directory } = await testEnvironment(t);
  const missing = join(directory, 'missing');

  await assert.rejects(
    createEnv({ ...options, manifestPath: missing }, ports),
    fails('FILE_NOT_FOUND', missing),
  );
  for (const statePath of [join(missing, 'state.json'), directory, join(options.manifestPath, 'state.json')])
    await assert.rejects(createEnv({ ...options, statePath }, ports), fails('STATE_INVALID', statePath));
});

test('a first run that is refused before any CPI call leaves no state, and a later one leaves it as it was', async (t) => {
  const { directory, options, ports, cloud, state, editManifest } = await testEnvironment(t);
  const cluster = { uid: 'uid-1', server: 'https://127.0.0.1:1', ca_sha256: 'aa', kubeconfig: '/k' };
  const run = () => createEnv({ ...options, cluster }, ports);
  const unfinished = async () =>
    (await filesBelow(directory)).filter((path) => /state\.json|\/installations\//.test(path));
  const refused = fails('MANIFEST_INVALID', 'disk_pools[0].disk_size');

  await editManifest((text) => text.replace('disk_size: 64', 'disk_size: 0'));
  await assert.rejects(run(), refused);
  assert.deepEqual(await unfinished(), []);
  assert.deepEqual(ports.warnings, []);

  await editManifest((text) => text.replace('disk_size: 0', 'disk_size: 64'));
  await run();
  const [before, files] = [await state(), await unfinished()];
  await editManifest((text) => text.replace('disk_size: 64', 'disk_size: 0'));
  await assert.rejects(run(), refused);
  assert.deepEqual([await state(), await unfinished()], [before, files]);
  assert.equal(cloud.vms().length, 1);
});

test('a refused run keeps a state file without resources, which another program may have written', async (t) => {
  const { options, ports, state, editManifest } = await testEnvironment(t);
  await writeFile(options.statePath, '{"director_id": "d", "installation_id": "i"}');
  await editManifest((text) => text.replace('disk_size: 64', 'disk_size: 0'));

  await assert.rejects(createEnv(options, ports), fails('MANIFEST_INVALID'));

  assert.equal((await state())['director_id'], 'd');
});
