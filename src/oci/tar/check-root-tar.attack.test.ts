import assert from 'node:assert/strict';
import { test } from 'node:test';
import { archiveLimits } from '../../bosh/archive/archive-limits.ts';
import { checkRoot } from '../testing/root-tar.ts';
import { prependedBlocks, header, record, tarFrom } from '../testing/tar-blocks.ts';

test('a layer with too many bytes, entries or names, or with a NUL in a name, is refused', async () => {
  const files = Array.from({ length: 20 }, (_, index) => header(`file-${index}`, '0', 0));
  const limited = (limits: Partial<Record<keyof typeof archiveLimits, number>>) =>
    checkRoot(tarFrom(...files), 1000, { limits: { ...archiveLimits, ...limits } });
  const refused = (message: RegExp) => ({ code: 'ARCHIVE_INVALID', message });
  await limited({});
  await assert.rejects(limited({ total: 5000 }), refused(/unpacks to more than 5000 bytes/));
  await assert.rejects(limited({ entries: 10 }), refused(/'file-10' exceeds the limit of 10 entries/));
  await assert.rejects(limited({ names: 50 }), refused(/exceeds the limit of 50 characters/));
  const nul = tarFrom(prependedBlocks('x', record('path', 'etc/passwd\0.txt')), header('a', '0', 0));
  await assert.rejects(checkRoot(nul), refused(/'etc\/passwd\\0\.txt' has a NUL/));
});
