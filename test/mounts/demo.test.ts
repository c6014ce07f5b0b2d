import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { demoOnShare } from './demo-on-share.ts';
import { Guest, noGuest } from './guest.ts';

const skip = noGuest();
let guest: Guest;
before(async () => {
  if (skip === false) guest = await Guest.boot();
});
after(() => guest?.stop());

test('an app writes through a real NFS share by broker, driver, volman and cell', { skip }, async () => {
  const { code, text } = await demoOnShare(guest);
  assert.equal(code, 0, text);
  assert.match(text, /server: hello has "hello from the app\\n" and belongs to 4000:4000/u);
  assert.match(text, /nothing is left mounted\n$/u);
});
