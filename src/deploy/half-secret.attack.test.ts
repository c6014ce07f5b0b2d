import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startAgent } from '../bosh/agent-client/testing/fake-agent.ts';
import { rendererOf } from '../bosh/template/create-template-renderer.ts';
import { redactor } from '../errors/redact/redactor.ts';
import { errorChain } from '../platform/error-chain.ts';
import { createCpiRunner } from './cpi/cpi-runner.ts';
import { scratchDirectory } from './testing/scratch.ts';

// Redaction does not recognise half of a secret, so no text may be truncated within one.

const secret = 'first-ha1f-of-it-and-second-ha1f-of-it';

/**
 * Returns what is printed for errors in which truncation may leave half of a secret, one error for each
 * length.
 */
async function printedOf(lengths: readonly number[], fails: (length: number) => Promise<unknown>) {
  const redact = redactor({ password: secret });
  const printed: string[] = [];
  for (const length of lengths) {
    const error = await fails(length).then(
      () => assert.fail('it fails'),
      (reason: unknown) => reason,
    );
    printed.push(redact(errorChain(error).join('\n')));
  }
  return printed;
}

function nothingOfSecret(printed: readonly string[]): void {
  for (const text of printed) assert.doesNotMatch(text, /ha1f/u);
}

test('the output of a CPI that is cut within a secret shows no part of the secret', async (t) => {
  const directory = await scratchDirectory(t);
  const path = join(directory, 'cpi');
  const call = async (script: string): Promise<unknown> => {
    await writeFile(path, `#!/bin/sh\ncat >/dev/null; ${script}\n`, { mode: 0o755 });
    const run = createCpiRunner(
      { path, packagesDirectory: '/p', jobsDirectory: '/j' },
      { environment: { PATH: process.env['PATH'] }, deadline: 120_000, grace: 0 },
    );
    const context = { director_uuid: 'd', vm: { stemcell: { api_version: 2 } } };
    return run({ method: 'info', arguments: [], context, api_version: 1 });
  };
  const stdout = (length: number): string => `printf '%0${length}d %s tail' 0 '${secret}'`;
  nothingOfSecret(await printedOf([1960, 1980, 1990], (length) => call(stdout(length))));
  nothingOfSecret(await printedOf([1960, 1990], (length) => call(`${stdout(length)}; exit 1`)));
  // The last 64 KiB are shown.
  const stderr = (length: number): string => `printf '%s %0${length}d last words' '${secret}' 0 >&2; exit 1`;
  const printed = await printedOf([65_505, 65_515], (length) => call(stderr(length)));
  nothingOfSecret(printed);
  assert.ok(printed.every((text) => text.includes('last words')));
});

test('the message of an agent that is cut within a secret shows no part of the secret', async (t) => {
  const printed = await printedOf([3970, 3980, 3990], async (length) => {
    const agent = await startAgent(t, () => {
      throw new Error(`no ${'0'.repeat(length)} ${secret} tail`);
    });
    return agent.client().stop();
  });
  nothingOfSecret(printed);
});

test('the message of a job template that is cut within a secret shows no part of the secret', async () => {
  const printed = await printedOf([1970, 1990], async (length) => {
    const message = `no ${'0'.repeat(length)} ${secret} tail`;
    const program = `console.log('{"ready":true}'); process.stdin.on('data', () => console.log(${JSON.stringify(
      JSON.stringify({ error: { message } }),
    )}))`;
    const ruby = {
      engine: 'ruby',
      name: 'ruby',
      executable: process.execPath,
      arguments: ['-e', program],
    } as const;
    const renderer = rendererOf([ruby], {});
    try {
      return await renderer.render([{ name: 'a.erb', text: '', context: {} } as never]);
    } finally {
      await renderer.close();
    }
  });
  nothingOfSecret(printed);
});
