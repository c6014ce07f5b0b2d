import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPreparedHost, parsePreparedHost } from './prepare-host.ts';

test('host.json is read as an earlier version of the node wrote it', () => {
  const rest = { devices: ['null'], guardedProc: [], ipcSettings: ['shmmax'] };
  const text = JSON.stringify({ hostFolders: ['usr', 'sys'], ...rest });

  const prepared = parsePreparedHost(text);

  assert.deepEqual(prepared, { hostDirectories: ['usr', 'sys'], ...rest });
  assert.equal(formatPreparedHost(prepared), text);
  assert.throws(() => parsePreparedHost(JSON.stringify(rest)), {
    code: 'CLUSTER_START',
    message: /host\.json\.hostFolders is missing/,
  });
});
