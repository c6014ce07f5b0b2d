import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { ProductError } from '../../errors/product-error.ts';
import { recordOutput } from '../testing/record-output.ts';
import { downloadLogs, sshSource } from './logs.ts';
import type { SshSession } from './with-ssh-session.ts';

/** Downloads logs with an scp that exits with this code, from an agent that cannot remove the archive. */
async function download(t: TestContext, exitCode: number) {
  const directory = await scratchDirectory(t);
  const programs = join(directory, 'programs');
  await mkdir(programs);
  await writeFile(
    join(programs, 'scp'),
    `#!/bin/sh\nfor path; do :; done\nprintf logs > "$path"\nexit ${exitCode}\n`,
  );
  await chmod(join(programs, 'scp'), 0o755);
  const client = {
    bundleLogs: async () => ({
      path: '/var/vcap/data/tmp/logs.tgz',
      sha512: createHash('sha512').update('logs').digest('hex'),
    }),
    removeFile: () => Promise.reject(new ProductError('AGENT_UNREACHABLE', 'The agent does not respond')),
  };
  const session = {
    client: () => client,
    login: { user: 'bosh_1', address: '192.0.2.1', directory, options: [] },
    name: 'vm',
  } as unknown as SshSession;
  const request = { types: ['job'], filters: [], directory } as unknown as Parameters<typeof downloadLogs>[1];
  const { context, errors } = recordOutput({ PATH: `${programs}:/usr/bin:/bin` });
  const work = downloadLogs(sshSource(session, context), request, context);
  return { directory, work, errors };
}

const warning =
  "Warning: the archive '/var/vcap/data/tmp/logs.tgz' of the logs may still be in the VM. The agent does not respond";

test('downloaded logs are named although the agent does not remove its archive', async (t) => {
  const { directory, work, errors } = await download(t, 0);
  const path = await work;
  assert.deepEqual((await readdir(directory)).toSorted(), ['programs', path.slice(directory.length + 1)]);
  assert.deepEqual(errors, [warning]);
});

test('the error of scp is reported although the agent does not remove its archive', async (t) => {
  const { directory, work, errors } = await download(t, 1);
  await assert.rejects(work, { code: 'SSH_FAILED', message: /scp could not copy the logs/u });
  assert.deepEqual([errors, await readdir(directory)], [[warning], ['programs']]);
});
