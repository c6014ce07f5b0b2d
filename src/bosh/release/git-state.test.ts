import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readGitState } from './git-state.ts';

test('an output of git that is too long is an error, not a state that lacks changes', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'git-state-'));
  t.after(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, '.git'));
  await writeFile(join(directory, 'git'), '#!/bin/sh\nhead -c 67108865 /dev/zero\n', { mode: 0o755 });
  const path = process.env['PATH'];
  t.after(() => (process.env['PATH'] = path));
  process.env['PATH'] = `${directory}:${path}`;

  await assert.rejects(readGitState(directory), {
    code: 'RELEASE_INVALID',
    message: /git status --porcelain=1 wrote more than 64 MiB/,
  });
});
