import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { procProcessTable } from '../process/process-table.ts';
import { eventually } from '../testing/eventually.ts';

const module = JSON.stringify(join(import.meta.dirname, 'gated-program.ts'));

/** Starts `touch DIRECTORY/ran`, prints its pid, and releases it if the arguments say so. */
const caller = `
const { startGated } = await import(${module});
const directory = process.argv[1];
const held = await startGated({
  file: '/usr/bin/touch', arguments: [directory + '/ran'], environment: { PATH: '/usr/bin' }, directory,
  owner: undefined, limits: ['--core=0:0'], allowSetuid: false, output: [1, 2],
});
console.log(held.pid);
if (process.argv[2] === 'go') { await held.release(); held.child.unref(); } else setInterval(() => undefined, 1000);
`;

for (const word of ['go', 'killed']) {
  test(`a caller that is killed before the release has started no program: ${word}`, async (t) => {
    const directory = await scratchDirectory(t);
    const child = spawn(process.execPath, ['--input-type=module', '-e', caller, directory, word], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    if (word === 'killed') {
      assert.notEqual(await procProcessTable.find(Number(line)), undefined);
      child.kill('SIGKILL');
    }
    await eventually('its end', async () =>
      (await procProcessTable.find(Number(line))) === undefined ? true : undefined,
    );
    assert.deepEqual(await readdir(directory), word === 'go' ? ['ran'] : []);
  });
}
