import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { demoOnShare, demoPassword } from './demo-on-share.ts';
import { Guest, noGuest } from './guest.ts';

const skip = noGuest();
let guest: Guest;
before(async () => {
  if (skip === false) guest = await Guest.boot({ password: demoPassword });
});
after(() => guest?.stop());

test('a checkout that the guest cannot see prevents the boot of the guest', () => {
  for (const directory of ['/tmp', '/run', '/mnt'])
    assert.match(String(noGuest([`${directory}/checkout/test/mounts`])), /outside of \/tmp/u);
  assert.doesNotMatch(String(noGuest(['/tmpfs/checkout'])), /outside of/u);
});

for (const [protocol, prefix, driver] of [
  ['nfs', 'NFS 4.2 | ', 'nfsv3driver'],
  ['smb', 'SMB 3.1.1 | ', 'smbdriver'],
] as const) {
  const title = `an app writes through a real ${protocol.toUpperCase()} share by broker, driver, volman and cell`;
  test(title, { skip }, async () => {
    const { code, text } = await demoOnShare(guest, protocol);
    assert.equal(code, 0, text);
    const lines = text.trimEnd().split('\n');
    assert.ok(
      lines.every((line) => line.startsWith(prefix)),
      text,
    );
    assert.ok(lines.includes(`${prefix}volman: knows ${driver}`), text);
    assert.match(text, /server: hello has "hello from the app\\n" and belongs to 4000:4000/u);
    assert.match(lines.at(-1) ?? '', /nothing is left mounted$/u);
    assert.ok(!text.includes(demoPassword));
  });
}
