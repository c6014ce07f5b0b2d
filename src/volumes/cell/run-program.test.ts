import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCellProgram } from './run-program.ts';

test('a failure has at most 2000 characters of stderr', async () => {
  const { failure = '' } = await runCellProgram(
    'sh',
    ['-c', 'yes word | head -n 9999 | tr "\\n" " " >&2; exit 1'],
    60,
  );

  assert.match(failure, /^word word/);
  assert.ok(failure.length <= 2000, `${failure.length} characters`);
});
