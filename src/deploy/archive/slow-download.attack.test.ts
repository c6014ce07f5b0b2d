import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ProductError } from '../../errors/product-error.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { downloadArchive } from './download-archive.ts';

test(
  'a download that arrives byte by byte, so that the connection is never idle, ends at the deadline',
  { timeout: 60_000 },
  async (t) => {
    const server = createServer((_request, response) => {
      response.write('x');
      const drip = setInterval(() => response.write('x'), 5);
      response.on('close', () => clearInterval(drip));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const directory = await scratchDirectory(t);
    const download = downloadArchive(
      {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.tgz`,
        digest: `sha256:${'0'.repeat(64)}`,
        directory,
        digests: { verify: () => Promise.reject(new ProductError('FILE_NOT_FOUND', 'not there')) },
        signal: undefined,
        deadline: 300,
      },
      { skip: () => {} },
    );
    await assert.rejects(download, {
      code: 'DOWNLOAD_FAILED',
      message: /it had not ended after 0\.3 s/u,
    });
    assert.deepEqual(await readdir(directory), []);
  },
);
