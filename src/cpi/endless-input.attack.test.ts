import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { bun, bunIsMissing } from '../kubernetes/testing/run-in-bun.ts';

const main = join(import.meta.dirname, 'main.ts');
const timeout = 120_000;

/** Returns the response of the CPI to a request that does not end. */
async function answerToEndless(program: string): Promise<unknown> {
  const child = spawn(program, [main], { stdio: ['pipe', 'pipe', 'inherit'] });
  const piece = Buffer.alloc(1 << 20, ' ');
  const { stdin } = child;
  stdin.on('error', () => undefined);
  const write = (): void => {
    while (!stdin.destroyed && stdin.write(piece));
  };
  stdin.on('drain', write);
  write();
  try {
    return JSON.parse(await text(child.stdout));
  } finally {
    child.kill('SIGKILL');
  }
}

const expected = {
  result: null,
  error: {
    type: 'Bosh::Clouds::CloudError',
    message:
      'stdin has more than 16777216 bytes, which is too long for a request; check what the caller sends [INVALID_REQUEST]',
    ok_to_retry: false,
  },
  log: '',
};

test('a request on stdin that does not end is refused, by Node', { timeout }, async () => {
  assert.deepEqual(await answerToEndless(process.execPath), expected);
});

test(
  'a request on stdin that does not end is refused, by Bun',
  { timeout, skip: bunIsMissing() ?? false },
  async () => {
    assert.deepEqual(await answerToEndless(bun), expected);
  },
);
