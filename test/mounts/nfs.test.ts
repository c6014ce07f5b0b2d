import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Guest, noGuest, serverHost } from './guest.ts';

const skip = noGuest();
let guest: Guest;
before(async () => {
  if (skip === false) guest = await Guest.boot();
});
after(() => guest?.stop());

for (const version of ['3', '4.0', '4.1', '4.2'] as const) {
  test(`NFS ${version} is mounted, written, read and unmounted`, { skip }, async () => {
    const target = `/mnt/volumes/v${version}`;
    const order = {
      kind: 'nfs',
      host: serverHost,
      path: '/plain',
      version,
      readOnly: false,
      cachesAttributes: false,
    };
    await guest.call('makeFolder', [target]);
    await guest.call('mount', [order, target, 60_000]);
    const seen = await guest.call<string>('asApp', [`echo written > f${version}; cat f${version}`, target]);
    assert.equal(seen, 'written\n');
    assert.equal(await readFile(join(guest.folder, 'plain', `f${version}`), 'utf8'), 'written\n');
    const [line = ''] = await guest.call<string[]>('mountLines', [target]);
    assert.match(line, new RegExp(`vers=${version}`));
    assert.match(line, /nosuid,nodev/);
    await guest.call('unmount', [target, 30_000]);
    assert.deepEqual(await guest.call('mountLines', [target]), []);
  });
}
