import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { loadBench } from '../../stemcell/testing/load-bench.ts';
import { describeError } from '../output/describe-error.ts';
import { recordOutput } from '../testing/record-output.ts';
import { load } from './load.ts';

test('an interrupted load reports the interruption and the next step, without a stack', async (t) => {
  const { directory, layout } = await loadBench(t);
  const started = join(directory, 'started');
  const bin = join(directory, 'bin');
  const script = `#!/bin/sh\n: > '${started}'\nwhile [ -d '${directory}' ]; do sleep 0.05; done\n`;
  await writeFile(join(bin, 'ctr'), script, { mode: 0o755 });
  const interrupted = new AbortController();
  const at = recordOutput({ PATH: `${bin}${delimiter}${process.env['PATH']}` });
  const loading = load([layout], { ...at.context, signal: interrupted.signal });
  const rejected = assert.rejects(loading, (error) => {
    assert.match(
      describeError(error),
      /^The image was not loaded: interrupted by SIGTERM; the same command starts again \[INTERRUPTED\]/,
    );
    assert.doesNotMatch(describeError(error), /^ +at /m);
    return true;
  });
  while (!existsSync(started)) await setTimeout(5);
  interrupted.abort(new Error('interrupted by SIGTERM'));
  await rejected;
  assert.equal(at.out, '');
});
