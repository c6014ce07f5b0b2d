import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runDemo } from './cli.ts';

const skip = process.geteuid?.() === 0 ? false : 'only root can mount';

test(
  'the demo runs from create-service to an unmounted share, and every line names the local stand-in',
  { skip },
  async () => {
    let text = '';
    const code = await runDemo({ out: (part) => (text += part), signal: new AbortController().signal });
    assert.equal(code, 0, text);
    const lines = text.trimEnd().split('\n');
    assert.ok(lines.every((line) => line.startsWith('local bind, no NFS | ')));
    assert.match(text, /server: hello has "hello from the app\\n" and belongs to 2000:2000/u);
    assert.match(lines.at(-1) ?? '', /nothing is left mounted$/u);
  },
);

test('a demo with a missing share fails, and leaves no files', { skip }, async () => {
  let text = '';
  const share = {
    protocol: 'nfs',
    share: '127.0.0.1:/none',
    serverDirectory: '/',
    uid: 1,
    gid: 1,
    version: '4.2',
  } as const;
  const code = await runDemo({ share, out: (part) => (text += part), signal: new AbortController().signal });
  assert.equal(code, 1, text);
  assert.match(text, /FAILED: failed to mount volume, errors: /u);
  assert.match(text, /nothing is left mounted\n$/u);
});
