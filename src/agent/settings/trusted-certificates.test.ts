import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import { systemClock } from '../../platform/clock.ts';
import type { ProgramExit } from '../process/programs.ts';
import { TrustedCertificates } from './trusted-certificates.ts';

const [one, two] = [await newCa('one'), await newCa('two')];

async function newCa(name: string): Promise<string> {
  return (await createTestAuthority({ name })).ca;
}

async function scene(t: TestContext, ...exits: readonly Partial<ProgramExit>[]) {
  const directory = join(await mkdtemp(join(tmpdir(), 'cas-')), 'ca-certificates');
  t.after(() => rm(join(directory, '..'), { recursive: true }));
  let runs = 0;
  const programs = {
    start: () => {
      const ended = { code: 0, signal: undefined, failure: undefined, ...exits[runs] };
      runs += 1;
      return { exit: Promise.resolve(ended), signal: () => {} };
    },
  };
  const store = new TrustedCertificates({ directory, programs, clock: systemClock });
  return { directory, store, runs: () => runs };
}

test('each certificate of the text is a file, and those of the previous text are removed', async (t) => {
  const { directory, store, runs } = await scene(t);
  await store.install('');
  assert.equal(runs(), 0);
  await mkdir(directory);
  await writeFile(join(directory, 'of-the-stemcell.crt'), 'stays');
  await store.install(`${one}\n\n${two}\n`);
  assert.deepEqual((await readdir(directory)).toSorted(), [
    ...['bosh-trusted-cert-1.crt', 'bosh-trusted-cert-2.crt', 'of-the-stemcell.crt'],
  ]);
  assert.equal(await readFile(join(directory, 'bosh-trusted-cert-2.crt'), 'utf8'), `${two.trim()}\n`);
  await store.install(`${one}\n${two}`);
  assert.equal(runs(), 1);
  await store.install('');
  assert.deepEqual(await readdir(directory), ['of-the-stemcell.crt']);
  assert.equal(runs(), 2);
});

test('a text without a certificate, and a stemcell without the program, are refused', async (t) => {
  const missing = await scene(t, { code: undefined, failure: 'spawn update-ca-certificates ENOENT' });
  await assert.rejects(missing.store.install('no certificate'), (error) =>
    isProductError(error, 'AGENT_SETTINGS_INVALID'),
  );
  await assert.rejects(
    missing.store.install(one),
    (error) =>
      isProductError(error, 'AGENT_NOT_SUPPORTED') &&
      /needs the package ca-certificates/u.test(error.message),
  );
});

test('a certificate that cannot be read changes nothing', async (t) => {
  const { directory, store, runs } = await scene(t);
  await store.install(one);
  for (const bad of ['x', '-----END CERTIFICATE-----', '-----BEGIN CERTIFICATE-----\nAAAA\n'])
    await assert.rejects(
      store.install(`${two}\n-----BEGIN CERTIFICATE-----\n${bad}`),
      (error) =>
        isProductError(error, 'AGENT_SETTINGS_INVALID') &&
        /certificate [23] of trusted_certs cannot be read/u.test(error.message),
    );
  assert.equal(await readFile(join(directory, 'bosh-trusted-cert-1.crt'), 'utf8'), `${one.trim()}\n`);
  assert.equal(runs(), 1);
});

test('an installation that did not end is completed by the same call, also that of no certificate', async (t) => {
  const killed = { code: undefined, signal: 'SIGKILL' };
  const { directory, store, runs } = await scene(t, killed, {}, killed);
  await assert.rejects(store.install(one), /was ended by SIGKILL/u);
  await store.install(one);
  await store.install(one);
  assert.equal(runs(), 2);
  await assert.rejects(store.install(''), /was ended by SIGKILL/u);
  await store.install('');
  await store.install('');
  assert.equal(runs(), 4);
  assert.deepEqual(await readdir(directory), []);
});
