import assert from 'node:assert/strict';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { creationError } from '../../cpi/vm/create-vm.ts';
import { errorTable, type ErrorCode } from '../../errors/error-table.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { errorChain } from '../../platform/error-chain.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { createCloud } from './cpi-client.ts';
import { cpiCallError, mayHaveLeftVm, createCpiRunner, type CpiRunnerOptions } from './cpi-runner.ts';

async function scriptedCpi(t: TestContext, script: string, options: Partial<CpiRunnerOptions> = {}) {
  const directory = await scratchDirectory(t);
  const path = join(directory, 'cpi');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  const run = createCpiRunner(
    { path, packagesDirectory: '/the/packages', jobsDirectory: '/the/jobs' },
    {
      environment: { PATH: process.env['PATH'], OPERATOR: 'yes' },
      deadline: 60_000,
      grace: 60_000,
      ...options,
    },
  );
  return { directory, run, cloud: createCloud({ run, directorId: 'director-1', stemcellApiVersion: 3 }) };
}

const fails =
  (code: ErrorCode, ...words: string[]) =>
  (error: unknown) =>
    isProductError(error, code) && words.every((word) => errorChain(error).join('\n').includes(word));

test('sends the exact envelope, calls info once and passes its folders to the CPI', async (t) => {
  const { cloud, directory } = await scriptedCpi(
    t,
    `cd "$(dirname "$0")"; cat >> requests; echo >> requests; echo "$OPERATOR $BOSH_PACKAGES_DIR $BOSH_JOBS_DIR" > env
     case "$(tail -n 1 requests)" in *'"info"'*) echo '{"result":{"api_version":3,"stemcell_formats":["x"]},"error":null}';;
     *) echo '{"result":true,"error":null,"log":""}';; esac`,
  );

  assert.equal(await cloud.hasVm('vm-1'), true);
  assert.equal(await cloud.hasVm('vm-2'), true);

  const context = '"context":{"director_uuid":"director-1","vm":{"stemcell":{"api_version":3}}}';
  assert.deepEqual((await readFile(join(directory, 'requests'), 'utf8')).trimEnd().split('\n'), [
    `{"method":"info","arguments":[],${context},"api_version":1}`,
    `{"method":"has_vm","arguments":["vm-1"],${context},"api_version":2}`,
    `{"method":"has_vm","arguments":["vm-2"],${context},"api_version":2}`,
  ]);
  assert.equal(await readFile(join(directory, 'env'), 'utf8'), 'yes /the/packages /the/jobs\n');
});

test('only the progress and the notes in the log of a CPI are shown during a call', async (t) => {
  const told: string[] = [];
  const records: string[] = [];
  const record = `{"bosh_kubernetes_cpi":1,"method":"${'m'.repeat(3000)}"}`;
  const hasTold = Promise.withResolvers<void>();
  const directory = await scratchDirectory(t);
  const go = join(directory, 'go');
  const long = 'x'.repeat(70_000);
  const { cloud } = await scriptedCpi(
    t,
    `cat > /dev/null; echo 'secret log' >&2; printf 'waiting for ' >&2; echo 'the Kubernetes API at 10.0.0.1:6443' >&2
     echo '${record}' >&2; echo 'waiting for ${long}' >&2; echo 'note: the VM got limits' >&2; echo 'notes of a log' >&2
     while ! [ -e '${go}' ]; do sleep 0.01; done; echo '{"result":{"api_version":2,"stemcell_formats":[]},"error":null}'`,
    {
      onRecord: (line) => void records.push(line),
      onWaiting: (line) => {
        told.push(line);
        if (told.length === 2) hasTold.resolve();
      },
    },
  );

  const answer = cloud.info();
  await hasTold.promise;
  await writeFile(go, '');
  await answer;

  assert.deepEqual(told, ['waiting for the Kubernetes API at 10.0.0.1:6443', 'note: the VM got limits']);
  assert.deepEqual(records, [record]);
});

test('garbage is reported with the last output of the CPI', async (t) => {
  const { cloud } = await scriptedCpi(t, 'cat > /dev/null; echo garbage; echo dying >&2');

  await assert.rejects(cloud.info(), fails('CPI_FAILED', "STDOUT: 'garbage", "STDERR: 'dying'"));
});

test('a non-zero exit is a failure even with a response', async (t) => {
  const { cloud } = await scriptedCpi(
    t,
    `cat > /dev/null; echo '{"result":null,"error":null}'; echo why >&2; exit 4`,
  );

  await assert.rejects(
    cloud.info(),
    fails('CPI_FAILED', 'Executing external CPI command', "stderr: 'why': exit status 4"),
  );
});

test('a CPI that is killed by a signal, or does not exist, is a failure', async (t) => {
  const { cloud } = await scriptedCpi(t, 'kill -9 $$');
  await assert.rejects(cloud.info(), fails('CPI_FAILED', 'signal SIGKILL'));

  const run = createCpiRunner(
    { path: '/nonexistent/cpi', packagesDirectory: '', jobsDirectory: '' },
    { environment: {}, deadline: 1000, grace: 0 },
  );
  await assert.rejects(
    run({
      method: 'info',
      arguments: [],
      context: { director_uuid: '', vm: { stemcell: { api_version: 2 } } },
      api_version: 1,
    }),
    fails('CPI_FAILED', '/nonexistent/cpi', 'ENOENT'),
  );
});

test('a CPI that hangs is killed at its deadline and reported with its last output', async (t) => {
  const { cloud } = await scriptedCpi(t, 'echo stuck >&2; exec sleep 60', { deadline: 3000 });

  const words = ["CPI 'info' did not answer within 3 s", "stderr: 'stuck'"];
  await assert.rejects(cloud.info(), fails('CPI_FAILED', ...words));
});

test('a Ctrl-C at the start of a CPI is an interrupt and not a failure', async (t) => {
  const { cloud } = await scriptedCpi(t, 'kill -INT $$');

  await assert.rejects(cloud.info(), fails('INTERRUPTED', "CPI 'info' ended with the interrupt"));
});

test('a running call may end within the grace period of an interrupt, and no further call begins', async (t) => {
  const interrupt = new AbortController();
  const { cloud } = await scriptedCpi(
    t,
    `cat > /dev/null; echo '{"result":{"api_version":2,"stemcell_formats":[]},"error":null}'`,
    { signal: interrupt.signal, onStart: () => interrupt.abort() },
  );

  assert.equal((await cloud.info()).apiVersion, 2);
  await assert.rejects(cloud.hasVm('vm-1'), fails('INTERRUPTED'));
});

test('error objects become error codes that a caller can handle', async (t) => {
  const answering = async (type: string, message: string) => {
    const error = JSON.stringify({ type, message, ok_to_retry: false });
    return scriptedCpi(
      t,
      `case "$(cat)" in *'"info"'*) echo '{"result":{"api_version":2,"stemcell_formats":[]},"error":null}';;
       *) echo '{"result":null,"error":${error},"log":""}';; esac`,
    );
  };

  const gone = await answering('Bosh::Clouds::VMNotFound', 'gone');
  await assert.rejects(
    gone.cloud.deleteVm('vm-1'),
    fails(
      'VM_NOT_FOUND',
      `CPI 'delete_vm' method responded with error: CmdError{"type":"Bosh::Clouds::VMNotFound","message":"gone","ok_to_retry":false}`,
    ),
  );
  const plain = await answering('Bosh::Clouds::CloudError', 'no');
  await assert.rejects(plain.cloud.setVmMetadata('vm-1', {}), fails('CPI_ERROR'));
  for (const [type, message] of [
    ['Bosh::Clouds::NotImplemented', 'not here'],
    ['Bosh::Clouds::CloudError', 'Invalid Method: set_vm_metadata'],
    ['InvalidCall', 'Method is not known, got set_vm_metadata'],
  ] as const) {
    const old = await answering(type, message);
    await old.cloud.setVmMetadata('vm-1', {});
  }
});

test('a creation error that may have left a VM is distinguished from one that left nothing', () => {
  const vm = { cid: 'vm-1', namespace: 'bosh' };
  const answerTo = (leftover: unknown): ProductError => {
    const error = creationError(vm, new ProductError('DEADLINE', 'too slow'), leftover);
    assert.ok(isProductError(error));
    const { boshType: type, okToRetry } = errorTable[error.code];
    return cpiCallError('create_vm', { type, message: error.message, ok_to_retry: okToRetry });
  };
  assert.equal(mayHaveLeftVm(answerTo(new Error('refused'))), true);
  assert.equal(mayHaveLeftVm(answerTo(undefined)), false);
});

test('a response of the wrong shape is not accepted as a cid', async (t) => {
  const { cloud } = await scriptedCpi(
    t,
    `cat > /dev/null; echo '{"result":{"api_version":2,"stemcell_formats":[]},"error":null}'`,
  );

  await assert.rejects(cloud.createDisk(64, {}, 'vm-1'), fails('CPI_FAILED', 'create_disk'));
  const vm = { agentId: 'a', stemcellCid: 's', cloudProperties: {}, networks: {}, diskCids: [], env: {} };
  await assert.rejects(cloud.createVm(vm), fails('CPI_FAILED', 'create_vm'));
});
