import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildExecutable, executableIsMissing, runExecutable } from '../testing/executable.ts';
import type { BuiltExecutable, ProcessOutcome } from '../testing/executable.ts';

describe('GC and STATUS by the executable', { skip: executableIsMissing }, () => {
  let built: BuiltExecutable;
  let scratch: string;
  before(async () => {
    built = await buildExecutable();
    scratch = await mkdtemp(join(tmpdir(), 'static-ip-test-'));
  });
  after(async () => {
    await built.remove();
    await rm(scratch, { recursive: true, force: true });
  });

  /** Creates a plugin that records its input and environment, and then runs the script. */
  async function plugin(name: string, script: string): Promise<void> {
    const file = join(scratch, name);
    await writeFile(file, `#!/bin/sh\ncat > ${file}.input\nenv > ${file}.environment\n${script}\n`);
    await chmod(file, 0o755);
  }

  /** Calls both verbs as libcni does: without a container. */
  const run = (verb: string, type: string, cniVersion = '1.1.0'): Promise<ProcessOutcome> =>
    runExecutable(built.path, {
      environment: { CNI_COMMAND: verb, CNI_PATH: scratch },
      input: JSON.stringify({
        ...{ cniVersion, name: 'pods', type: 'static-ip', delegate: { type, ipam: { type: 'host-local' } } },
        ...(verb === 'GC' && { 'cni.dev/valid-attachments': attachments }),
      }),
    });
  const attachments = [{ containerID: 'c1', ifname: 'eth0' }];

  const answerOf = ({ stdout }: ProcessOutcome): unknown => JSON.parse(stdout);

  test('GC passes the valid attachments to the delegate', async () => {
    await plugin('keeps', 'exit 0');
    assert.deepEqual(await run('GC', 'keeps'), { stdout: '', stderr: '', code: 0 });
    assert.deepEqual(JSON.parse(await readFile(join(scratch, 'keeps.input'), 'utf8')), {
      ...{ cniVersion: '1.1.0', name: 'pods', type: 'keeps', ipam: { type: 'host-local' } },
      'cni.dev/valid-attachments': attachments,
    });
    const seen = (await readFile(join(scratch, 'keeps.environment'), 'utf8')).split('\n');
    for (const line of ['CNI_COMMAND=GC', `CNI_PATH=${scratch}`]) assert.ok(seen.includes(line), line);
    assert.ok(!seen.some((line) => line.startsWith('CNI_CONTAINERID')));
  });

  test('STATUS reports the status of the delegate, and an error if the delegate does not exist', async () => {
    await plugin('ready', 'exit 0');
    assert.deepEqual(await run('STATUS', 'ready'), { stdout: '', stderr: '', code: 0 });
    assert.match(await readFile(join(scratch, 'ready.environment'), 'utf8'), /^CNI_COMMAND=STATUS$/mu);
    const missing = await run('STATUS', 'none');
    assert.equal(missing.code, 1);
    assert.match(missing.stdout, /"code":50,"msg":"there is no plugin 'none' in /u);
  });

  for (const verb of ['GC', 'STATUS']) {
    test(`${verb}: an error of the delegate is returned with its code and details`, async () => {
      await plugin('sick', `echo why >&2; echo '{"code":51,"msg":"no more","details":"of it"}'; exit 1`);
      const outcome = await run(verb, 'sick');
      assert.deepEqual(answerOf(outcome), {
        ...{ cniVersion: '1.1.0', code: 51, msg: 'no more', details: 'of it' },
      });
      assert.deepEqual([outcome.code, outcome.stderr], [1, 'why\n']);
    });

    test(`${verb}: a delegate that crashes, and a version without the verb, are one error each`, async () => {
      await plugin('dies', 'kill -9 $$');
      const died = await run(verb, 'dies');
      assert.equal(died.code, 1);
      assert.match(died.stdout, /"code":100,"msg":"the plugin 'dies' ended by SIGKILL/u);
      const old = await run(verb, 'ready', '1.0.0');
      assert.match(old.stdout, /"code":1,"msg":"there is no (GC|STATUS) in version 1\.0\.0/u);
    });
  }
});
