import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { scratchDirectory } from '../../../bosh/testing/scratch.ts';
import { type CredentialQuery, findCredentials } from './docker-credentials.ts';

/**
 * Returns a query with this script as its credential helper, and a login without a helper for the same
 * registry.
 */
async function question(t: TestContext, script: string): Promise<CredentialQuery> {
  const bin = join(await scratchDirectory(t), 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'docker-credential-test'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const authFile = join(bin, 'auth.json');
  const auth = Buffer.from('somebody:else').toString('base64');
  const content = { credsStore: 'test', auths: { 'registry.example': { auth } } };
  await writeFile(authFile, JSON.stringify(content));
  return {
    ...{ host: 'registry.example', repository: 'a/b', authFile, signal: t.signal },
    environment: { PATH: `${bin}${delimiter}/usr/bin:/bin` },
  };
}

test('a credential helper without credentials is followed by the file', async (t) => {
  const requested = await question(
    t,
    'cat >/dev/null; echo credentials not found in native keychain; exit 1',
  );
  assert.deepEqual(await findCredentials(requested), { username: 'somebody', password: 'else' });
});

test('a failing credential helper is named and not quoted, and no other source is used', async (t) => {
  for (const [script, message] of [
    [
      'echo error with pass-word; exit 3',
      /^docker-credential-test ended with 3; .* echo registry\.example \| docker-credential-test get/u,
    ],
    ['kill -9 $$', /^docker-credential-test ended with SIGKILL/u],
    ['echo no json pass-word', /^docker-credential-test did not print/u],
    [
      `echo '{"Username":"<token>","Secret":"pass-word"}'`,
      /^docker-credential-test has an identity token for registry\.example/u,
    ],
  ] as const)
    await assert.rejects(findCredentials(await question(t, script)), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'REGISTRY_UNAUTHORIZED');
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /pass-word/u);
      return true;
    });
});

test('a waiting credential helper ends when the operator interrupts', async (t) => {
  const interrupted = new AbortController();
  const started = join(await scratchDirectory(t), 'started');
  const requested = await question(t, `: >'${started}'; exec sleep 3600`);
  const asking = findCredentials({ ...requested, signal: interrupted.signal });
  while (!existsSync(started)) await setTimeout(10);
  interrupted.abort(new Error('interrupted'));
  await assert.rejects(asking, /interrupted/u);
});
