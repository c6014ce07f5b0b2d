import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { specWith } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';

test('failing scripts name their jobs, and a failing pre-stop or drain aborts', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const script = (text: string): string => `#!/bin/bash\n${text}\n`;
  const files = {
    './good/bin/pre-start': script('true'),
    './good/bin/drain': script('echo 0'),
    './bad/bin/pre-start': script('exit 1'),
    './bad/bin/pre-stop': script('exit 3'),
    './bad/bin/drain': script('echo 0; exit 1'),
    './silent/bin/post-stop': script('kill -9 $$'),
  };
  await client.task('apply', await specWith(client, files));
  await assert.rejects(
    client.task('run_script', 'pre-start', {}),
    /1 of 2 pre-start scripts failed\. Failed Jobs: bad\. Successful Jobs: good\.$/,
  );
  await assert.rejects(
    client.task('run_script', 'pre-stop', {}),
    /1 of 1 pre-stop scripts failed\. Failed Jobs: bad\.$/,
  );
  await assert.rejects(client.task('run_script', 'post-stop', {}), /Failed Jobs: silent\./);
  await assert.rejects(
    client.task('drain', 'shutdown', {}),
    /1 of 2 drain scripts failed\. Failed Jobs: bad\./,
  );
  await assert.rejects(client.task('run_script', '../../x', {}), /there is no script/);
  await assert.rejects(client.task('drain', 'status'), /Unexpected call with drain type 'status'/);
});

test('repeats a drain script until its result is not negative', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const requestFile = join(vm.directories.log, 'web/asked');
  const drain = `#!/bin/bash
echo "$@" >> ${requestFile}
if [ "$(wc -l < ${requestFile})" -lt 3 ]; then echo -1; else echo 0; fi
`;
  await client.task('apply', await specWith(client, { './web/bin/drain': drain }));
  assert.equal(await client.task('drain', 'shutdown', {}), 0);
  assert.equal(
    await readFile(requestFile, 'utf8'),
    'job_shutdown hash_unchanged\njob_check_status hash_unchanged\njob_check_status hash_unchanged\n',
  );
});

test('an errand returns its exit code and its output', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  await assert.rejects(client.task('run_errand'), /no applied job/);
  await client.task(
    'apply',
    await specWith(client, {
      './smoke/bin/run': '#!/bin/bash\necho "as $PATH"; echo trouble >&2; exit 3\n',
      './killed/bin/run': '#!/bin/bash\nkill -9 $$\n',
      './web/bin/drain': '#!/bin/bash\necho 0\n',
    }),
  );
  assert.deepEqual(await client.task('run_errand', 'smoke'), {
    exit_code: 3,
    stdout: 'as /usr/sbin:/usr/bin:/sbin:/bin\n',
    stderr: 'trouble\n',
  });
  assert.deepEqual(await client.task('run_errand'), await client.task('run_errand', 'smoke'));
  assert.deepEqual(await client.task('run_errand', 'killed'), {
    exit_code: 255,
    stdout: '',
    stderr: '\nit was ended by SIGKILL',
  });
  await assert.rejects(client.task('run_errand', 'web'), /job 'web' is not an errand: it has no bin\/run/);
  await assert.rejects(client.task('run_errand', '../web'), /argument 1 \(job\) is not a name/);
});
