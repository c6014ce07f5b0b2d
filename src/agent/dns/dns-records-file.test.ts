import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { systemClock } from '../../platform/clock.ts';
import { LocalBlobs } from '../blob/local-blobs.ts';
import { Blobs } from '../blob/blobs.ts';
import { directoriesOf } from '../directories.ts';
import { type Identities, loadIdentities } from '../user/identities.ts';
import { DnsRecordsFile } from './dns-records-file.ts';

test('records that vcap could not read do not replace the previous ones', async (t) => {
  const directories = directoriesOf(await scratchDirectory(t));
  const folder = join(directories.instance, 'dns');
  for (const path of [directories.blobs, folder]) await mkdir(path, { recursive: true });
  const hostsPath = join(directories.base, 'hosts');
  await writeFile(hostsPath, '');
  const previous = JSON.stringify({ records: [], version: 1 });
  await writeFile(join(folder, 'records.json'), previous);
  const local = new LocalBlobs(directories.blobs);
  const blobs = new Blobs({
    ...{ local, remote: () => undefined, ca: () => undefined },
    ...{ temporary: directories.temporary, clock: systemClock },
  });
  // No file can belong to this group.
  const identities: Identities = {
    ...(await loadIdentities()),
    ...{ canActAsUser: () => true, canActAsGroup: () => true, groupId: () => 2 ** 40 },
  };
  const file = new DnsRecordsFile({
    ...{ directories, blobs, identities, agentId: 'agent-1', hostname: 'vm-1', hostsPath },
  });
  const text = JSON.stringify({ records: [['10.0.0.8', 'a.bosh']], version: 2 });
  await local.write('records', Readable.from([text]));
  const digest = createHash('sha1').update(text).digest('hex');
  await assert.rejects(file.sync({ blobId: 'records', digest }, 2), { code: 'ERR_OUT_OF_RANGE' });
  assert.deepEqual(await readdir(folder), ['records.json']);
  assert.equal(await readFile(join(folder, 'records.json'), 'utf8'), previous);
});
