import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { systemClock } from '../../platform/clock.ts';
import type { ProgramExit } from '../process/programs.ts';
import { TrustedCertificates } from './trusted-certificates.ts';

const pem = (content: string): string => `-----BEGIN CERTIFICATE-----\n${content}\n-----END CERTIFICATE-----`;

async function scene(t: TestContext, exit: Partial<ProgramExit> = {}) {
  const directory = join(await mkdtemp(join(tmpdir(), 'cas-')), 'ca-certificates');
  t.after(() => rm(join(directory, '..'), { recursive: true }));
  let runs = 0;
  const programs = {
    start: () => {
      runs += 1;
      const ended = { code: 0, signal: undefined, failure: undefined, ...exit };
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
  await store.install(`${pem('one')}\n\n${pem('two')}\n`);
  assert.deepEqual((await readdir(directory)).toSorted(), [
    ...['bosh-trusted-cert-1.crt', 'bosh-trusted-cert-2.crt', 'of-the-stemcell.crt'],
  ]);
  assert.equal(await readFile(join(directory, 'bosh-trusted-cert-2.crt'), 'utf8'), `${pem('two')}\n`);
  await store.install(`${pem('one')}\n${pem('two')}`);
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
    missing.store.install(pem('one')),
    (error) =>
      isProductError(error, 'AGENT_NOT_SUPPORTED') &&
      /needs the package ca-certificates/u.test(error.message),
  );
});
