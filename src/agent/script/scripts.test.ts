import assert from 'node:assert/strict';
import { test } from 'node:test';
import { specWith } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';

test('failing scripts name their jobs, and pre-stop and drain abort', async (t) => {
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
    './dynamic/bin/drain': script('echo -5'),
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
    /1 of 3 drain scripts failed\. Failed Jobs: bad\./,
  );
  await assert.rejects(client.task('run_script', '../../x', {}), /there is no script/);
  await assert.rejects(client.task('drain', 'status'), /Unexpected call with drain type 'status'/);
  await client.task('apply', await specWith(client, { './dynamic/bin/drain': script('echo -5') }));
  await assert.rejects(
    client.task('drain', 'shutdown'),
    /dynamic drain.*not supported yet; answered by dynamic \(-5\)/,
  );
});
